# The statements of docs/guest.md about the process and the trace that a program can check itself.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/memrec.sh"

# All that a guest could have changed in the process, said at the end of it; the rights of the ring go to ./rights.
cat >look.py <<'END'
import glob, locale, os, re, resource, signal, sys
sys.path.insert(0, sys.argv[1])
from gpu_driver import Driver
driver = Driver()
blocks = [driver.take((i + 1) << 12) for i in range(200)]
for block in blocks[::2]:
    driver.free(block)
status = dict(re.findall(r"(\w+):\s+(.*)", open("/proc/self/status").read()))
print("threads", len(os.listdir("/proc/self/task")))
print("descriptors", sorted(int(fd) for fd in os.listdir("/proc/self/fd")))
print({name: status[name] for name in ("Umask", "SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt", "CapEff", "NoNewPrivs", "Seccomp")})
print([(number, signal.getsignal(number)) for number in range(1, 32)], signal.getitimer(signal.ITIMER_REAL))
print(os.getcwd(), os.nice(0), os.getpriority(os.PRIO_PROCESS, 0), locale.setlocale(locale.LC_ALL), os.sched_getaffinity(0))
print([(name, resource.getrlimit(getattr(resource, name))) for name in dir(resource) if name.startswith("RLIMIT_")])
print(sorted(name for name in os.environ if name not in ("LD_PRELOAD", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "MEMREC_OPTIONS")))
try:
    print("a child", os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("no child")
with open("rights", "w") as file:
    for path in glob.glob("rings/memrec.*") + glob.glob("rings/*/*.ring"):
        print(oct(os.stat(path).st_mode & 0o7777), file=file)
END
look() { STANDIN_STATE=$PWD/gpu A_SECRET=hidden-in-the-environment "$@" python3 look.py "$SRC/tests/cli"; }
as_without() {
	mkdir -p gpu rings && export LD_LIBRARY_PATH=$standin
	look env >plain && (umask 027 && look "$memrec" --ring-dir rings -o t.zst -- env -u none sh -c 'umask 022; exec "$@"' -) >with 2>err && diff plain with
}
check "guest: a program sees nothing of it in its process" as_without
check "guest: the ring is the user's alone" bash -c '[ "$(sort -u rights | tr "\n" " ")" = "0o600 0o700 " ]'
rights() { "$memana" verify t.zst && [ "$(stat -c %a t.zst)" = "$1" ]; }
check "guest: the trace has the rights that the program's umask leaves" rights 644

# The content of a trace, unpacked: every text in it is in one of the tables.
texts() {
	"$memana" load t.zst -o t.db && sqlite3 t.db .dump >dump && grep -q look.py dump && zstd -dcf t.zst 2>/dev/null >raw
	cat t.zst t.db >>raw
	! grep -aq "$1" raw && ! grep -q "$1" dump
}
check "guest: no environment variable is in the trace" texts hidden-in-the-environment
check "guest: no line of the program's source is in it" texts ShdPnd
check "guest: the command line is, as the page says" bash -c '"$0" info t.zst | grep -q look.py' "$memana"
