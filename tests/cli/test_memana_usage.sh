# The answers of memana to wrong command lines: exit codes, one line on stderr, nothing on stdout.
. "$SRC/tests/cli/lib.sh"
"$BUILD/tests/unit/test_query" --write .

# refused STATUS PATTERN ARGUMENT...
refused() {
	local want=$1 pattern=$2
	shift 2
	status "$want" "$memana" "$@" && one_line err "^memana: .*$pattern" && [ ! -s out ]
}

check "unknown command" refused 2 'frobnicate: neither a command nor a file' frobnicate
check "a command with two letters changed over" refused 2 'tpo: neither a command nor a file \(did you mean memana top\?\)' tpo small.zst
check "one with a letter missing" refused 2 'did you mean memana retained\?' retaind small.zst
check "a trace that is not there" refused 4 'nowhere.zst: No such file' nowhere.zst
check "an option with a letter wrong" refused 2 '--jsn: there is no such option \(did you mean --json\?' top --jsn small.zst
check "one with a value" refused 2 '--max-pek=1GiB: there is no such option \(did you mean --max-peak\?' check --max-pek=1GiB small.zst
check "an option of another command" refused 2 '--header: there is no such option \(see' top --header small.zst
check "a value where none belongs" refused 2 '--json=1: takes no value' top --json=1 small.zst
check "a phase" refused 2 '--from foward: no such phase; all are other init .* before \(did you mean forward\?\)' retained --from foward small.zst
check "a phase of check" refused 2 'did you mean rollout\?' check --max-peak 1GiB --phase rolout small.zst
check "a table" refused 2 'did you mean category\?' top --by categorie small.zst
check "unknown option" refused 2 '--frobnicate: there is no such option' --frobnicate
check "unknown option of a command" refused 2 '--frobnicate: there is no such option' top --frobnicate small.zst
check "unknown short option" refused 2 '-z: there is no such option' top -z small.zst
check "option without its value" refused 2 '-n: needs a value' top -n
check "option with a bad number" refused 2 'not a number' top -n many small.zst
check "a table that is not there" refused 2 'not one of phase' top --by colour small.zst
check "a device that is not there" refused 2 'top: --device 9: nothing was recorded there' top --device 9 small.zst
check "no trace named" refused 2 'no trace named' top
check "load without a database" refused 2 'no database named' load small.zst
check "sql without a statement" refused 2 'statement' sql small.zst
check "a trace that is named twice" refused 2 "small.zst: this process was named already" top small.zst small.zst
check "-- ends options" refused 4 '-x: No such file' top -- -x

echo "this is no trace" >text
: >empty
mkfifo pipe
for command in top info verify; do
	check "$command: not a trace" refused 3 'text: not a memrec trace' "$command" text
	check "$command: no such file" refused 4 'nowhere: No such file' "$command" nowhere
done
check "an empty file is no trace" refused 3 "empty: empty, not a trace$" top empty
check "pipe is no trace" refused 3 "pipe: not a memrec trace" top pipe
check "control characters do not reach the terminal" \
	bash -c '"$0" top "$(printf "a\033[31mb")" 2>&1 | grep -qF "a?[31mb"' "$memana"

help() { status 0 "$memana" "$@" && grep -q '^Usage: memana' out && [ ! -s err ]; }
check "-h" help -h
check "--help" help --help
check "help" help help
check "help top" help help top
check "help of what is no command" bash -c '! "$0" help topp 2>err && grep -q "topp: neither a command nor a file (did you mean memana top?)" err' "$memana"
for word in --version -V version; do
	check "$word" bash -c '"$0" "$1" | grep -qE "^memana [0-9.]+ \([0-9a-z]+\)$"' "$memana" "$word"
done
check "options of top before the trace" bash -c 'cmp <("$0" --json -n 1 small.zst) <("$0" top --json -n 1 small.zst)' "$memana"
check "options before the command" bash -c 'cmp <("$0" --json -n1 top small.zst) <("$0" top --json -n1 small.zst)' "$memana"
for word in json brief; do
	check "a long option with one dash: -$word" refused 2 "-$word: there is no such option \(did you mean --$word\?" top small.zst -$word
done
check "one that begins with a short one" refused 2 '-output: there is no such option \(did you mean --output\?' load small.zst -output small.db
check "the value of an option may begin with a dash" refused 4 '-json: No such file' top --rules -json small.zst
for pair in report:top stats:top leaks:growth html:"export --to html" compare:diff; do
	check "${pair%%:*} is memana ${pair#*:}" refused 2 "${pair%%:*}: neither a command nor a file \(did you mean memana ${pair#*:}\?\)" "${pair%%:*}" small.zst
