#!/usr/bin/env bash
# static.sh SOURCES TARGET FOLDER - builds the libraries of sources.sh for TARGET (x86_64-linux-gnu.2.28), static, into FOLDER: include, lib, and
# bin/{cc,c++,ar,ranlib}, which compile for TARGET. libunwind alone is shared: the agent opens it by name in the recorded program. PYTHON has
# the package ziglang.
set -eu
sources=$(cd "$1" && pwd) target=$2
mkdir -p "$3"
out=$(cd "$3" && pwd)
host=${target%%-*}-linux-gnu
export ZIG_GLOBAL_CACHE_DIR=$out/cache ZIG_LOCAL_CACHE_DIR=$out/cache
mkdir -p "$out/bin" "$out/include" "$out/lib" "$out/build"
[ -e "$out/done" ] && exit 0

tool() { # NAME COMMAND...
	printf '#!/bin/sh\nexec "%s" -m ziglang %s "$@"\n' "${PYTHON:-python3}" "${*:2}" >"$out/bin/$1"
	chmod +x "$out/bin/$1"
}
tool cc cc -target "$target"
tool c++ c++ -target "$target"
tool ar ar
tool ranlib ranlib
tool objcopy objcopy
export CC=$out/bin/cc CXX=$out/bin/c++ AR=$out/bin/ar RANLIB=$out/bin/ranlib CFLAGS="-O2 -fPIC -fno-sanitize=all" CPPFLAGS=-I$out/include LDFLAGS=-L$out/lib

# copy PACKAGE: a fresh copy of the sources, and the working folder.
copy() {
	rm -rf "$out/build/$1"
	cp -r "$sources/$1" "$out/build/$1"
	cd "$out/build/$1"
}
configure() { ./configure --build="$(uname -m)-linux-gnu" --host="$host" --prefix="$out" --libdir="$out/lib" "$@"; }
# archive NAME FILE...: compiles each file into libNAME.a.
archive() {
	local name=$1 file
	shift
	for file in "$@"; do $CC $CFLAGS $CPPFLAGS -I. -Iinclude -DHAVE_CONFIG_H -c -o "$(basename "$file" .c).o" "$file"; done
	$AR rcs "$out/lib/lib$name.a" $(for file in "$@"; do basename "$file" .c; done | sed 's/$/.o/')
}

build_xxhash() { cp xxhash.h "$out/include"; }
build_zlib() {
	sh ./configure --static --prefix="$out"
	make -j2 libz.a
	cp libz.a "$out/lib"
	cp zlib.h zconf.h "$out/include"
}
build_libzstd() { make -C lib -j2 libzstd.a ZSTD_LEGACY_SUPPORT=0 && cp lib/libzstd.a "$out/lib" && cp lib/zstd.h lib/zdict.h lib/zstd_errors.h "$out/include"; }

