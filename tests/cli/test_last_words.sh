# memrec's last lines about a run that memory ended: memana's verdict, printed as memrec's own lines.
. "$SRC/tests/cli/lib.sh"

cat >full.py <<'END'
import ctypes, os, signal, sys
sys.path.insert(0, sys.argv[1])
from gpu_driver import Driver
driver = Driver()
def take_buffers(count):
    for _ in range(count):
        driver.take(9 << 30)
take_buffers(8)
if sys.argv[2] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[2] == "full":
    assert driver.cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(9 << 30)) == 2
sys.exit(5)
END

# runs MEMREC HOW: the program under it
runs() { LD_LIBRARY_PATH=$standin STANDIN_MEM=80GiB "$1" -o t.zst -- python3 full.py "$SRC/tests/cli" "$2" >out 2>err; }
words() { sed -n 's/^memrec: //p' err | tr '\n' ' '; }

after_an_error() {
	runs "$memrec" full
	[ $? = 5 ] && ! grep -v '^memrec: ' err && [ "$(tail -n 1 err)" = "memrec: next: $memana oom t.zst" ] &&
		words | grep -q 'Out of memory on GPU 0, init: 9.0 GiB requested, .* short\. .*1\. Driver.take (gpu_driver.py:[0-9]*) holds 72.0 GiB .*Do: '
}
check "after an out-of-memory error: the request, the first cause and its action, and memana oom next" after_an_error
as_memana() {
	"$memana" top --brief t.zst >first && "$memana" oom --brief t.zst >brief &&
		[ "$(sed -n '/^memrec: t.zst: /q; s/^memrec: //p' err)" = "$(cat first brief | grep .)" ]
}
check "it is what memana top --brief and oom --brief say" as_memana
first_words() {
	"$memana" advise --brief t.zst >brief && "$memana" advise t.zst >all && head -n "$(wc -l <brief)" all | cmp - brief &&
		[ "$(wc -l <all)" -gt "$(wc -l <brief)" ] && "$memana" oom --brief t.zst >brief && "$memana" oom t.zst >all && head -n "$(wc -l <brief)" all | cmp - brief
}
check "--brief is how the whole answer begins" first_words

after_a_kill() {
	runs "$memrec" killed
	[ $? = 137 ] && [ "$(tail -n 1 err)" = "memrec: next: $memana oom t.zst" ] &&
		words | grep -q 'No request for GPU memory failed in this recording, .* 72.0 GiB of 80.0 GiB'
}
check "killed: how near memory came to be the cause" after_a_kill
after_all_else() {
	runs "$memrec" exit
	[ $? = 5 ] && [ "$(tail -n 1 err)" = "memrec: next: $memana top t.zst" ] && words | grep -q '^Peak 72.0 GiB held .* t.zst: peak 72.0 GiB, no steps, no OOM, [0-9]* events'
}
check "else the peak comes first, and the summary after it" after_all_else

# A leak: the line that grows is in memrec's own last words, with an error and without.
cat >leaks.py <<'END'
import ctypes, sys
sys.path.insert(0, sys.argv[1])
from gpu_driver import Driver
driver = Driver()
program = ctypes.CDLL(None)
def remember():
    driver.take(2 << 30)
for step in range(5):
    remember()
    program.memrec_agent_step()
if sys.argv[2] == "full":
    assert driver.cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(90 << 30)) == 2
END
leaks() { # HOW
	LD_LIBRARY_PATH=$standin STANDIN_MEM=80GiB "$memrec" -o leak.zst -- python3 leaks.py "$SRC/tests/cli" "$1" >out 2>err
	"$memana" steps --json leak.zst >leak.json &&
		json leak.json '[(p["place"], p["bytes"] >> 30) for p in d["growth"]["places"]] == [("gpu_driver.py:15", 10)]' && words | grep -q "^Peak .*gpu_driver.py:15.* leak.zst: peak" || { cat err; return 1; }
}
check "a leak without an error: the growing line" leaks exit
check "a leak with one: the same line" leaks full

# ---- another memana, or none ----

mkdir alone
cp "$BUILD"/memrec "$BUILD"/libmemrec.so alone
without() {
	runs alone/memrec full
	[ $? = 5 ] && ! grep -q Out.of err && [ "$(tail -n 1 err)" = "memrec: next: alone/memana oom t.zst" ]
}
check "no memana beside memrec: no word of it" without
cat >alone/memana <<'END'
#!/bin/sh
echo "$@"
env | grep -E '^(MEMREC|LD_PRELOAD|CUDA_INJ|NVTX_INJ)'
printf 'an escape: \033[31m'
echo this is an error >&2
exit 3
END
chmod +x alone/memana
not_recorded() {
	runs alone/memrec full
	[ $? = 5 ] && grep -q '^memrec: oom --brief -- t.zst$' err && grep -q '^memrec: an escape: ?\[31m$' err && ! grep -qE 'PRELOAD|INJ|MEMREC_|this is' err
}
check "memana is not recorded itself, and its errors are not memrec's" not_recorded
cat >alone/memana <<'END'
#!/bin/sh
trap '' ALRM
touch asked
exec sleep 1000
END
interrupted() {
	local pid tries=0 got=0
	LD_LIBRARY_PATH=$standin STANDIN_MEM=80GiB python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL) # which the shell has others ignore
os.setsid()
os.execv(sys.argv[1], sys.argv[1:])' alone/memrec -o t.zst -- python3 full.py "$SRC/tests/cli" full >out 2>err &
	pid=$!
	until [ -e asked ] || [ $((tries++)) = 600 ]; do sleep 0.1; done
	kill -INT -- -$pid
	wait $pid || got=$?
	[ "$got" = 5 ] && [ "$(tail -n 1 err)" = "memrec: next: alone/memana oom t.zst" ]
}
check "who does not want to wait for it presses Ctrl-C" interrupted
