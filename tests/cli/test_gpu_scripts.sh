# The scripts of tests/gpu, as far as they go without a GPU: what they say of a machine that has none, and that each of
# them can tell right from wrong.
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
	status 0 python3 "$gpu/times.py" launches 3 "no agent=./timed 2000" "agent=./timed 3000" &&
		[ "$(wc -l <turns)" = 6 ] && grep -qF '| launch, not waited for | agent | 3.000 us | 3.000 to 3.000 | +50.0% |' out
}
check "times: a table of medians" in_turns
fails() { status 1 python3 "$gpu/times.py" steps 1 "a=false" && grep -q 'exit status 1' err; }
check "times: a command that fails" fails
