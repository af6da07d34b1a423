#!/usr/bin/env bash
# make_wheel.sh ARCH FOLDER VERSION - builds memrec and memana for ARCH (x86_64, aarch64) and glibc 2.28, static but for libc, and makes FOLDER/dist/*.whl and
# FOLDER/dist/memrec-VERSION-linux-ARCH.tar.gz of them. The compiler (PyPI's ziglang) and the libraries' sources (Debian's) are fetched once.
set -eu
arch=$1 version=$3
src=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$2/dist"
out=$(cd "$2" && pwd)
compiler=ziglang==0.17.1
glibc=2.28

if ! [ -x "$out/venv/bin/python" ] || ! "$out/venv/bin/python" -c 'import ziglang' 2>/dev/null; then
	echo "wheel: fetching the compiler"
	python3 -m venv "$out/venv"
	"$out/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$compiler"
fi
export PYTHON=$out/venv/bin/python
[ -e "$out/sources/versions" ] || { echo "wheel: fetching the sources of the libraries" && "$src/packaging/sources.sh" "$out/sources"; }
libraries=$out/$arch
[ -e "$libraries/done" ] || echo "wheel: building the libraries for $arch (some minutes)"
"$src/packaging/static.sh" "$out/sources" "$arch-linux-gnu.$glibc" "$libraries"

echo "wheel: building memrec and memana for $arch"
export ZIG_GLOBAL_CACHE_DIR=$libraries/cache ZIG_LOCAL_CACHE_DIR=$libraries/cache
make_programs() {
	make -C "$src" --no-print-directory -j2 B="$out/programs-$arch" CC="$libraries/bin/cc" AR="$libraries/bin/ar" LTO= \
		CPPFLAGS="-I$libraries/include" CFLAGS="-fno-sanitize=all -Wno-error" LDFLAGS="-L$libraries/lib -s" EACH= prefix=/ \
		ANALYZER_LIBS="-lsqlite3 -ljansson -lncursesw -Wl,--start-group -ldwfl -ldwelf -lebl -lebl_backends -ldw -lcpu -leu -lelf -lz -Wl,--end-group -ldemangle -lm" "$@"
}
rm -rf "$out/tree-$arch"
make_programs programs standin samples # the stand-in GPU is for the tests on other machines
# Completion is made by running the programs: those of this machine say the same.
make -C "$src" --no-print-directory -j2 completion
mkdir -p "$out/programs-$arch/completion" && cp -p "$src"/build/completion/* "$out/programs-$arch/completion"
touch "$out/programs-$arch"/completion/*
make_programs install DESTDIR="$out/tree-$arch"
cp "$libraries/lib/libmemrec-unwind.so" "$out/tree-$arch/lib/memrec"

licence() { # PACKAGE: Debian's file with the licence of each part
	echo "$out/sources/$1/debian/copyright"
}
parts=()
while read -r package number; do
	case $package in
	libzstd) word=BSD-3-Clause ;;
	xxhash) word=BSD-2-Clause ;;
	zlib) word=Zlib ;;
	sqlite3) word=blessing ;;
	ncurses) word=X11 ;;
	elfutils) word="LGPL-3.0-or-later OR GPL-2.0-or-later" ;;
	libiberty) word="GPL-2.0-or-later WITH GCC-exception-2.0" ;;
	*) word=MIT ;;
	esac
	parts+=("$package|$number|$word|$(licence "$package")")
done <"$out/sources/versions"
"$PYTHON" "$src/packaging/wheel.py" "$out/tree-$arch" "$version" "manylinux_${glibc/./_}_$arch" "$out/dist" "${parts[@]}"

name=memrec-$version-linux-$arch
rm -rf "$out/$name" && cp -r "$out/tree-$arch" "$out/$name"
tar -C "$out" --sort=name --owner=0 --group=0 --mtime=@0 -czf "$out/dist/$name.tar.gz" "$name"
rm -rf "${out:?}/$name"
echo "$out/dist/$name.tar.gz"
