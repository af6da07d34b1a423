# memana export --to torch: PyTorch's own snapshots come back unchanged, and recordings keep their peaks and
# categories.
. "$SRC/tests/cli/lib.sh"
tool=$SRC/tests/cli/export_torch.py
holds() { python3 "$tool" "$@" >tool.out 2>&1 || { tail -n 3 tool.out; return 1; }; }

lives() { # SNAPSHOT: what lived when
	rm -f lives.db
	"$memana" load "$1" -o lives.db >/dev/null && "$memana" sql lives.db "SELECT memory, address, bytes, alloc_time, free_time, phase, step, category
		FROM allocation ORDER BY alloc_time, free_time, memory, address"
}
again() { # SNAPSHOT: exported; the same events and blocks, and the same answers
	status 0 "$memana" export --to torch "$1" -o again.pickle && holds same "$1" again.pickle || return 1
	"$memana" top --json "$1" | sed "s|$1|X|; /\"command\"/d; /\"events\"/d" >one.json
	"$memana" top --json again.pickle | sed "s|again.pickle|X|; /\"command\"/d; /\"events\"/d" >other.json
	cmp one.json other.json && cmp <(lives "$1") <(lives again.pickle)
}
made() {
	local name
	for name in history expandable growing windows pinned pinned_lists; do
		python3 "$SRC/tests/cli/import_make.py" $name.pickle $name >/dev/null && again $name.pickle || { echo $name; return 1; }
	done
}
check "snapshots come back: events, frames, blocks, ranges, and the answers of top" made
hostile() {
	python3 "$SRC/tests/cli/import_make.py" hostile.pickle hostile && status 0 "$memana" export --to torch hostile.pickle -o h.pickle &&
		python3 -c 'import pickle; pickle.load(open("h.pickle", "rb"))' && "$memana" top --json h.pickle >h.json && "$memana" top --json hostile.pickle >hostile.json &&
		json h.json 'd["devices"][0]["peak"]["bytes"] == json.load(open("hostile.json"))["devices"][0]["peak"]["bytes"]'
}
check "hostile names" hostile

# Real snapshots, where they are (they are no part of the tree).
for file in "$SRC"/../shared/data/snapshots/*.pickle; do
	[ -e "$file" ] || { echo "skip real snapshots of PyTorch: $SRC/../shared/data/snapshots is not there"; break; }
	cp "$file" real.pickle
	check "real: $(basename "$file" .pickle)" again real.pickle
done

recorded() { # FILE
	"$memana" top --json "$1" >top.json && status 0 "$memana" export --to torch "$1" -o run.pickle && holds top run.pickle top.json
}
STANDIN_MEM=80GiB LD_LIBRARY_PATH=$standin "$memrec" -o demo.zst -- "$BUILD/samples/rl_step" --quiet >/dev/null 2>&1
check "a program without PyTorch: its peak by category" recorded demo.zst
real() {
	local file
	for file in "$SRC"/samples/*.zst "$SRC"/samples/gpu/*.zst; do
		recorded "$file" || { echo "$file"; return 1; }
	done
}
check "recordings of PyTorch on GPUs and on the CPU: peaks by category" real

# PyTorch's allocator and its history, both as a double (tests/allocator): one entry for a call that maps several pieces.
doubled() {
	STANDIN_CONTEXT=0 LD_LIBRARY_PATH=$standin "$memrec" -o double.zst -- "$PYTHON" "$SRC/tests/allocator/scenario.py" "$1" account >/dev/null 2>err &&
		status 0 "$memana" export --to torch double.zst -o double.pickle && holds history account double.pickle
}
if [ -n "$PYTHON" ]; then
	for name in default expandable expandable_oom pools; do check "entries are those of PyTorch's own history: $name" doubled $name; done
else
	echo "skip entries and PyTorch's own history: no python3 with torch"
fi

newest() { # the newest part of a long run, and with --full the whole
	STANDIN_MEM=400GiB LD_LIBRARY_PATH=$standin "$memrec" -o long.zst -- "$BUILD/samples/rl_step" --steps 60 --quiet >/dev/null 2>&1
	status 0 "$memana" export --to torch long.zst -o newest.pickle && grep -q ' left out)$' out && status 0 "$memana" export --to torch --full long.zst -o all.pickle &&
		! grep -q ' left out' out && holds newest newest.pickle all.pickle
}
check "a long run: the newest events that the viewer takes" newest

range() { # entries of the step alone; what was there before is in the segments, and so is what is left
	status 0 "$memana" export --to torch demo.zst --steps 2 -o step.pickle && "$memana" top --json --at step:2 demo.zst >two.json &&
		"$memana" top --json step.pickle >step.json && python3 - <<-'END'
			import json, pickle
			step = pickle.load(open("step.pickle", "rb"))
			held = json.load(open("step.json"))["devices"][0]["peak"]["bytes"]
			want = json.load(open("two.json"))["devices"][0]["peak"]["bytes"]
			assert held == want, (held, want)
			assert {"phase" in e["user_metadata"] and e["user_metadata"].split()[-1] for e in step["device_traces"][0] if e["action"] == "alloc"} == {"2"}
		END
}
check "a range: the events of one step, and the peak of that step" range
confidential() {
	status 0 "$memana" export --to torch demo.zst --confidential -o secret.pickle && ! grep -qaE 'rl_step\.c|/samples/' secret.pickle &&
		grep -qa backward secret.pickle && holds top secret.pickle <("$memana" top --json demo.zst)
}
check "--confidential: no path, no source file; the same numbers" confidential
ranks() {
	local rank
	mkdir ranks
	for rank in 0 1; do
		RANK=$rank WORLD_SIZE=2 STANDIN_MEM=80GiB LD_LIBRARY_PATH=$standin "$memrec" -o 'ranks/trace.rank%r.zst' -- \
			"$BUILD/samples/rl_step" --quiet --scale 0.1 >/dev/null 2>&1
	done
	status 0 "$memana" export --to torch --all ranks -o ranks.pickle && python3 - <<-'END'
		import pickle
		traces = pickle.load(open("ranks.pickle", "rb"))["device_traces"]
		assert len(traces) == 2 and all(len(trace) > 10000 for trace in traces), [len(trace) for trace in traces]
	END
}
check "two ranks on one GPU: a device each" ranks
database() {
	status 0 "$memana" load demo.zst -o run.db && status 2 "$memana" export --to torch run.db -o db.pickle && one_line err 'run.db is a database' && [ ! -e db.pickle ]
}
check "a database has no events for it: one line, no file" database
