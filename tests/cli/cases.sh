# cases.sh - functions that tests of tests/cases share. A case is played once, and memana is asked once for each
# answer.

# A case that says something untrue of itself makes no traces.
play() {
	mkdir "$1" && "$BUILD/cases/make_case" "$SRC/tests/cases/$1.case" "$1"
}

# says TITLE WORDS COMMAND [OPTIONS]: the text of `memana COMMAND` on the case's traces has WORDS, however it is broken
# into lines. `case` names the case.
says() {
	local title=$1 words=$2
	shift 2
	check "$case: $title" said "$words" "$@"
}

# Each answer is asked for once.
answer_of() {
	local form=$1 words=${*:2}
	echo "$case/${words// /_}.$form"
}

said() {
	local words=$1 text
	shift
	text=$(answer_of text "$@")
	[ -e "$text" ] || "$memana" "$@" "$case"/*.zst >"$text" || return 1
	tr -s ' \n' ' ' <"$text" | grep -qE -- "$words" || { echo "not said: $words"; cat "$text"; return 1; }
}

# tells TITLE EXPRESSION COMMAND [OPTIONS]: true of the document d of `memana COMMAND --json`; `gpu` is its first device.
tells() {
	local title=$1 expression=$2
	shift 2
	check "$case: $title" told "$expression" "$@"
}

told() {
	local expression=$1 document
	shift
	document=$(answer_of json "$@")
	[ -e "$document" ] || "$memana" "$@" --json "$case"/*.zst >"$document" || return 1
	json "$document" "(lambda gpu: $expression)(d['devices'][0])"
}

# Whether the reports of each case add up, test_schema_cases.sh asks.
begin() {
	case=$1
	check "$case: is true" play "$case"
}

adds_up() { python3 "$SRC/tests/cli/adds_up.py" "$memana" "$@"; }

# Parts of the peak as a dict.
parts() { echo "{p['$1']: p['bytes'] for p in gpu['by_$1']}"; }

# never TITLE WORDS COMMAND [OPTIONS]: the opposite of says.
never() {
	local title=$1 words=$2
	shift 2
	check "$case: $title" not_said "$words" "$@"
}

not_said() { ! said "$@" >/dev/null || { cat "$(answer_of text "${@:2}")"; return 1; }; }

# On all rows of `memana advise`: advises TITLE EXPRESSION, true of the document d; row KEY EXPRESSION TITLE, about
# the row r of the setting whose key ends so.
told_document() {
	[ -e "$case/advise.json" ] || "$memana" advise -n 0 --json "$case"/*.zst >"$case/advise.json" || return 1
	json "$case/advise.json" "$1"
}
row() { check "$case: $1: $3" told_document "(lambda r: r is not None and ($2))(next((r for r in d['knobs'] if r['key'].endswith('$1')), None))"; }
advises() { check "$case: $1" told_document "$2"; }

# without TITLE EXPRESSION NAME: the case, its lines edited by sed, as a case NAME.
edited() { sed -e "$1" "$SRC/tests/cases/$case.case" >"$2.case" && mkdir "$2" && "$BUILD/cases/make_case" "$2.case" "$2"; }
without() {
	check "$case, $1: is true" edited "$2" "$3"
	case=$3
}
