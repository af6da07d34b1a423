# lib.sh - for tests/cli/*.sh. Each runs with its own empty scratch directory as working directory and with
#   BUILD   the build folder (absolute)      SRC    the source tree (absolute)      PYTHON  a python3 that has torch, or ""
# A test prints "ok TITLE" / "not ok TITLE" / "skip TITLE" lines; anything else goes to the log.

memrec=$BUILD/memrec
memana=$BUILD/memana
standin=$BUILD/standin

# check TITLE COMMAND...: ok when the command succeeds; its output is shown when it does not.
check() {
	local title=$1 out
	shift
	if out=$("$@" 2>&1); then
		echo "ok $title"
	else
		echo "not ok $title"
		printf '%s\n' "$out" | sed 's/^/# /' | head -40
	fi
}

# status WANT COMMAND...: succeeds when the command's exit status is WANT. Output goes to ./out and ./err.
status() {
	local want=$1 got=0
	shift
	"$@" >out 2>err || got=$?
	[ "$got" = "$want" ] || { echo "exit status $got, not $want: $*"; cat out err; return 1; }
}

# one_line FILE PATTERN: the file is exactly one line, and it matches.
one_line() {
	[ "$(wc -l <"$1")" = 1 ] && grep -qE -- "$2" "$1" || { echo "not one line matching $2:"; cat "$1"; return 1; }
}

skip() {
	echo "skip $*"
	exit 0
}

# jq stand-in: json FILE EXPRESSION evaluates a Python expression with the document as d; succeeds when true.
json() {
	python3 -IS -c 'import json,sys; d=json.load(open(sys.argv[1])); v=eval(sys.argv[2]); print(v); sys.exit(0 if v else 1)' "$1" "$2"
}
