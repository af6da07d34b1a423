#!/usr/bin/env bash
# container.sh DIST PROGRAMS BUILD - packaging/Containerfile, followed by buildah without a registry: the base is an image with a shell and its C library alone. In the
# container a user without rights records on the stand-in GPU of PROGRAMS and reads; the answer is that of BUILD's memana. Ends with "N passed, N failed, N skipped".
set -u
SRC=$(cd "$(dirname "$0")/.." && pwd)
dist=$(cd "$1" && pwd) programs=$(cd "$2" && pwd) BUILD=$(cd "$3" && pwd)
if [ "$(id -u)" != 0 ] || ! command -v buildah >/dev/null; then
	echo "skip a container: needs root and buildah"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
cd "$work" || exit 2
passed=0 failed=0
export BUILDAH_ISOLATION=chroot
buildah() { command buildah --root "$work/images" --runroot "$work/run" --storage-driver vfs "$@"; }

check() { # NAME COMMAND...
	if "${@:2}" >log 2>&1; then
		echo "ok $1" && passed=$((passed + 1))
	else
		echo "not ok $1" && sed 's/^/# /' log | tail -n 12 && failed=$((failed + 1))
	fi
}

base() {
	local file
	mkdir -p base/tmp && chmod 1777 base/tmp
	for file in $(ldd /bin/sh /bin/cat "$programs/memrec" "$programs/memana" "$programs/samples/rl_step" | grep -oE '/[^ ]*/(libc|libm|libdl|libpthread|librt|ld-linux-[a-z0-9-]*)\.so[^ ]*' | sort -u) /bin/sh /bin/cat; do cp --parents -L "$file" base || return 1; done
	printf 'FROM scratch\nCOPY base /\n' >base.txt && buildah bud -f base.txt -t base .
}
check "a base image" base
check "the image of packaging/Containerfile" buildah bud -f "$SRC/packaging/Containerfile" --build-arg BASE=localhost/base -t memrec "$dist"
container=$(buildah from localhost/memrec)
mkdir -p gpu && cp "$programs"/standin/*.so* "$programs/samples/rl_step" gpu && chmod -R a+rX gpu "$work"
# guest COMMAND: by the shell, as a user without rights.
guest() { buildah run --user 1234:1234 -v "$work/gpu:/gpu:ro" "$container" -- /bin/sh -c "cd /tmp && $1"; }
check "a recording" guest 'LD_LIBRARY_PATH=/gpu memrec -q -o trace.zst -- /gpu/rl_step --steps 2 --quiet'
check "memana verify" guest 'memana verify trace.zst'
# Names of libraries' functions may differ: this machine has its own files for them.
same() {
	guest 'cat trace.zst' >trace.zst && guest 'memana top --json trace.zst' | grep '"bytes"' >bytes && [ -s bytes ] && "$BUILD/memana" top --json trace.zst | grep '"bytes"' | cmp - bytes &&
		"$BUILD/memana" info --json trace.zst | grep -q native
}
check "memana top: the bytes of the ordinary build, and native stacks" same
buildah rm "$container" >/dev/null
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
