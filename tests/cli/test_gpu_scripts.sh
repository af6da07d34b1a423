# The scripts of tests/gpu without a GPU: their messages about a machine without one, and a wrong result that each of
# them must find.
. "$SRC/tests/cli/lib.sh"
gpu=$SRC/tests/gpu
mkdir bin

# nvidia_smi LINE: a program of that name prints it, first in PATH.
nvidia_smi() {
	printf '#!/bin/sh\necho "%s"\n' "$1" >bin/nvidia-smi
	chmod +x bin/nvidia-smi
}
no_gpu() { nvidia_smi "No devices were found" && status 0 env PATH="$PWD/bin:$PATH" "$gpu/run.sh" no-build && one_line out '^skip no GPU'; }
check "test-gpu: no GPU is one line" no_gpu

# The stand-in passes for a GPU where no CUDA runtime is needed.
on_standin() {
	nvidia_smi "GPU 0, 80 GiB, 1.0"
	status 0 env PATH="$PWD/bin:$PATH" LD_LIBRARY_PATH="$standin" PARTS=driver "$gpu/run.sh" "$BUILD" &&
		grep -q '^ok driver' out && grep -q '^## GPU 0, 80 GiB, driver 1.0$' out && grep -q '^| driver: .* | ok |$' out
}
check "test-gpu: the driver's part, and the form of the results" on_standin
too_little() { # the driver's own count is another one
	mkdir -p wrong/samples && printf '#!/bin/sh\n"%s" | sed "s/peak /peak 1/"\n' "$BUILD/samples/rl_step" >wrong/samples/rl_step
	chmod +x wrong/samples/rl_step
	ln -sf "$BUILD"/{memrec,memana,libmemrec.so,allocator} wrong
	status 1 env PATH="$PWD/bin:$PATH" LD_LIBRARY_PATH="$standin" PARTS=driver "$gpu/run.sh" wrong && grep -qE '^# [0-9]+, not 1[0-9]+$' out
}
check "test-gpu: a wrong peak is found" too_little

# The calls that CUPTI shows by the probe, and the calls in the trace: every call of the driver that there is.
everything="python3 $SRC/tests/cli/driver_everything.py"
probe_part() { # [KEEP=FOLDER...]
	rm -rf state out1 && mkdir state
	env PATH="$PWD/bin:$PATH" LD_LIBRARY_PATH="$standin" STANDIN_GPUS=2 STANDIN_STATE="$PWD/state" PARTS=probe \
		PROBE_CUPTI="$standin/libcupti.so.13" PROBE_PROGRAM="$everything" "$@" "$gpu/run.sh" "$BUILD" out1 >said 2>&1
}
probe_agrees() {
	rm -rf kept && probe_part KEEP=kept && [ "$(grep -c '^ok probe: ' said)" = 3 ] && grep -qE '^# compared: [1-9][0-9]+ calls of 12 kinds' said &&
		grep -q '^# context created on device 1' said || { cat said; return 1; }
}
check "test-gpu: what the probe sees is in the trace" probe_agrees
nothing_kept() { [ -d kept ] && [ -z "$(ls kept)" ]; }
check "test-gpu: nothing is kept of what was fine" nothing_kept
probe_finds() { # one call that the trace does not have is enough
	gunzip -c out1/cases.probe.gz >seen && LD_LIBRARY_PATH=$standin STANDIN_GPUS=2 STANDIN_STATE=$PWD/state \
		"$memrec" -o every.zst -- $everything >/dev/null 2>&1 && "$BUILD/allocator/trace_events" every.zst >every.events || return
	python3 "$gpu/probe.py" seen every.events >said || { cat said; return 1; }
	sed '0,/exit .* cuMemAlloc_v2 result 0 /{/exit .* cuMemAlloc_v2 result 0 /d}' seen >less
	status 1 python3 "$gpu/probe.py" less every.events && grep -q '^taken cuMemAlloc_v2: the probe saw 9 to 9, the trace has 10$' out &&
		: >nothing && status 1 python3 "$gpu/probe.py" nothing every.events
}
check "test-gpu: a call that only one of them has is found" probe_finds

