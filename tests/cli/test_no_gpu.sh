# A machine without a GPU, or one that seems to have none: CPU tensors are recorded, or the last lines have the reason.
. "$SRC/tests/cli/lib.sh"
as_user=
[ "$(id -u)" = 0 ] || as_user=1
unshare ${as_user:+-r} -m true 2>/dev/null || skip "no GPU: no root here, and user namespaces are switched off"

# A tensor on the CPU, as PyTorch reports one; before it, cuInit where that is asked for.
cat >program.py <<'PY'
import ctypes, os, sys
sys.path.insert(0, sys.argv[1])
import agent_hooks as hooks
for act in sys.argv[2:]:
    if act == "cuInit":
        print("cuInit", ctypes.CDLL("libcuda.so.1").cuInit(0))
    elif act == "tensor" and hooks.library["_ZN3c1022memoryProfilingEnabledEv"]():
        hooks.alloc(0x1000, device=hooks.CPU)
    elif act == "exhaust":
        try:
            while True:
                os.open("/dev/null", os.O_RDONLY)
        except OSError:
            pass
    elif act == "workers":
        for i in range(7):
            os.spawnv(os.P_WAIT, sys.executable, [sys.executable, sys.argv[0], sys.argv[1], "tensor"])
sys.exit(7)
PY

# with_dev KIND COMMAND...: /dev has a few nodes, and nvidiactl: none, dead (nobody answers, as of a node without a
# driver: a socket's ENXIO) or alive (it can be opened).
with_dev() {
	unshare ${as_user:+-r} -m bash -c '
		mkdir -p dev && mount -t tmpfs -o mode=755 none dev && : >dev/null && mount --bind /dev/null dev/null &&
			: >dev/urandom && mount --bind /dev/urandom dev/urandom && mkdir -m 1777 dev/shm && mount -t tmpfs none dev/shm || exit 99
		case $1 in
		dead) python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\"dev/nvidiactl\")" ;;
		alive) : >dev/nvidiactl ;;
		esac
		mount --rbind dev /dev && shift && exec "$@"' bash "$@"
}
# run KIND OPTIONS ACT...: the program under memrec; its status and output are its own, what memrec says is in ./err.
run() {
	local kind=$1 options=$2
	shift 2
	rm -f trace.zst
	# shellcheck disable=SC2086
	status 7 with_dev "$kind" env LD_LIBRARY_PATH="${libraries:-}" "$memrec" $options -- python3 program.py "$SRC/tests/cli" "$@"
}
recorded() { run "$@" && grep -q '^memrec: trace.zst: .*[1-9][0-9]* events\?,' err && "$memana" top trace.zst | grep -q CPU; }
not_recorded() { # WHY
	[ ! -e trace.zst ] && grep -qE "^memrec: process [0-9]+ ran PyTorch; its tensors on the CPU were not recorded: $1" err || { cat err; return 1; }
}

check "no GPU: CPU tensors are recorded" recorded none "" tensor
check "no GPU: a device node that nobody answers at is none" recorded dead "" tensor
there_is_one() { run alive "" tensor && not_recorded 'there is a GPU \(--cpu '; }
check "no GPU: there is one: the last lines say why nothing was recorded, and what to do" there_is_one
check "no GPU: there is one, and --cpu" recorded alive --cpu tensor
out_of_descriptors() { run alive "" exhaust tensor && not_recorded 'there is a GPU'; }
check "no GPU: there is one, and nobody can open it just now" out_of_descriptors
hidden() { CUDA_VISIBLE_DEVICES= recorded alive "" tensor; }
check "no GPU: it is hidden from the program" hidden

# The driver is installed, finds no GPU, and has loaded the agent before.
libraries=$standin
refused() { STANDIN_GPUS=0 recorded "$1" "" cuInit tensor && grep -qx 'cuInit 100' out; }
check "no GPU: the driver has started and found none" refused none
check "no GPU: the driver has started, found none, and left a node" refused dead
unasked() { STANDIN_GPUS=0 recorded "$1" --no-cupti cuInit tensor; }
check "no GPU: the driver has started and found none, and CUPTI is not asked" unasked none
started() { run none "" cuInit tensor && not_recorded 'there is a GPU'; }
check "no GPU: the driver has started and found one" started
libraries=

many() {
	run alive "" workers && [ "$(grep -c 'ran PyTorch' err)" = 4 ] && grep -qx 'memrec: and so did 3 more' err
}
check "no GPU: of many processes a few are named" many
nobody() { status 0 with_dev none "$memrec" -- true && one_line err '^memrec: nothing was recorded: .*memrec env says what to set'; }
check "no GPU: nobody took memory" nobody

if [ -n "$PYTHON" ]; then
	torch() { status 0 with_dev "$1" "$memrec" -- "$PYTHON" -c 'import torch; torch.ones(5)'; }
	torch_recorded() { torch dead && grep -q '^memrec: trace.zst: .*[1-9][0-9]* events\?,' err; }
	torch_not_recorded() { rm -f trace.zst; torch alive && not_recorded 'there is a GPU'; }
	check "no GPU: PyTorch, and a dead node" torch_recorded
	check "no GPU: PyTorch, and a GPU" torch_not_recorded
else
	echo "skip no GPU: PyTorch: no python3 with torch"
fi
