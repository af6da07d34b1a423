# make test-advice on the stand-in: the settings that rl_step can vary, and the script that compares predictions with
# measured peaks.
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

# --- the script, with a fake memana whose predictions the test sets
unset STANDIN_MEM
export MEMANA=$PWD/prophet PYTHON=python3 QUICK=1 ADVICE_KEPT=$PWD/kept
cat >prophet <<-PROPHET
	#!/bin/sh
	[ "\$1" = advise ] || exec "$memana" "\$@"
	echo "\$@" >>asked
	cat prophecy
PROPHET
chmod +x prophet
foretell() { # LOW HIGH
	echo '{"predicted":{"peak_bytes":{"low":'"$1"',"high":'"$2"'},"by_phase":[{"phase":"backward","bytes":{"low":'"$1"',"high":'"$2"'}}]}}' >prophecy
}
table() { python3 "$SRC/tests/advice/check.py" "$BUILD" step-budget >table 2>&1; }

: >prophecy
check "without a prediction it goes on" table
check "with a row" grep -q '^| step-budget .* | - | - | - |' table
peak=$(sed -nE 's/.*peak ([0-9]+) bytes.*/\1/p' kept/*tokens=8192*/said.txt)
check "and it is skipped, by name" bash -c 'grep -q "no prediction" table && tail -n 1 table | grep -qx "0 passed, 0 failed, 1 skipped"'
check "memana sees the first run" bash -c 'grep -q -- "tokens=4096.*/trace.zst --framework areal --json --now .*=4096 --set .*=8192$" asked'
touch -d 2001-01-01 kept/*/trace.zst
foretell $((peak - 1000)) $((peak + 1000))
check "a good prediction" table
check "is inside, with its phase" grep -q '| +0.0 | yes | 1 of 1 |' table
check "nothing was recorded again" test -z "$(find kept -name trace.zst -newermt 2002-01-01)"
check "counted where it was developed against" bash -c \
	'grep -qx "developed against: 1 rows, 1 inside their range, median error 0.0 %" table && ! grep -q "^held out:" table'
python3 "$SRC/tests/advice/check.py" "$BUILD" step-budget held-step-engine >both 2>&1
check "a row held out is counted apart" bash -c 'grep -q "^developed against: 1 rows, 1 inside" both && grep -q "^held out: 1 rows, 0 inside" both'
foretell $((peak * 2)) $((peak * 2))
check "a bad one fails" status 1 table
check "by its error" grep -q '| +100.0 | no | 0 of 1 |' table
foretell 1000 $((peak * 4))
check "a range that holds everything fails by its middle" status 1 table
check "though it is inside" grep -q '| +100.0 | yes | 1 of 1 |' table
foretell 1000 2000
check "what was to fall" status 1 table
check "and rose is said" grep -q ', 1 that were to fall and rose,' table
echo '{"predicted":null}' >prophecy
check "nothing foretold is a row of its own" table
check "with its reason" grep -q 'no prediction: it says nothing of this peak' table
check "a case that is not there" status 1 python3 "$SRC/tests/advice/check.py" "$BUILD" step-budgets