done
for command in top "info --json" verify oom "sql - .tables" "check --max-peak 1GiB" "diff small.zst"; do
	# The answer from a pipe is that of the file, but for its name.
	# shellcheck disable=SC2086
	piped() {
		set -- $command
		case $1 in sql) set -- sql /dev/stdin .tables ;; *) set -- "$@" - ;; esac
		"$memana" "$@" <small.zst >file 2>&1
		mkdir -p spool
		cat small.zst | TMPDIR=$PWD/spool "$memana" "$@" >pipe.out 2>&1
		[ -s file ] && cmp file pipe.out && [ -z "$(ls spool)" ]
	}
	check "memana ${command%% *} from a pipe" piped
done
from_pipe() { cat "$1" | refused "${@:2}"; }
check "no screen of standard input" from_pipe small.zst 2 '/dev/stdin: the keys come by standard input' tui -
check "no waiting for standard input" from_pipe small.zst 3 '/dev/stdin: not a memrec trace' wait --until oom -
check "an export of standard input needs a name" from_pipe small.zst 2 'export: /dev/stdin: the file to write has no name' export --to folded -
check "an export from pipe to pipe" bash -c 'cmp <(cat small.zst | "$0" export --to folded -o - -) <("$0" export --to folded -o - small.zst)' "$memana"
"$memana" load small.zst -o piped.db >/dev/null
check "no database from a pipe" from_pipe piped.db 2 '/dev/stdin: a database cannot be read from a pipe' top -
check "no database to standard output" refused 2 'load: -: this file cannot go to standard output' load small.zst -o -
check "an empty pipe" from_pipe /dev/null 3 '/dev/stdin: empty, not a trace' top -
check "--color=always" bash -c '"$0" top --color=always small.zst | grep -q "$(printf "\033")"' "$memana"
check "--color never, on a terminal" bash -c '! python3 "$1" "$0" --color never top small.zst | grep -q "$(printf "\033")"' "$memana" "$SRC/tests/cli/on_terminal.py"
check "--color of what is no word" refused 2 "--color: must be auto, always or never" --color=blue top small.zst
paged() { # PAGER ARGUMENTS...: the text on a terminal
	MEMANA_PAGER=$1 TERM=xterm python3 "$SRC/tests/cli/on_terminal.py" "$memana" "${@:2}" >out
}
pager() { paged 'sed s/^/PAGER/' top small.zst && grep -q '^PAGER' out && grep -q "$(printf '\033')" out; }
check "the answer goes through the pager, with colours" pager
no_pager() { paged 'sed s/^/PAGER/' --no-pager top small.zst && ! grep -q PAGER out && grep -q 'At the peak' out; }
check "--no-pager" no_pager
pager_missing() { paged no-such-pager top small.zst && grep -q 'At the peak' out; }
check "a pager that is not there costs no answer" pager_missing
pager_status() { ! paged cat\ - top nowhere && [ "$(tail -n 1 out)" = "status 4" ]; }
check "the exit status is memana's" pager_status
check "no pager where stdout is no terminal" bash -c '! MEMANA_PAGER="sed s/^/PAGER/" "$0" top small.zst | grep -q PAGER' "$memana"
nothing() { status 2 "$memana" && grep -q '^Usage: memana' err && [ ! -s out ]; }
check "no arguments: help on stderr" nothing
"$memana" --help | sed -n 's/^  \([a-z]*\)  *[[A-Z].*/\1/p' >commands
check "help fits into 80 columns" bash -c '! "$0" --help | grep -E ".{81}"' "$memana"
check "every command is listed" test "$(wc -l <commands)" = "$(grep -c "^	X(" "$SRC/analyzer/report/command.h")"
while read -r command; do
	check "$command --help" help "$command" --help
	check "$command is in the manual" grep -q "^\.It Cm $command " "$SRC/docs/man/memana.1"
	for option in $("$memana" "$command" --help | sed -n 's/^ .*--\([a-z]*\).*/\1/p'); do
		check "$command --$option is in the manual" grep -qE -- "(Fl|,) -$option([ -]|\$)" "$SRC/docs/man/memana.1"
	done
done <commands
full() { # COMMAND...: one line that tells of standard output and of nothing else
	"$memana" "$@" >/dev/full 2>err
	[ $? = 4 ] && one_line err '^memana: standard output: the answer is incomplete(: No space left on device)?$'
}
for command in "top" "top --json" "growth --json" "oom --json" "steps --json" "retained --json" "verify" "knobs --json"; do
	check "$command: output that cannot be written is an error" full $command $([ "${command%% *}" = knobs ] || echo small.zst)
done
check "sql --json: output that cannot be written is an error" full sql --json small.zst "SELECT * FROM allocation"
