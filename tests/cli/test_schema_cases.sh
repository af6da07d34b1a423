# memana's answers on the cases (tests/cases): as docs/schema says, and every report counts the
# same bytes.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/schema_kit.sh"
cases_valid
