# An unmodified PyTorch script: the recording has the requested steps, phases, the user's lines, and the totals of the
# allocator.
. "$SRC/tests/cli/lib.sh"
[ -n "$PYTHON" ] || skip "no python3 with torch"

cp "$SRC/samples/train.py" .
plain() { "$PYTHON" train.py --batch 1 >plain.out 2>plain.err; }
record() { status 0 "$memrec" --steps 3 -- "$PYTHON" train.py --batch 1 && cp out recorded.out && cp err recorder.err; }
check "train.py alone" plain
check "train.py under memrec" record
check "its output is the same" cmp plain.out recorded.out
check "the trace has the default name" test -s trace.zst
"$memana" top --json trace.zst >top.json
"$memana" top trace.zst >top.txt

check "exactly three steps" json top.json 'd["traces"][0]["steps"] == 3'
check "nothing is lost" json top.json 'd["traces"][0]["lost"] == 0 and d["traces"][0]["complete"]'
check "the device is the CPU" json top.json '[v["kind"] for v in d["devices"]] == ["cpu"]'
check "forward, backward and optimizer have a peak" json top.json \
	'all(p["bytes"] > 0 for p in d["devices"][0]["phase_peaks"]) and {"forward", "backward", "optimizer"} <= {p["phase"] for p in d["devices"][0]["phase_peaks"]}'
for by in phase category owner; do
	check "by_$by adds up to the peak" json top.json \
		"sum(p['bytes'] for p in d['devices'][0]['by_$by']) == d['devices'][0]['peak']['bytes']"
done
check "the user's file and line are in the sites" json top.json \
	'sum(any(f["file"].endswith("train.py") and f["line"] > 0 for f in s["stack"]) for s in d["devices"][0]["sites"]) >= 0.9 * len(d["devices"][0]["sites"])'
# The line of a frame is right: the statement that makes the optimizer's state is "optimizer.step()".
line=$(grep -n 'optimizer\.step()' train.py | cut -d: -f1)
check "optimizer state comes from the line of optimizer.step()" json top.json \
	"any(f['file'].endswith('train.py') and f['line'] == $line for s in d['devices'][0]['sites'] if s['phase'] == 'optimizer' for f in s['stack'])"
agrees() { # TRACE: the allocator's total was compared at every event that has one, and never differed
	"$memana" verify --json "$1" >verified.json && "$memana" info --json "$1" >info.json || return 1
	json info.json '[t["events_by_kind"]["tensor-alloc"] + t["events_by_kind"]["tensor-free"] for t in d["traces"]]' >wanted
	json verified.json '[t["compared"] for t in d["traces"]]' >compared
	cmp wanted compared && json verified.json 'all(t["differing"] == 0 for t in d["traces"])'
}
check "live bytes equal the allocator's totals at every event" agrees trace.zst

# The whole run, and the one step there is when the script ends right after the optimizer.
whole() {
	"$memrec" -o whole.zst -- "$PYTHON" train.py --batch 1 --steps 2 >/dev/null 2>&1 && "$memana" top --json whole.zst >whole.json &&
		json whole.json 'd["traces"][0]["steps"] == 2' && agrees whole.zst
}
check "a run of two steps has two steps" whole

# Threads report after the allocator's lock, in any order: verify tells that from bytes that are missing.
cat >threads.py <<'EOF'
import threading, torch

def work():
    for _ in range(2000):
        torch.empty(100)

threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
EOF
threads() { "$memrec" -o threads.zst -- "$PYTHON" threads.py 2>/dev/null && agrees threads.zst; }
check "and in a program with threads" threads

# The frames asked for are the frames recorded. PyTorch's own are in the runs above: these four start without PyTorch.
cat >frames.py <<'EOF'
import sys
sys.path.insert(0, sys.argv[1])
import agent_hooks as hooks


def deeper(level):
    if level:
        deeper(level - 1)
    else:
        hooks.alloc(0x9000000, device=hooks.CPU)


deeper(8)
EOF
kinds_of() { # OPTION...: which kinds of frames the places of a short run have
	"$memrec" "$@" --cpu -o asked.zst -- python3 frames.py "$SRC/tests/cli" >/dev/null 2>&1 && "$memana" top --json asked.zst >asked.json &&
		python3 - asked.json <<-'EOF'
			import json, sys
			frames = [f for d in json.load(open(sys.argv[1]))["devices"] for s in d["sites"] for f in s["stack"]]
			deepest = max(len(s["stack"]) for d in json.load(open(sys.argv[1]))["devices"] for s in d["sites"])
			kinds = {"python" if f["file"].endswith(".py") else "native" for f in frames}
			print(" ".join(sorted(kinds)) or "none", deepest)
		EOF
}
expect() { # PATTERN OPTION...
	local pattern=$1 got
	shift
	got=$(kinds_of "$@")
	[[ $got =~ ^$pattern$ ]] || { echo "got '$got'"; return 1; }
}
check "--stacks none records no frames" expect "none 0" --stacks none
check "--stacks python records Python frames only" expect "python [0-9]+" --stacks python
check "--stacks python,native records both" expect "native python [0-9]+" --stacks python,native
check "--depth 4 keeps four frames, and a mark where some are left out" expect "native python 5" --depth 4 --stacks python
