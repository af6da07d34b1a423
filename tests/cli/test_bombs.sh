# Small files that claim to be large, beyond the limits of the format and within them: the memory that they cost, and
# the messages.
. "$SRC/tests/cli/lib.sh"
mkdir bombs && "$BUILD/tests/unit/test_budget" --write bombs || { echo "not ok the files"; exit 1; }

python3 "$SRC/tests/cli/bombs.py" "$memana" bombs
beyond() { status 3 "$memana" verify "bombs/$1.zst" && one_line err 'beyond the limits of the format at byte'; }
for bomb in zeros strings few_strings text allocations ranges steps checkpoints; do
	check "beyond the budget: $bomb" beyond "$bomb"
done
