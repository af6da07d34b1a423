#!/usr/bin/env bash
# make_deb.sh BUILD VERSION FOLDER - makes FOLDER/memrec_VERSION_ARCH.deb of the programs in BUILD, for the Debian or Ubuntu of this machine. dpkg-shlibdeps names
# the libraries that the programs need. DEBFULLNAME and DEBEMAIL are the maintainer, as in Debian's tools. Two runs on one build are equal to the byte.
set -eu
src=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd) version=$2
mkdir -p "$3"
out=$(cd "$3" && pwd)
arch=$(dpkg --print-architecture)
maintainer="${DEBFULLNAME:-$(id -un)} <${DEBEMAIL:-$(id -un)@$(hostname -f)}>"
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$src" log -1 --format=%ct 2>/dev/null || stat -c %Y "$src/CHANGELOG.md")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/debian/memrec
umask 022

make -C "$src" --no-print-directory install-strip B="$build" DESTDIR="$tree" prefix=/usr LTO="${LTO-}" >"$work/log" || { cat "$work/log"; exit 4; }
# C objects keep no notes of the compiler, as dh_strip has it.
strip --remove-section=.comment --remove-section=.note --strip-unneeded "$tree"/usr/lib/memrec/libmemrec.so "$tree"/usr/bin/*
chmod 644 "$tree/usr/lib/memrec/libmemrec.so"

doc=$tree/usr/share/doc/memrec
mkdir -p "$doc" "$tree/usr/share/lintian/overrides" "$tree/DEBIAN"
cat >"$doc/copyright" <<TEXT
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: memrec

Files: *
Copyright: $(date -u -d "@$SOURCE_DATE_EPOCH" +%Y) the authors of memrec
License: Apache-2.0

License: Apache-2.0
 The text of the licence is in /usr/share/common-licenses/Apache-2.0 on Debian.
TEXT
cat >"$work/changelog" <<TEXT
memrec ($version) unstable; urgency=medium

  * The changes are in CHANGELOG.md of the sources.

 -- $maintainer  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
TEXT
gzip -9nc "$work/changelog" >"$doc/changelog.gz"
find "$tree/usr/share/man" -name '*.[1-9]' -exec gzip -9n {} +
cat >"$tree/usr/share/lintian/overrides/memrec" <<TEXT
# Each loader of the machine reads LD_PRELOAD's one name in its own way: the 32-bit one comes to a library that does nothing.
memrec: binary-from-other-architecture [usr/lib/memrec/each/lib32/libmemrec.so]
memrec: shared-library-lacks-prerequisites [usr/lib/memrec/each/lib32/libmemrec.so]
TEXT

# dpkg-shlibdeps wants a source package around it.
printf 'Source: memrec\nMaintainer: %s\n\nPackage: memrec\nArchitecture: any\n' "$maintainer" >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O "$tree"/usr/bin/* "$tree/usr/lib/memrec/libmemrec.so" 2>"$work/log" | sed -n 's/^shlibs:Depends=//p') || true
[ -n "$depends" ] || { cat "$work/log" >&2; echo "make_deb.sh: dpkg-shlibdeps found no libraries" >&2; exit 4; }
cat >"$tree/DEBIAN/control" <<TEXT
Package: memrec
Version: $version
Architecture: $arch
Maintainer: $maintainer
Installed-Size: $(du -sk --apparent-size "$tree/usr" | cut -f1)
Depends: $depends
Recommends: libunwind8
Section: devel
Priority: optional
Description: record and explain what fills GPU memory in training
 memrec records what fills GPU memory in an unmodified program that uses
 PyTorch or CUDA: driver memory, tensors, Python and native stacks.
 .
 memana reads the recording: which phase of a step, which line of code and
 which kind of tensor took the memory, and which setting helps.
TEXT
(cd "$tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"
find "$tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --build --root-owner-group -Zxz "$tree" "$out/memrec_${version}_$arch.deb" >"$work/log" || { cat "$work/log" >&2; exit 4; }
echo "$out/memrec_${version}_$arch.deb"
