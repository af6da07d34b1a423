# schema_kit.sh - functions for test_schema*.sh, after lib.sh: checks the documents of all commands against the
# schemas.
schema=$SRC/docs/schema
python=$(for p in "${HOST_PYTHON:-python3}" /usr/bin/python3; do "$p" -c 'import jsonschema' 2>/dev/null && echo "$p" && break; done)

# print COMMAND NAME ARGUMENTS...: COMMAND.NAME.json, if there is an answer; 3 is a damaged trace's, with one all the same.
print() {
	local command=$1 name=$2 code=0
	shift 2
	"$memana" "$command" --json "$@" >"$command.$name.json" 2>err || code=$?
	case $code in
	0 | 1 | 3) [ -s "$command.$name.json" ] || rm "$command.$name.json" ;;
	*)
		cat err
		rm "$command.$name.json"
		return 1
		;;
	esac
}

reports="top oom advise phases steps growth retained frag check info verify"

# all NAME TRACE...: every report. Those that answer from a database have one, so that each trace is read few times.
all() {
	local name=$1 command code=0
	shift
	"$memana" load "$@" -o "$name.db" >out 2>err || code=$?
	[ $code = 0 ] || [ $code = 3 ] || { cat err; return 1; }
	for command in top info verify; do
		print "$command" "$name" "$@" || return 1
	done
	for command in oom advise phases steps growth retained frag; do
		print "$command" "$name" "$name.db" || return 1
	done
	print frag "replay.$name" --replay "" --replay expandable_segments:True --limit 30MiB "$name.db" || return 1
	print check "$name" --max-peak 1MiB --growth 1% --max-host 1GiB "$name.db" &&
		print diff "$name" "$name.db" "$first"
}

# all_valid COMMAND...: the printed documents follow the schema.
all_valid() {
	[ -n "$python" ] || skip "no jsonschema (python3-jsonschema)"
	"$python" "$SRC/tests/cli/schema.py" "$schema" --each "$@"
}

# cases_valid: every report of each sixth case is as the schema says. All reports of each third case count the same bytes. The other
# tests of cases ask memory questions of every case. Sanitizers see each twelfth case: the figures of both builds are the same.
cases_valid() {
	local file case every=6 seen=0
	first=
	[[ $BUILD != *-san ]] || every=12
	for file in "$SRC"/tests/cases/*.case; do
		case=$(basename "$file" .case)
		if [ $((seen % every)) = 0 ]; then
			mkdir "$case" && "$BUILD/cases/make_case" "$file" "$case"
			[ -n "$first" ] || first=$case.db
			check "$case: answers" all "$case" "$case"
			[ -e "top.$case.json" ] && json "top.$case.json" 'd["oom"]' >/dev/null &&
				check "$case: when memory ran out" print top "oom-$case" --at oom "$case.db"
		elif [ $every = 6 ] && [ $((seen % 3)) = 0 ]; then
			mkdir "$case" && "$BUILD/cases/make_case" "$file" "$case"
			"$memana" load "$case" -o "$case.db" >out 2>&1
		fi
		seen=$((seen + 1))
	done
	[ $every = 12 ] || python3 "$SRC/tests/cli/adds_up.py" "$memana" --each *.db
	all_valid $reports diff
}
