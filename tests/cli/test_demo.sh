# The first command of a new user: rl_step on the stand-in GPU with the real injection, then memana top.
. "$SRC/tests/cli/lib.sh"

export LD_LIBRARY_PATH=$standin STANDIN_MEM=80GiB STANDIN_LEDGER=$PWD/ledger

record() { "$memrec" -o demo.zst -- "$BUILD/samples/rl_step" >program 2>recorder; }
check "rl_step is recorded" record
"$memana" top --json demo.zst >top.json
"$memana" top demo.zst >top.txt
"$memana" info --json demo.zst >info.json

check "nothing is lost" json top.json 'sum(t["lost"] for t in d["traces"]) == 0 and d["traces"][0]["complete"]'
check "one GPU of 80 GiB" json top.json '[(v["kind"], v["total_bytes"]) for v in d["devices"]] == [("cuda", 80 << 30)]'
for by in phase category owner; do
	check "by_$by adds up to the peak" json top.json \
		"sum(p['bytes'] for p in d['devices'][0]['by_$by']) == d['devices'][0]['peak']['bytes']"
done
check "all five phases have a peak" json top.json \
	'{"rollout", "forward", "backward", "optimizer", "weight-update"} <= {p["phase"] for p in d["devices"][0]["phase_peaks"]}'
check "sites have file and line" json top.json \
	'all(any(f["file"].endswith("rl_step.c") and f["line"] > 0 for f in s["stack"]) for s in d["devices"][0]["sites"])'
check "stacks begin with the program, not with the driver" json top.json \
	'all(s["stack"][0]["function"] == "tensor_new" and s["place"].startswith("rl_step.c:") for s in d["devices"][0]["sites"] if s["owner"] == "rl_step")'
# On a full disk it answers all the same: no file is written, not even a temporary one.
diskless() { { (ulimit -f 0; "$memana" top demo.zst; echo "exit status $?") 2>&1; } | cat | grep -qx 'exit status 0'; }
check "top needs no room on the disk" diskless
check "the text names the source" grep -q 'rl_step\.c:[0-9]' top.txt
check "the text names the next command" grep -q 'memana ' top.txt
check "80 columns" awk '{ gsub(/\033\[[0-9;]*m/, "") } length($0) > 80 { print FILENAME ": " $0; bad = 1 } END { exit bad }' top.txt

# Three independent accounts of the same run: the program's own, the driver's, the trace's.
program_peak() { sed -nE 's/.*peak ([0-9]+) bytes.*/\1/p' program; }
check "peak equals the program's own count" json top.json "d['devices'][0]['peak']['bytes'] == $(program_peak)"
check "the ledger of the stand-in agrees" python3 "$SRC/tests/cli/ledger.py" ledger info.json top.json

# Only one door: the driver loads the agent, nothing is preloaded.
one_door() {
	"$memrec" -o door.zst -- env -u LD_PRELOAD -u NVTX_INJECTION64_PATH "$BUILD/samples/rl_step" >/dev/null 2>&1 &&
		"$memana" top --json door.zst >door.json &&
		json door.json "d['devices'][0]['peak']['bytes'] == $(program_peak)"
}
check "CUDA_INJECTION64_PATH alone is enough for the bytes" one_door

steps() {
	"$memrec" --steps 2 -o steps.zst -- "$BUILD/samples/rl_step" >/dev/null 2>&1 && "$memana" top --json steps.zst >steps.json &&
		json steps.json 'd["traces"][0]["steps"] == 2'
}
check "--steps 2 records two steps" steps
later() {
	"$memrec" --skip 1 --steps 1 -o later.zst -- "$BUILD/samples/rl_step" >/dev/null 2>&1 && "$memana" top --json later.zst >later.json &&
		json later.json 'd["traces"][0]["steps"] == 1 and any(p["phase"] == "init" for p in d["devices"][0]["by_phase"])'
}
check "--skip 1 knows what was alive before" later
