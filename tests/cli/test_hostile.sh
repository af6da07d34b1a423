# For any content of a trace, a database, a rules file or a configuration, memana answers, or ends with exit status 3
# and one line. Pickles: test_memana_import.sh. Every byte of a trace: tests/unit/test_damage.c, tests/golden/bad.
. "$SRC/tests/cli/lib.sh"
"$BUILD/tests/unit/test_query" --write .

for what in traces databases rules configurations; do
	python3 "$SRC/tests/cli/hostile.py" "$memana" small.zst $what || echo "not ok $what: hostile.py itself failed"
done
