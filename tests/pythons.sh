#!/usr/bin/env bash
# pythons.sh BUILD [VERSION...] - fetches Pythons that this Debian does not have from Debian's unstable, into
# BUILD/pythons, where tests/cli/test_agent_python.sh finds them. Nothing is installed: they lie beside the system's own
# files and bring the libc that they need. Default: 3.13, 3.14 and 3.15.
set -eu
build=$(mkdir -p "$1" && cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- 3.13 3.14 3.15
apt=$build/pythons/apt
mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/debs"

fail() { echo "pythons.sh: $*" >&2; exit 1; }
type -P apt-get >/dev/null || fail "apt-get is not there: this works on Debian only"
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' | head -1)
[ "$mirror" ] || fail "no Debian mirror is known (apt-get update)"

# apt with lists and a cache of its own, that knows nothing of what is installed.
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" >"$apt/sources.list"
cat >"$apt/apt.conf" <<CONF
Dir::State "$apt"; Dir::State::lists "$apt/lists"; Dir::State::status "$apt/status"; Dir::Cache "$apt";
Dir::Etc::SourceList "$apt/sources.list"; Dir::Etc::SourceParts "/dev/null"; APT::Sandbox::User "root";
CONF
: >"$apt/status"
apt-get -q -c "$apt/apt.conf" update >"$apt/log" 2>&1 || fail "apt-get update failed: see $apt/log"

needed() {
	apt-cache -c "$apt/apt.conf" depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
		--no-replaces --no-enhances "python$1" libunwind8 | grep '^[[:alnum:]]' | sort -u
}

# fetch VERSION: a folder with bin/python3 and lib/pythonVERSION, as Python looks for them.
fetch() {
	local place=$build/pythons/$1 root=$build/pythons/$1/root deb
	rm -rf "$place"
	mkdir -p "$place/bin" "$root"
	# shellcheck disable=SC2046
	(cd "$apt/debs" && apt-get -q -c "$apt/apt.conf" download $(needed "$1")) >>"$apt/log" 2>&1 ||
		fail "Python $1 cannot be had: see $apt/log"
	for deb in "$apt"/debs/*.deb; do dpkg-deb -x "$deb" "$root"; done
	rm -f "$apt"/debs/*.deb
	ln -s root/usr/lib "$place/lib"
	cat >"$place/bin/python3" <<RUN
#!/bin/sh
exec "$root/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" --library-path "$root/usr/lib/x86_64-linux-gnu" --argv0 "\$0" \\
	"$root/usr/bin/python$1" "\$@"
RUN
	chmod +x "$place/bin/python3"
	"$place/bin/python3" -c 'import sys; print("%s: %d.%d.%d" % ((sys.executable,) + sys.version_info[:3]))'
}

for version; do fetch "$version"; done
