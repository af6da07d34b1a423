# A third of test_schema_cases.sh, which takes too long in one piece.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/schema_kit.sh"
cases_valid "[!a-s]*"
