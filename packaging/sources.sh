#!/usr/bin/env bash
# sources.sh FOLDER - fetches the sources of the libraries that a wheel carries, as Debian has them, into FOLDER: a folder for each
# package, and FOLDER/versions with "package version" lines. Needs the network; nothing on the machine changes.
set -eu
packages=(xxhash libzstd libyaml jansson sqlite3 ncurses zlib elfutils libunwind libiberty)
mkdir -p "$1/apt/lists/partial" "$1/apt/cache/archives/partial"
cd "$1"
here=$PWD

# The machine's own mirrors, asked for sources.
sed -n 's/^Types:.*/Types: deb-src/; /./p; /^$/p' /etc/apt/sources.list.d/debian.sources >apt/debian.sources 2>/dev/null ||
	sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >apt/sources.list
apt=(apt-get -q -o "Dir::Etc::sourcelist=$here/apt/sources.list" -o "Dir::Etc::sourceparts=$here/apt/parts" -o "Dir::State::lists=$here/apt/lists"
	-o "Dir::Cache=$here/apt/cache" -o APT::Sandbox::User= -o Acquire::Retries=3)
mkdir -p apt/parts
[ ! -s apt/debian.sources ] || mv apt/debian.sources apt/parts/
"${apt[@]}" update >apt/log 2>&1 || { cat apt/log >&2; exit 4; }
: >versions.new
for package in "${packages[@]}"; do
	"${apt[@]}" source --only-source "$package" >>apt/log 2>&1 || { tail -n 5 apt/log >&2; exit 4; }
	dsc=$(echo "$package"_*.dsc)
	version=$(sed -n 's/^Version: //p' "$dsc" | head -n 1)
	folder=$(find . -maxdepth 1 -type d -name "$package-*" -o -maxdepth 1 -type d -name "lib$package-*" | head -n 1)
	rm -rf "$package" && mv "$folder" "$package"
	echo "$package $version" >>versions.new
done
mv versions.new versions
