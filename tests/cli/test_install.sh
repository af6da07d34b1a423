# The files of `make install` work in their places, and the manual has every command.
. "$SRC/tests/cli/lib.sh"

run_make() { make -C "$SRC" --no-print-directory B="$BUILD" "$@"; }
install() { (umask 077 && run_make install DESTDIR="$PWD/dest" PREFIX=/usr); }
check "make install" install

readable() { [ -z "$(find dest -mindepth 1 ! -type l ! -perm -a+r -o -type d ! -perm -a+rx)" ]; }
check "everybody can read what is installed under umask 077" readable

no_bench() { ! find dest -name '*nop*' -o -name .made | grep .; }
check "no library of a benchmark is installed" no_bench

bin=$PWD/dest/usr/bin
record() { LD_LIBRARY_PATH=$standin "$bin/memrec" -o installed.zst -- "$BUILD/samples/rl_step" --steps 1 >/dev/null && "$bin/memana" verify installed.zst; }
check "the installed memrec records" record

completion() { # files in the shells' folders, and not empty
	local name
	for name in memrec memana; do
		grep -q "$name" "dest/usr/share/bash-completion/completions/$name" && grep -q "^#compdef $name" "dest/usr/share/zsh/site-functions/_$name" &&
			grep -q "complete -c $name" "dest/usr/share/fish/vendor_completions.d/$name.fish" || return 1
	done
}
check "what shells complete is there" completion

schemas() {
	local file
	for file in "$SRC"/docs/schema/*.json; do
		cmp "$file" "dest/usr/share/memrec/schema/${file##*/}" || return 1
	done
}
check "the schemas of the JSON are there" schemas

commands() { # every command of the list has an entry in the manual
	local word missing=0
	for word in $(sed -nE 's/^\tX\(([a-z]+),.*/\1/p' "$SRC/analyzer/report/command.h"); do
		grep -q "^\.It Cm $word " "$SRC/docs/man/memana.1" || { echo "no entry for $word"; missing=1; }
	done
	return $missing
}
check "memana.1 has every command" commands

installcheck() { run_make installcheck DESTDIR="$PWD/dest" prefix=/usr; }
check "make installcheck" installcheck

pkg_config() { grep -qx 'Version: [0-9.]*' dest/usr/share/pkgconfig/memrec.pc && grep -qx 'Cflags: -I${includedir}' dest/usr/share/pkgconfig/memrec.pc; }
check "memrec.pc has the version and the include folder" pkg_config

folders() {
	run_make install DESTDIR="$PWD/other" prefix=/opt/m bindir=/opt/m/programs mandir=/opt/manual >/dev/null &&
		[ -x other/opt/m/programs/memrec ] && [ -f other/opt/manual/man1/memana.1 ] && [ -f other/opt/m/lib/memrec/libmemrec.so ]
}
check "bindir and mandir count" folders

stripped() {
	run_make install-strip DESTDIR="$PWD/small" prefix=/usr >/dev/null &&
		[ "$(stat -c %s small/usr/bin/memana)" -lt "$(stat -c %s dest/usr/bin/memana)" ] && small/usr/bin/memana --version
}
check "make install-strip" stripped

uninstall() { run_make uninstall DESTDIR="$PWD/dest" PREFIX=/usr && [ -z "$(find dest -type f -o -type l)" ]; }
check "make uninstall leaves no file" uninstall

# Flags of the command line are added: with -Iinclude or -fwrapv gone nothing would be built, or wrongly.
flags() {
	run_make -n -B SAN= DEBUG= CPPFLAGS=-DMINE CFLAGS=-O3 LDFLAGS=-s programs >commands && grep -q -- '-Iinclude.*-DMINE' commands &&
		grep -q -- '-O2.*-O3.*-fwrapv' commands && grep -q -- '-Iformats.*-O3\|-O3.*-Iformats' commands && grep -q -- '-z,relro,-z,now -s' commands
}
check "CPPFLAGS, CFLAGS and LDFLAGS of the command line are added" flags

help() { run_make help | grep -q 'make demo'; }
check "make help" help

# The programs do not contain the path of the sources.
no_folder() { ! grep -q "$SRC/\(analyzer\|recorder\|formats\)" "$BUILD/memana" "$BUILD/memrec" "$BUILD/libmemrec.so"; }
check "the programs do not name the folder of the sources" no_folder
