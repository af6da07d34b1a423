# What can be varied in rl_step, on the stand-in.
. "$SRC/tests/cli/lib.sh"
export LD_LIBRARY_PATH=$standin STANDIN_MEM=80GiB

# --- rl_step: settings move the phases that they are for, and no others
peaks() { # NAME [OPTION...]: records a step, writes the peaks of its phases
	local name=$1
	shift
	"$memrec" -o "$name.zst" -- "$BUILD/samples/rl_step" --steps 2 --scale 0.1 --quiet "$@" >"$name.said" 2>/dev/null &&
		"$memana" top --json "$name.zst" >"$name.json"
}
moved() { # A B: the phases whose peaks differ by more than 1 MiB
	python3 - "$1.json" "$2.json" <<-'PY'
		import json, sys
		a, b = ({p["phase"]: p["bytes"] for p in json.load(open(name))["devices"][0]["phase_peaks"]} for name in sys.argv[1:])
		print(*sorted(phase for phase in a if abs(a[phase] - b[phase]) > 1 << 20))
	PY
}
check "a step" peaks plain
check "the same by name" peaks named --tokens 5120 --bucket 102.4
check "nothing moves by itself" test "$(moved plain named)" = ""
check "a bucket" peaks bucket --bucket 700
check "moves the weight update" test "$(moved plain bucket)" = "weight-update"
check "a share for the engine" peaks engine --engine 0.2
check "moves the rollout" test "$(moved plain engine)" = "rollout"
check "and is that share" json engine.json \
	'abs({p["phase"]: p["bytes"] for p in d["devices"][0]["phase_peaks"]}["rollout"] / (0.2 * (80 << 30)) - 1) < 0.2'
check "a token budget" peaks tokens --tokens 8192
check "moves what holds tokens" bash -c '[[ $0 == "backward forward logprob"* ]]' "$(moved plain tokens)"
check "no budget splits a sequence" peaks floor --tokens 1
check "its floor is the longest" bash -c 'peaks() { sed -nE "s/.*peak ([0-9]+) bytes.*/\1/p" "$1.said"; }
	"$0" -o longest.zst -- "$1/samples/rl_step" --steps 2 --scale 0.1 --quiet --tokens 4096 >longest.said 2>/dev/null &&
	test "$(peaks floor)" = "$(peaks longest)"' "$memrec" "$BUILD"
check "nonsense is refused" bash -c '! "$0" --tokens none 2>/dev/null' "$BUILD/samples/rl_step"

