# schema_kit.sh - for test_schema*.sh, after lib.sh: documents of all commands, held against the schema.
schema=$SRC/docs/schema/memana.schema.json
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

reports="top oom advise phases steps retained frag check info verify"

# all NAME TRACE...: every report. Those that answer from a database have one, so that each trace is read few times.
all() {
	local name=$1 command code=0
	shift
	"$memana" load "$@" -o "$name.db" >out 2>err || code=$?
	[ $code = 0 ] || [ $code = 3 ] || { cat err; return 1; }
	for command in top info verify; do
		print "$command" "$name" "$@" || return 1
	done
	for command in oom advise phases steps retained frag; do
		print "$command" "$name" "$name.db" || return 1
	done
	print frag "replay.$name" --replay "" --replay expandable_segments:True --limit 30MiB "$name.db" || return 1
	print check "$name" --max-peak 1MiB --growth 1% --max-host 1GiB "$name.db" &&
		print diff "$name" "$name.db" "$first"
}

# all_valid COMMAND...: what was printed.
all_valid() {
	[ -n "$python" ] || skip "no jsonschema (python3-jsonschema)"
	"$python" "$SRC/tests/cli/schema.py" "$schema" --each "$@"
}

# cases_valid PATTERN: of the cases whose names match, that all reports count the same bytes, and of each third one every report, which
# has to be as the schema says. Under sanitizers each sixth one's reports: they ask about memory, which the other tests of cases ask for
# all of them, and figures are the same in both builds.
cases_valid() {
	local file case every=3 seen=0
	first=
	[[ $BUILD != *-san ]] || every=6
	for file in "$SRC"/tests/cases/$1.case; do
		case=$(basename "$file" .case)
		if [ $((seen++ % every)) = 0 ]; then
			mkdir "$case" && "$BUILD/cases/make_case" "$file" "$case"
			[ -n "$first" ] || first=$case.db
			check "$case: answers" all "$case" "$case"
			[ -e "top.$case.json" ] && json "top.$case.json" 'd["oom"]' >/dev/null &&
				check "$case: when memory ran out" print top "oom-$case" --at oom "$case.db"
		elif [ $every = 3 ]; then
			mkdir "$case" && "$BUILD/cases/make_case" "$file" "$case"
			"$memana" load "$case" -o "$case.db" >out 2>&1
		fi
	done
	[ $every = 6 ] || python3 "$SRC/tests/cli/adds_up.py" "$memana" --each *.db
	all_valid $reports diff
}
