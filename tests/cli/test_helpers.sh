# Threads that work for a forward or a backward have its phase: threads of OpenMP in a real parallel region, and of
# PyTorch's inter-op pool. Each allocation below has its own size.
. "$SRC/tests/cli/lib.sh"
[ -n "$PYTHON" ] || skip "no python3 with torch"

# A parallel region: every thread but the first tells PyTorch of one block, as the CPU allocator does.
# `alone` does it from a thread that is no helper.
cat >region.c <<'E'
#include <omp.h>
#include <pthread.h>
#include <stdint.h>
void report(void *, int64_t, int64_t, int64_t, uint16_t) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE");
void report_m(void *, int64_t, uint64_t, uint64_t, uint16_t)
	__asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE") __attribute__((weak));
#pragma weak report
static void block(int64_t size)
{
	void *at = (void *)(uintptr_t)(0x7e0000000000 + size * 65536);
	if (report) report(at, size, 0, 0, 0xff00); else report_m(at, size, 0, 0, 0xff00);
}
void region(long size)
{
#pragma omp parallel num_threads(2)
	if (omp_get_thread_num()) block(size);
}
static void *body(void *size) { block((long)size); return 0; }
void alone(long size) { pthread_t t; pthread_create(&t, 0, body, (void *)size); pthread_join(t, 0); }
E
${CC:-gcc} -O1 -fopenmp -shared -fPIC -Wl,--unresolved-symbols=ignore-all -o region.so region.c 2>err || skip "no OpenMP: $(head -1 err)"

cat >helpers.py <<'E'
import ctypes, torch
native = ctypes.CDLL("./region.so")

class Kernel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        native.region(7001); native.alone(7003)
        return x * 2
    @staticmethod
    def backward(ctx, gradient):
        native.region(9001); native.alone(9003)
        return gradient * 2

@torch.jit.script
def inner(x: torch.Tensor):
    return torch.cat([x, x, x])

@torch.jit.script
def forked(x: torch.Tensor):
    future = torch.jit.fork(inner, x)
    return torch.jit.wait(future).sum()

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1237))
    def forward(self, x):
        return Kernel.apply(self.weight * x).sum() + forked(self.weight.detach())

net = Net()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(3):
    loss = net(torch.ones(1237))
    loss.backward()
    optimizer.step()
    torch.empty(41)  # the main thread does something else now
    native.region(5001)
E
"$memrec" --cpu -o h.zst -- "$PYTHON" helpers.py >log 2>&1
"$memana" load h.zst -o h.db >/dev/null
# The phases of the allocations with these bytes by other threads than the first, each once.
phases() { "$memana" sql h.db "SELECT group_concat(DISTINCT phase) FROM allocation WHERE bytes = $1
	AND thread <> (SELECT thread FROM allocation WHERE bytes = 1237 * 4 LIMIT 1)" | tail -n 1; }
for row in "7001 forward OpenMP in a forward" "9001 backward OpenMP in a backward" "$((3 * 4 * 1237)) forward the inter-op pool in a forward" \
	"7003 other a thread of one's own in a forward" "9003 other a thread of one's own in a backward" "5001 other OpenMP outside of both"; do
	read -r bytes phase title <<<"$row"
	check "$title: $phase" [ "$(phases "$bytes")" = "$phase" ]
done
