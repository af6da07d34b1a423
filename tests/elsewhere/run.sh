#!/usr/bin/env bash
# run.sh [SUITE...] - the README's two commands on machines that have next to nothing: a bare Debian of each suite (minbase
# with git, make, gcc and libc6-dev), in a folder, with the last commit of this tree. First as root, who gets the packages
# installed by make; then, where they are there by now, as a user without any rights.
#
# Needs root (chroot, mount) and debootstrap, and the package registry. WHERE is the folder for it (5 GB; default: a
# new one below TMPDIR, which goes away afterwards). A suite that is there already is used as it is.
set -u
src=$(cd "$(dirname "$0")/../.." && pwd)
suites=("$@")
[ $# -gt 0 ] || suites=(bookworm trixie)
base=git,make,gcc,libc6-dev,ca-certificates
passed=0 failed=0

. "$src/tests/elsewhere/inside.sh"
if [ -n "${WHERE:-}" ]; then
	mkdir -p "$WHERE" && where=$(cd "$WHERE" && pwd) || exit 4
else
	where=$(mktemp -d) || exit 4
	trap 'rm -rf --one-file-system "$where"' EXIT
fi

# verdict WORDS STATUS SECONDS: one line, with the last one of the log.
verdict() {
	local ok=ok
	[ "$2" = 0 ] || ok="not ok"
	[ "$2" = 0 ] && passed=$((passed + 1)) || failed=$((failed + 1))
	printf '%s %s (%d s): %s\n' "$ok" "$1" "$3" "$(tail -n 1 "$where/log" | cut -c1-120)"
	[ "$2" = 0 ] || grep -A12 '^not ok\|rror' "$where/log" | head -n 60
}

# commands SUITE USER RUN WORDS: as USER, by RUN; fresh clone, make demo, make test.
commands() {
	local root=$where/$1 home=/home/$2 command started run=$3
	rm -rf "$root$home/memrec"
	git clone -q --no-local "$src" "$root$home/memrec" && chroot "$root" chown -R "$2:" "$home" || die "no clone in $root"
	for command in "make demo" "make test"; do
		started=$SECONDS
		inside "$root" "$run 'cd $home/memrec && $command'" >"$where/log" 2>&1
		verdict "$1, $4: $command" $? $((SECONDS - started))
	done
}

for suite in "${suites[@]}"; do
	bare "$suite" "$base" >"$where/log" 2>&1
	verdict "$suite: a bare system" $? 0
	cp /etc/resolv.conf "$where/$suite/etc/resolv.conf"
	mkdir -p "$where/$suite/home/root"
	chroot "$where/$suite" useradd -m guest 2>/dev/null
	commands "$suite" root "bash -c" "root"
	commands "$suite" guest "setpriv --reuid guest --regid guest --init-groups env HOME=/home/guest bash -c" "a user without rights"
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