# The evidence of a failed check is kept, in a few archives of limited size; good results are not.
failing() { # the kit has a program that never agrees, and leaves much behind
	mkdir -p bad/samples && printf '#!/bin/sh\nhead -c 3000000 /dev/urandom >much\n"%s" | sed "s/peak /peak 1/"\n' \
		"$BUILD/samples/rl_step" >bad/samples/rl_step && chmod +x bad/samples/rl_step
	ln -sf "$BUILD"/{memrec,memana,libmemrec.so,allocator} bad
	rm -rf kept && status 1 env PATH="$PWD/bin:$PATH" LD_LIBRARY_PATH="$standin" PARTS=driver KEEP=kept KEEP_MB=1 "$@" "$gpu/run.sh" bad
}
kept_all() {
	failing && [ "$(find kept -size -2049 | wc -l)" -ge 3 ] && mkdir -p again && cat kept/driver-*.tgz.? | tar xz -C again &&
		[ "$(stat -c %s again/much)" = 3000000 ] && "$memana" verify again/rl.zst
}
check "test-gpu: what a failed check was about is kept" kept_all
kept_some() { failing KEEP_FILES=2 && [ "$(find kept -type f | wc -l)" = 2 ] && grep -q '^# not kept, there would be more than 2' out; }
check "test-gpu: no more archives than fit the way home" kept_some

# The three commands, as they are called on a machine with a GPU.
session() { # N LIBRARIES: its log is ./said
	rm -rf home && env PATH="$PWD/bin:$PATH" LD_LIBRARY_PATH="$2" OUT="$PWD/home" "$gpu/session.sh" "$1" "$BUILD" >said 2>&1
	[ "$(tail -c 1000 home/log)" = "$(tail -c 1000 said)" ] || { cat said; return 1; }
}
first() { session 1 "$standin" && grep -q '^ok facts: memana starts' said && grep -q '^ok driver' said && grep -q ' 0 failed, ' said; }
check "test-gpu: the first command" first
second() { session 2 "$standin" && grep -q '^skip no PyTorch with CUDA' said && tail -n 1 said | grep -q '^0 passed, 0 failed, '; }
check "test-gpu: the second command" second
third() { session 3 "$standin"; tail -n 1 said | grep -qE '^[0-9]+ passed, [01] failed, [1-9]'; }
check "test-gpu: the third command" third
no_time() { SECONDS_LEFT=1 session 1 "$standin" && grep -q '^skip driver: .*no time left' said; }
check "test-gpu: what does not fit into the time is named" no_time
called_wrongly() { status 2 "$gpu/session.sh" && grep -q '^session.sh 1|2|3' err; }
check "test-gpu: the three commands say what they are" called_wrongly

# Requests put to the double twice, bound and laid out differently, are the same; other segments are not.
if [ -n "$PYTHON" ]; then
	replayed() { # NAME [MODE]
		LD_LIBRARY_PATH=$standin "$memrec" -o "$1.zst" -- "$PYTHON" "$gpu/replay.py" double account ${2:-} 2>err &&
			"$BUILD/allocator/trace_events" "$1.zst" >"$1.events"
	}
	compared() { python3 "$gpu/replay.py" compare "$1.events" "$2.events"; }
	same() { replayed one && STANDIN_MEM=40GiB replayed two && compared one two; }
	other() { replayed expandable expandable && ! compared one expandable; }
	check "replay: the same requests" same
	check "replay: other segments" other
else
	echo "skip replay: no python3 with torch"
fi

