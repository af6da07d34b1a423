#!/usr/bin/env bash
# sources.sh FOLDER - the sources of the libraries that a wheel carries, as Debian has them, in FOLDER: a folder for each package, and
# FOLDER/versions with "package version" lines. They come from packaging/sources, which an archive of `make sdist` has; else the network is asked.
# Nothing on the machine changes.
set -eu
packages=(xxhash libzstd libyaml jansson sqlite3 ncurses zlib elfutils libunwind libiberty)
given=$(cd "$(dirname "$0")" && pwd)/sources
mkdir -p "$1/apt/lists/partial" "$1/apt/cache/archives/partial"
cd "$1"
here=$PWD
apt=(apt-get -q -o "Dir::Etc::sourcelist=$here/apt/sources.list" -o "Dir::Etc::sourceparts=$here/apt/parts" -o "Dir::State::lists=$here/apt/lists"
	-o "Dir::Cache=$here/apt/cache" -o APT::Sandbox::User= -o Acquire::Retries=3)

# The machine's own mirrors, asked for sources.
ask_mirrors() {
	sed -n 's/^Types:.*/Types: deb-src/; /./p; /^$/p' /etc/apt/sources.list.d/debian.sources >apt/debian.sources 2>/dev/null ||
		sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >apt/sources.list
	mkdir -p apt/parts
	[ ! -s apt/debian.sources ] || mv apt/debian.sources apt/parts/
	"${apt[@]}" update >apt/log 2>&1 || { cat apt/log >&2; exit 4; }
}

fetch() { # PACKAGE
	[ ! -d "$given" ] || { cp "$given/$1"_* . && return; }
	"${apt[@]}" source --download-only --only-source "$1" >>apt/log 2>&1 || { tail -n 5 apt/log >&2; exit 4; }
}

[ -d "$given" ] || ask_mirrors
: >versions.new
for package in "${packages[@]}"; do
	fetch "$package"
	dsc=$(echo "$package"_*.dsc)
	rm -rf "$package"
	dpkg-source --no-check -x "$dsc" "$package" >>apt/log 2>&1 || { tail -n 5 apt/log >&2; exit 4; }
	echo "$package $(sed -n 's/^Version: //p' "$dsc" | head -n 1)" >>versions.new
done
mv versions.new versions
