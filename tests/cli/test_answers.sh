# Compares the answers of memana about the sample's trace and about PyTorch's own snapshots with tests/golden/answers.
# After an intended change, run UPDATE_ANSWERS=1 tests/run.sh BUILD test_answers and read the difference.
. "$SRC/tests/cli/lib.sh"
answers=$SRC/tests/golden/answers

# same NAME COMMAND...: the document that memana prints is NAME.json.
same() {
	local name=$1
	shift
	"$memana" "$@" --json >document && python3 "$SRC/tests/cli/answers.py" document >"$name.json" || return 1
	[ -z "${UPDATE_ANSWERS:-}" ] || cp "$name.json" "$answers"
	diff "$answers/$name.json" "$name.json"
}

record() { LD_LIBRARY_PATH=$standin STANDIN_MEM=80GiB "$memrec" --steps 3 -o rl_step.zst -- "$BUILD/samples/rl_step"; }
check "rl_step is recorded" record
check "rl_step: top" same rl_step-top top rl_step.zst -n 8
check "rl_step: phases" same rl_step-phases phases rl_step.zst
check "rl_step: steps" same rl_step-steps steps rl_step.zst
check "rl_step: growth" same rl_step-growth growth rl_step.zst
check "rl_step: retained" same rl_step-retained retained rl_step.zst

"$memana" load rl_step.zst -o rl_step.db >out
as_database() { cmp <("$memana" "$1" --json rl_step.zst | unnamed) <("$memana" "$1" --json rl_step.db | unnamed); }
unnamed() { sed -E 's/rl_step\.(zst|db)/RUN/g'; }
for command in top phases steps growth retained; do
	check "rl_step: $command says the same of the database" as_database "$command"
done

# Sums of lives, and single ones. The golden files have failed frees, checkpoints, gaps and torn ends.
all_ways() {
	local trace way
	for trace in rl_step.zst "$SRC"/tests/golden/*.zst "$SRC"/samples/*.zst "$SRC"/samples/gpu/*.zst; do
		for way in "" --full; do
			"$memana" "$@" --json $way "$trace" >"with$way" 2>&1
			echo "$?" >>"with$way"
		done
		diff with with--full || return 1
	done
}
check "phases: sums and single lives agree" all_ways phases
check "steps: sums and single lives agree" all_ways steps
check "growth: sums and single lives agree" all_ways growth
check "retained: sums and single lives agree" all_ways retained
check "retained --step: sums and single lives agree" all_ways retained --step 2

# Real ones, where they are.
real=$SRC/../shared/data/snapshots
[ -d "$real" ] || skip "real snapshots: $real is not there"
for name in torch2.11-medium512-training torch2.6-ctx128-fullstep; do
	"$memana" import "$real/$name.pickle" -o "$name.zst" >out
	check "$name: top" same "$name-top" top "$name.zst" -n 5
done
