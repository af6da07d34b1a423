# The schema and the manual page name the columns of the reports (analyzer/base/column.h). After a change of a column,
# run UPDATE_COLUMNS=1 tests/run.sh BUILD test_columns.
. "$SRC/tests/cli/lib.sh"
"$BUILD/tests/unit/test_column" --write . || echo "not ok the pages of the columns"
for schema in *.schema; do
	name=${schema%.schema}
	check "$name: the schema" python3 "$SRC/tests/cli/columns.py" "$SRC" schema "$name"
	check "$name: the manual page" python3 "$SRC/tests/cli/columns.py" "$SRC" man "$name"
done
