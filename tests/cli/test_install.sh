# What `make install` puts down works from there, and the manual knows every command and option.
. "$SRC/tests/cli/lib.sh"

install() { make -C "$SRC" --no-print-directory B="$BUILD" install DESTDIR="$PWD/root" PREFIX=/usr; }
check "make install" install

bin=$PWD/root/usr/bin
record() { LD_LIBRARY_PATH=$standin "$bin/memrec" -o installed.zst -- "$BUILD/samples/rl_step" --steps 1 >/dev/null && "$bin/memana" verify installed.zst; }
check "the installed memrec records" record

every() { # MANUAL, then words on standard input: each is in the manual
	local word missing=0
	while read -r word; do
		grep -qF -- "$word" "$1" || { echo "$1 does not mention $word"; missing=1; }
	done
	return $missing
}
man_of() { sed -e 's/\\-/-/g' "$SRC/docs/man/$1.1" >"$1.man"; }
man_of memana
man_of memrec
commands() { sed -nE 's/^\tX\(([a-z]+),.*/\1/p' "$SRC/analyzer/cmd_list.h" | every memana.man; }
check "memana.1 has every command" commands
options() { "$bin/memrec" --help | grep -oE -- '--[a-z][a-z-]+' | sort -u | every memrec.man; }
check "memrec.1 has every option" options
