# What memana says of the cases (tests/cases), as docs/schema/memana.schema.json says.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/schema_kit.sh"

first=
for file in "$SRC"/tests/cases/*.case; do
	case=$(basename "$file" .case)
	mkdir "$case" && "$BUILD/cases/make_case" "$file" "$case"
	[ -n "$first" ] || first=$case.db
	check "$case: answers" all "$case" "$case"
	[ -e "top.$case.json" ] && json "top.$case.json" 'd["oom"]' >/dev/null && check "$case: when memory ran out" print top "oom-$case" --at oom "$case.db"
done
all_valid $reports diff
