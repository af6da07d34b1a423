# The files of `make install` work from their places, and the manual knows every command.
. "$SRC/tests/cli/lib.sh"

install() { make -C "$SRC" --no-print-directory B="$BUILD" install DESTDIR="$PWD/dest" PREFIX=/usr; }
check "make install" install

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
		grep -qE "^\.BI? \"?$word " "$SRC/docs/man/memana.1" || { echo "no entry for $word"; missing=1; }
	done
	return $missing
}
check "memana.1 has every command" commands
