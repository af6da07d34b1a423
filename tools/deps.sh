#!/usr/bin/env bash
# deps.sh GROUP... - sees to it that the packages of packages.txt are there: installs them on Debian and Ubuntu (with
# sudo when not root), elsewhere says what is missing and stops. Quiet when nothing is missing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cc=${CC:-cc}

has_header()  { echo "#include <$1>" | $cc -E -x c - >/dev/null 2>&1; }
has_library() { echo 'int main(void) { return 0; }' | $cc -x c - -o /dev/null "-l$1" >/dev/null 2>&1; }
has_path()    { [ -e "$1" ]; }
has_command() { command -v "$1" >/dev/null 2>&1; }
has_fuzzer()  { echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | "$1" -fsanitize=fuzzer -x c - -o /dev/null >/dev/null 2>&1; }
has_python() {
	local p
	for p in python3 /usr/bin/python3; do "$p" -c "import $1" >/dev/null 2>&1 && return 0; done
	return 1
}

# missing GROUP...: the packages to install, one a line. A thing is looked for by the way its line names.
missing() {
	local group how name package wanted
	while read -r group how name package; do
		for wanted in "$@"; do
			[ "$group" = "$wanted" ] && ! "has_$how" "$name" && echo "$package"
		done
	done < <(grep -v '^#' "$here/packages.txt")
	return 0
}

# apt COMMAND...: apt-get with the rights it needs; another apt-get at work is waited for.
apt() {
	local root=()
	[ "$(id -u)" = 0 ] || root=(sudo)
	"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@"
}

has_command "${cc%% *}" || { echo "deps: no C compiler: '$cc' is not on PATH (install gcc, or set CC)" >&2; exit 4; }
packages=$(missing "$@" | sort -u)
[ -n "$packages" ] || exit 0

if ! has_command apt-get || { [ "$(id -u)" != 0 ] && ! has_command sudo; }; then
	echo "deps: these are missing and cannot be installed from here; their names on Debian and Ubuntu:" >&2
	echo $packages >&2
	exit 4
fi

echo "deps: installing" $packages
apt update >/dev/null || echo "deps: apt-get update failed; trying with the lists that are there" >&2
# shellcheck disable=SC2086
apt install -y --no-install-recommends $packages >/dev/null

left=$(missing "$@" | sort -u)
[ -z "$left" ] || { echo "deps: still missing after the installation:" $left >&2; exit 4; }