build_libyaml() {
	printf '#define YAML_VERSION_STRING "0.2.5"\n#define YAML_VERSION_MAJOR 0\n#define YAML_VERSION_MINOR 2\n#define YAML_VERSION_PATCH 5\n' >include/config.h
	archive yaml src/*.c && cp include/yaml.h "$out/include"
}

build_jansson() {
	[ -x configure ] || autoreconf -fi
	configure --disable-shared --enable-static && make -j2 -C src && make -C src install
}

build_sqlite3() {
	# The one file of all sources is made by tools that run here, and is the same for every machine.
	(export CC=cc CXX=c++ AR=ar RANLIB=ranlib CFLAGS=-O1 CPPFLAGS='' LDFLAGS=''
		./configure --disable-shared --enable-static --disable-tcl --disable-readline && make -j2 sqlite3.c)
	$CC $CFLAGS -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_THREADSAFE=1 -DSQLITE_ENABLE_MATH_FUNCTIONS -c -o sqlite3.o sqlite3.c
	$AR rcs "$out/lib/libsqlite3.a" sqlite3.o && cp sqlite3.h "$out/include"
}

# Terminals that a container without terminfo knows, too: those of this list that this ncurses has.
terminals="xterm xterm-256color screen screen-256color tmux tmux-256color linux vt100 foot alacritty xterm-kitty rxvt-256color rxvt-unicode-256color"
build_ncurses() {
	local terminal known=
	for terminal in $terminals; do ! grep -q "^$terminal|" misc/terminfo.src || known=$known,$terminal; done
	configure --enable-widec --without-shared --without-progs --without-cxx --without-cxx-binding --without-ada --without-tests --without-manpages --disable-db-install \
		--with-build-cc=cc --with-fallbacks="${known#,}" --with-terminfo-dirs=/etc/terminfo:/lib/terminfo:/usr/share/terminfo --without-debug --disable-stripping
	make -j2 libs && make install.libs install.includes
	cp "$out"/include/ncursesw/*.h "$out/include"
}

build_elfutils() {
	local library
	CFLAGS="$CFLAGS -Wno-error" configure --disable-shared --enable-static --disable-debuginfod --disable-libdebuginfod --without-lzma --without-bzlib \
		--without-zstd --disable-nls
	for library in lib/libeu libelf/libelf libebl/libebl backends/libebl_backends libdwelf/libdwelf libdwfl/libdwfl libdw/libdw; do
		make -j2 -C "${library%/*}" "${library##*/}.a"
		cp "$library.a" "$out/lib"
	done
	mkdir -p "$out/include/elfutils"
	cp libelf/libelf.h libelf/gelf.h libdw/dwarf.h "$out/include"
	cp libdwfl/libdwfl.h libdw/libdw.h libebl/libebl.h libdwelf/libdwelf.h version.h "$out/include/elfutils"
	# Both libeu and libz have a function crc32; nobody but elfutils calls the one of libeu.
	for library in libeu libdwfl libdw; do "$out/bin/objcopy" --redefine-sym crc32=eu_crc32 "$out/lib/$library.a" 2>/dev/null || objcopy --redefine-sym crc32=eu_crc32 "$out/lib/$library.a"; done
	# Disassembly is asked for by nobody: its entries say that there is none.
	for cpu in i386_disasm x86_64_disasm bpf_disasm riscv_disasm; do echo "int $cpu(void) { return -1; }"; done >disasm.c
	archive cpu disasm.c
}

build_libunwind() {
	[ -x configure ] || autoreconf -fi
	# On aarch64 it passes its own name of ucontext_t.
	# There it would also open the program's files at each frame, for sections of debuggers.
	CFLAGS="$CFLAGS -Wno-incompatible-pointer-types" configure --enable-shared --disable-static --disable-debug-frame --disable-minidebuginfo --disable-coredump --disable-ptrace --disable-setjmp --disable-tests --disable-documentation
	make -j2 -C src
	cp "$(readlink -f src/.libs/libunwind.so)" "$out/lib/libmemrec-unwind.so"
	patchelf --set-soname libmemrec-unwind.so "$out/lib/libmemrec-unwind.so"
	cp include/libunwind*.h "$out/include"
}

# The demangler of GCC's C++ library, which hands out a name in pieces: a hostile symbol costs no memory.
build_libiberty() {
	cd libiberty
	$CC $CFLAGS -I. -I../include -DIN_GLIBCPP_V3 -DHAVE_STDLIB_H -DHAVE_STRING_H -c -o cp-demangle.o cp-demangle.c
	$AR rcs "$out/lib/libdemangle.a" cp-demangle.o
}

for package in xxhash zlib libzstd libyaml jansson sqlite3 ncurses elfutils libunwind libiberty; do
	[ -e "$out/build/$package.done" ] && continue
	# In the background, as a list with || would switch off -e inside.
	(copy "$package" && "build_$package") >"$out/build/$package.log" 2>&1 &
	wait $! || { tail -n 15 "$out/build/$package.log" >&2; echo "static.sh: $package: not built ($out/build/$package.log)" >&2; exit 4; }
	touch "$out/build/$package.done"
done
touch "$out/done"
