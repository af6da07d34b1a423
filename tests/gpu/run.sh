#!/usr/bin/env bash
# run.sh BUILD - checks on a real GPU. Prints ok / not ok / skip lines and "N passed, N failed, N skipped".
set -u
SRC=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=$(cd "${1:-build}" && pwd) || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

ok() { echo "ok $*"; passed=$((passed + 1)); }
not_ok() { echo "not ok $*"; failed=$((failed + 1)); }
skip() { echo "skip $*"; skipped=$((skipped + 1)); }

# value FILE EXPRESSION: a Python expression on the JSON document d.
value() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"; }

# same TITLE GOT WANT
same() { [ "$2" = "$3" ] && ok "$1: $2" || not_ok "$1: $2, not $3"; }

if ! nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
	skip "no GPU on this machine"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
fi
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader

# rl_step prints its own account: "rl_step: N driver calls, peak B bytes ...".
cd "$work"
if "$BUILD/memrec" -o rl.zst -- "$BUILD/samples/rl_step" >rl.out 2>rl.err && "$BUILD/memana" top --json rl.zst >rl.json; then
	cat rl.out rl.err
	same "rl_step: peak equals the program's own" "$(value rl.json 'd["devices"][0]["peak"]["bytes"]')" \
		"$(sed -nE 's/.*peak ([0-9]+) bytes.*/\1/p' rl.out)"
	same "rl_step: nothing lost" "$(value rl.json 'sum(t["lost"] for t in d["traces"])')" 0
else
	cat rl.out rl.err
	not_ok "rl_step under memrec"
fi

if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
	if "$BUILD/memrec" --steps 3 -o train.zst -- python3 "$SRC/samples/train.py" >train.out 2>train.err &&
		"$BUILD/memana" top --json train.zst >train.json; then
		cat train.err
		same "train.py: steps" "$(value train.json 'd["traces"][0]["steps"]')" 3
		"$BUILD/memana" verify train.zst && ok "train.py: allocator totals" || not_ok "train.py: allocator totals"
		"$BUILD/memana" top train.zst
	else
		cat train.err
		not_ok "train.py under memrec"
	fi
else
	skip "no PyTorch with CUDA here"
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
