#!/usr/bin/env bash
# deb.sh BUILD VERSION - the package of make deb: two builds are equal, lintian finds no error, and a bare Debian takes it. In that Debian, of the suite of
# this machine, dpkg installs it, a user without rights records and reads, and dpkg purges it. With WHERE, a folder, that Debian stays (300 MB).
# Ends with "N passed, N failed, N skipped".
set -u
SRC=$(cd "$(dirname "$0")/.." && pwd)
BUILD=$(cd "$1" && pwd) version=$2
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
where=${WHERE:-$work}
passed=0 failed=0 skipped=0
export DEBFULLNAME="tests of memrec" DEBEMAIL="${DEBEMAIL:-memrec@debian.org}"

check() { # NAME COMMAND...
	if "${@:2}" >"$work/log" 2>&1; then
		echo "ok $1" && passed=$((passed + 1))
	else
		echo "not ok $1" && sed 's/^/# /' "$work/log" | tail -n 12 && failed=$((failed + 1))
	fi
}
skip() { echo "skip $1" && skipped=$((skipped + 1)); }

build() { "$SRC/packaging/make_deb.sh" "$BUILD" "$version" "$work/$1"; }
check "make deb" build one
deb=$(echo "$work"/one/*.deb)
same() { build two && cmp "$deb" "$work"/two/*.deb; }
check "two packages of one build are equal" same
depends=$(dpkg-deb -f "$deb" Depends)
named() { local word && for word in libc6 libzstd1 libsqlite3-0 libjansson4 libncursesw6 libdw1; do [[ "$depends" == *"$word"* ]] || { echo "$word: not in $depends"; return 1; }; done; }
check "Depends has the libraries" named
if command -v lintian >/dev/null; then check "lintian has no error" lintian --fail-on error "$deb"; else skip "lintian is not here"; fi

# inside COMMAND...: in the Debian; its mounts go away with it.
inside() {
	ROOT=$where/deb unshare -m --propagation private bash -c '
		mount --bind "$ROOT" "$ROOT" && mount -t proc proc "$ROOT/proc" && mount --rbind /dev "$ROOT/dev" && mount -t tmpfs tmpfs "$ROOT/dev/shm" &&
			exec chroot "$ROOT" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp "$@"' bash "$@"
}
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
if [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null; then
	packages=$(sed -E 's/ \([^)]*\)//g; s/ //g' <<<"$depends")
	bare() { [ -e "$where/deb/var/lib/dpkg/status" ] || debootstrap --variant=minbase --include="$packages,libunwind8" "$suite" "$where/deb"; }
	check "a bare $suite" bare
	mkdir -p "$where/deb/tmp/standin" && cp "$deb" "$where/deb/tmp/memrec.deb" && cp "$BUILD"/standin/lib* "$where/deb/tmp/standin" && cp "$BUILD/samples/rl_step" "$where/deb/tmp"
	chmod 1777 "$where/deb/tmp"
	find "$where/deb" -xdev \( -type f -o -type l \) | sort >"$work/before"
	check "dpkg -i" inside dpkg -i /tmp/memrec.deb
	check "a user without rights records, and has the answer" inside setpriv --reuid 65534 --regid 65534 --clear-groups sh -c '
		cd "$(mktemp -d)" && LD_LIBRARY_PATH=/tmp/standin memrec -- /tmp/rl_step --steps 2 --quiet && memana top trace.zst | grep "^Peak 6[0-9.]* GiB held" && memana verify trace.zst'
	check "native stacks" inside sh -c 'cd /tmp/tmp.*/ && memana info --json trace.zst | grep native'
	check "the pages of the manual" inside sh -c 'zcat /usr/share/man/man1/memrec.1.gz /usr/share/man/man1/memana.1.gz | grep -c MEMANA'
	check "dpkg --purge" inside dpkg --purge memrec
	rm -rf "$where"/deb/tmp/tmp.*
	left() { find "$where/deb" -xdev \( -type f -o -type l \) ! -path '*/var/l*' | sort >"$work/after" && ! grep -v '/var/l' "$work/before" | diff - "$work/after" | grep '^>'; }
	check "no file is left" left
else
	skip "no Debian of its own: needs root and debootstrap"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
