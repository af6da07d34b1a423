#!/usr/bin/env bash
# memory_viz_source.sh FOLDER - puts PyTorch's MemoryViz.js into FOLDER, from Debian's source package (27 MB, once). PyTorch's wheels leave the
# file out. apt works in FOLDER alone, so that it needs no rights and changes nothing of the machine. Status 1: no answer.
set -eu
suite=trixie # its PyTorch is 2.6; bookworm's 1.13 has no viewer
mkdir -p "$1" && cd "$1"
[ ! -s MemoryViz.js ] || exit 0
archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' 2>/dev/null | head -n 1)
[ -n "$archive" ] || { echo "no package registry of Debian"; exit 1; }
mkdir -p apt/parts apt/lists/partial apt/cache/archives/partial
cat >apt/parts/source.sources <<END
Types: deb-src
URIs: $archive
Suites: $suite
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
apt=(apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$PWD/apt/parts" -o "Dir::State::lists=$PWD/apt/lists"
	-o "Dir::Cache=$PWD/apt/cache" -o APT::Sandbox::User= -o Acquire::Retries=1 -o Acquire::http::Timeout=20)
"${apt[@]}" update && "${apt[@]}" source --download-only pytorch
tar -xf pytorch_*.orig.tar.xz --wildcards --strip-components=4 '*/torch/utils/viz/MemoryViz.js'
rm -rf apt pytorch_*