# A pool that sleeps: its addresses stay, its bytes go and come.
sleeper() {
	cat >sleeper.py <<-'END'
		import ctypes, sys
		sleeper = ctypes.CDLL(sys.argv[1])
		sleeper.sleeper_alloc.restype = ctypes.c_void_p
		blocks = [ctypes.c_void_p(sleeper.sleeper_alloc(ctypes.c_size_t(size), 0, None)) for size in (5 << 20, 100)]
		assert all(blocks) and sleeper.sleeper_sleep() == 2 and sleeper.sleeper_wake() == 2
		assert sleeper.sleeper_alloc(ctypes.c_size_t(1 << 40), 0, None) is None
		sleeper.sleeper_sleep()
		[sleeper.sleeper_free(block, ctypes.c_size_t(0), 0, None) for block in blocks]
		assert sleeper.sleeper_sleep() == 0
	END
	rm -f ledger
	LD_LIBRARY_PATH=$standin STANDIN_LEDGER=$PWD/ledger python3 sleeper.py "$BUILD/gpu/libsleeper.so" &&
		"$SRC/tests/standin/ledger.sh" ledger >sums && grep -q "^peak 0 $((8 << 20))$" sums && grep -q '^live 0 0$' sums &&
		grep -q '^call cuMemCreate 4$' sums && grep -q '^call cuMemAddressFree 3$' sums
}
check "sleeper: addresses stay, bytes go" sleeper

# The remainder of a GPU beside the ledger: steady, moving, negative; and no sample at all.
cat >samples.py <<'EOF'
import json, sys
sys.path.insert(0, sys.argv[1])
import history

def trace(name, samples):
    """One allocation of 1 GiB, then samples of so many MiB in use."""
    with open(name, "w") as file:
        rows = [dict(kind="driver-alloc", time=1, size=1 << 30)]
        rows += [dict(kind="gpu-sample", time=10**9 * (i + 1), size=mib << 20) for i, mib in enumerate(samples)]
        print(*history.Event._fields, file=file)
        for seq, row in enumerate(rows):
            print(*({"seq": seq, "device": 0, "held": 1 << 30, **row}.get(f, 0) for f in history.Event._fields), file=file)
        print("written", len(rows), file=file)

trace("steady", [1500, 1510, 1512, 1512])
trace("moving", [1500, 1500, 1500, 1700])
trace("negative", [1500, 1000, 1500, 1500])
trace("none", [])
json.dump({"device_used": 1512 << 20}, open("stats", "w"))
json.dump({"device_used": 1700 << 20}, open("moved", "w"))
json.dump({"devices": [{"unexplained_bytes": 0}]}, open("top", "w"))
EOF
python3 samples.py "$gpu"
whole() { status "$1" python3 "$gpu/whole_gpu.py" "$2" "$3" top; }
check "whole GPU: a steady remainder" whole 0 steady stats
check "whole GPU: a remainder that moves" whole 1 moving moved
check "whole GPU: less than the ledger" whole 1 negative stats
check "whole GPU: not what the program read" whole 1 steady moved
check "whole GPU: no sample" whole 1 none stats

# Medians of commands that are run in turns.
in_turns() {
	printf '#!/bin/sh\necho x >>turns\necho submit $1\necho wait $((2 * $1))\n' >timed && chmod +x timed
	status 0 python3 "$gpu/times.py" launches 3 60 "no agent=./timed 2000" "agent=./timed 3000" &&
		[ "$(wc -l <turns)" = 6 ] && grep -qF '| launch, not waited for | agent | 3.000 us | 3.000 to 3.000 | +50.0% |' out &&
		grep -qx '3 of 3 rounds.' out
}
check "times: a table of medians" in_turns
in_time() { # a round takes a second: three begin, and the fourth would end too late
	printf '#!/bin/sh\nsleep 1\necho submit 1\necho wait 1\n' >slow && chmod +x slow
	status 0 timeout 20 python3 "$gpu/times.py" launches 100 3.5 "a=./slow" && grep -qxE '[1-3] of 100 rounds.' out
}
check "times: as many rounds as there is time for" in_time
too_slow() { status 1 timeout 20 python3 "$gpu/times.py" launches 1 1 "a=sleep 100" && grep -q 'not done when the time was over' err; }
check "times: a command that takes too long" too_slow
fails() { status 1 python3 "$gpu/times.py" steps 1 60 "a=false" && grep -q 'exit status 1' err; }
check "times: a command that fails" fails
