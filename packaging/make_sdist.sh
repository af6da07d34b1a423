#!/usr/bin/env bash
# make_sdist.sh FOLDER VERSION - makes FOLDER/dist/memrec-VERSION.tar.gz: the sources of the newest commit, and those of the libraries that a wheel has
# inside (packaging/sources). With it and no network, packaging/make_wheel.sh links memana with another elfutils: what the LGPL asks for.
set -eu
src=$(cd "$(dirname "$0")/.." && pwd)
version=$2 name=memrec-$2
mkdir -p "$1/dist"
out=$(cd "$1" && pwd)
[ -e "$out/sources/versions" ] || "$src/packaging/sources.sh" "$out/sources"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
make -C "$src" --no-print-directory -s dist DIST="$work/dist.tar.gz" >/dev/null
tar -C "$work" -xzf "$work/dist.tar.gz"
mkdir -p "$work/$name/packaging/sources"
while read -r package _; do cp "$out/sources/$package"_* "$work/$name/packaging/sources"; done <"$out/sources/versions"
time=$(git -C "$src" log -1 --format=%ct)
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mode=a+rX,u+w,go-w --mtime="@$time" -cf - "$name" | gzip -9n >"$out/dist/$name.tar.gz"
echo "$out/dist/$name.tar.gz"
