# memana's answers on tests/cases: they follow docs/schema, and all reports count the same bytes.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/schema_kit.sh"
cases_valid
