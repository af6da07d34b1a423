# memana export --to perfetto, read by Perfetto's own generated module: no unknown field, all numbers known, sums as of memana top.
. "$SRC/tests/cli/lib.sh"
[ -n "${READERS:-}" ] || skip "the readers are not installed (make test-export)"
read_it() { "$READERS" -B "$SRC/tests/export/perfetto_check.py" "$@"; }
export_it() { status 0 "$memana" export --to perfetto "$@"; }

demo=$PWD/demo.zst
STANDIN_MEM=80GiB LD_LIBRARY_PATH=$standin "$memrec" -o demo.zst -- "$BUILD/samples/rl_step" --quiet >/dev/null 2>&1
"$memana" top --json demo.zst >top.json
for step in 1 2 3; do "$memana" top --json --at "step:$step" demo.zst >"step$step.json"; done

demo() { export_it demo.zst && read_it demo.perfetto-trace top.json step?.json; }
check "a run: held by phase at the peak, and a heap dump at the peak of each step, to the byte" demo

database() {
	status 0 "$memana" load demo.zst -o run.db && export_it run.db -o db.trace && read_it db.trace top.json step?.json
}
check "a database: the same" database

long() { # more events than are written one by one
	STANDIN_MEM=80GiB LD_LIBRARY_PATH=$standin "$memrec" -o long.zst -- "$BUILD/samples/rl_step" --quiet --steps 40 >/dev/null 2>&1
	"$memana" top --json long.zst >long.json
	json long.json 'd["traces"][0]["events"] > 150000' && export_it long.zst && read_it long.perfetto-trace long.json &&
		[ "$(stat -c %s long.perfetto-trace)" -lt 8000000 ]
}
check "a long run: fewer points, the same peak" long

ranks() {
	local rank
	mkdir ranks
	for rank in 0 1 2 3 4 5 6 7; do
		RANK=$rank WORLD_SIZE=8 STANDIN_MEM=80GiB LD_LIBRARY_PATH=$standin "$memrec" -o 'ranks/trace.rank%r.zst' -- \
			"$BUILD/samples/rl_step" --quiet --scale 0.1 >/dev/null 2>&1
	done
	"$memana" top --json --all ranks >ranks.json
	export_it --all ranks -o ranks.trace && read_it ranks.trace ranks.json
	"$READERS" -B - ranks.trace <<-'END'
		import sys
		from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
		trace = pb.Trace.FromString(open(sys.argv[1], "rb").read())
		names = [p.track_descriptor.process.process_name for p in trace.packet if p.track_descriptor.process.pid]
		assert sorted(name.split()[1] for name in names) == [str(rank) for rank in range(8)], names
	END
}
check "8 ranks: one file, a process each" ranks

snapshots() { # one with holes, one with ranges of memory and a failed request, one of two devices
	local name
	for name in history expandable growing windows; do
		python3 "$SRC/tests/cli/import_make.py" $name.pickle $name >/dev/null && "$memana" top --json $name.pickle >$name.json &&
			export_it $name.pickle && read_it $name.perfetto-trace $name.json || { echo $name; return 1; }
	done
}
check "snapshots of PyTorch" snapshots

real() {
	local file
	for file in "$SRC"/samples/*.zst "$SRC"/samples/gpu/*.zst; do
		"$memana" top --json "$file" >real.json && export_it "$file" -o real.trace && read_it real.trace real.json ||
			{ echo "$file"; return 1; }
	done
}
check "recordings of PyTorch on GPUs, one of which ended out of memory" real

range() { # the step alone
	export_it demo.zst -o part.trace --steps 2 && "$READERS" -B - part.trace <<-'END'
		import sys
		from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
		trace = pb.Trace.FromString(open(sys.argv[1], "rb").read())
		names = [p.track_event.name for p in trace.packet if p.track_event.name]
		assert names == ["step 2"], names
		(dump,) = [p.profile_packet for p in trace.packet if p.HasField("profile_packet")]
		times = [p.timestamp for p in trace.packet if p.HasField("track_event")]
		(first,) = [p.timestamp for p in trace.packet if p.track_event.name == "step 2"]
		assert min(times) == first, (min(times), first)
	END
}
check "a range: one step, its counters and its heap dump" range

confidential() {
	export_it demo.zst -o secret.trace --confidential && ! grep -qaE 'rl_step\.c|/samples/|--quiet' secret.trace &&
		grep -qa backward secret.trace && read_it secret.trace top.json
}
check "--confidential: no path, no source file, no command line; the same numbers" confidential

hostile() { # names with quotes, ends of lines, half a tag, and bytes that are no UTF-8
	python3 "$SRC/tests/cli/import_make.py" hostile.pickle hostile && "$memana" top --json hostile.pickle >hostile.json &&
		export_it hostile.pickle && read_it hostile.perfetto-trace hostile.json
}
check "hostile names" hostile

nothing() { # a run in which nothing was allocated
	status 0 "$memrec" -q -o empty.zst -- true
	[ ! -e empty.zst ] || status 3 "$memana" export --to perfetto empty.zst && [ ! -e empty.perfetto-trace ]
}
check "nothing was recorded: no file" nothing

elsewhere() {
	status 0 env TMPDIR=/dev/null "$memana" export --to perfetto demo.zst -o elsewhere.trace && cmp elsewhere.trace demo.perfetto-trace
}
check "TMPDIR is no folder: the temporary file is elsewhere" elsewhere

full() { (ulimit -f 100 && status 4 "$memana" export --to perfetto demo.zst -o full.trace) && one_line err 'File too large' && [ ! -e full.trace ]; }
check "no room for the temporary file: one line, no file" full
