# Backward passes of real PyTorch: recomputation, custom functions, hooks, threads, exceptions. Each tensor below has
# its own size, so that its allocation can be found in the recording.
. "$SRC/tests/cli/lib.sh"
[ -n "$PYTHON" ] || skip "no python3 with torch"

cat >backward.py <<'EOF2'
import threading

import torch
from torch.utils.checkpoint import checkpoint


class Middle(torch.nn.Module):
    """Two tensors of `width` and one of twice that; the weight has `width`."""
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        doubled = torch.cat([x * self.weight, x]).sin()
        return doubled[:self.weight.numel()].cos()


class Allocates(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        torch.empty(3001)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        torch.empty(3011)
        return gradient * 2


class Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        raise ValueError("in backward")


def recompute(width, reentrant):
    middle = Middle(width)
    checkpoint(middle, torch.ones(width, requires_grad=True), use_reentrant=reentrant).sum().backward()


def nested():
    outer, inner = Middle(1201), Middle(1201)
    step = lambda x: checkpoint(inner, outer(x), use_reentrant=True)
    checkpoint(step, torch.ones(1201, requires_grad=True), use_reentrant=True).sum().backward()


def custom():
    Allocates.apply(torch.ones(7, requires_grad=True)).sum().backward()


def hooked():
    x = torch.ones(7, requires_grad=True)
    y = x * 2
    y.register_hook(lambda gradient: torch.empty(3023) is None)
    try:
        y.sum().backward()
    except TypeError:
        pass


def in_a_thread():
    middle = Middle(1301)
    loss = middle(torch.ones(1301)).sum()
    thread = threading.Thread(target=loss.backward)
    thread.start()
    thread.join()


def failing():
    try:
        Fails.apply(torch.ones(7, requires_grad=True)).sum().backward()
    except ValueError:
        pass
    torch.empty(3037)


if __name__ == "__main__":
    torch.nn.Linear(2, 2)(torch.ones(2))  # so that nothing below is taken for the start-up
    recompute(1009, True)
    recompute(1103, False)
    nested()
    custom()
    hooked()
    in_a_thread()
    failing()
EOF2
record() { status 0 "$memrec" -o trace.zst -- "$PYTHON" backward.py && "$memana" load trace.zst -o trace.db >/dev/null; }
check "record and load" record

query() { "$memana" sql trace.db "$1"; }
# born COUNT FLOATS PHASE CATEGORY: COUNT tensors of FLOATS floats were born there; COUNT may be "some". Memory that
# lives for a moment inside backward is workspace; one line of Python makes gradients and such: "gradient-like" is
# either.
born() {
	local got category=$4
	[ "$category" != gradient-like ] || category="gradients','workspace"
	got=$(query "SELECT count(*) FROM allocation WHERE bytes = 4 * $2 AND phase = '$3' AND category IN ('$category')")
	[ "$got" = "$1" ] || { [ "$1" = some ] && [ "$got" -gt 0 ]; } || { echo "born $2 $3 $4: $got, not $1"; return 1; }
}
only() { # FLOATS: every tensor of that size is an activation, one made again, or gradient-like
	local got
	got=$(query "SELECT DISTINCT CASE category WHEN 'workspace' THEN 'gradients' ELSE category END FROM allocation
		WHERE bytes = 4 * $1 ORDER BY 1" | tr '\n' ' ')
	[ "$got" = "activations gradients recomputed activations " ] || { echo "$1: $got"; return 1; }
}
for width in 1009 1103; do
	[ $width = 1009 ] && how="reentrant checkpoint" || how="checkpoint without reentry"
	check "$how: activations of the forward" born 2 $((2 * width)) forward activations
	check "$how: activations made again" born 2 $((2 * width)) backward "recomputed activations"
	check "$how: nothing else of that size but gradients" only $((2 * width))
	check "$how: gradients of the weight" born some $width backward gradient-like
done
check "checkpoint in a checkpoint: made again once and twice" born 6 2402 backward "recomputed activations"
check "custom function: its forward" born 1 3001 forward activations
check "custom function: its backward" born 1 3011 backward gradient-like
check "a hook is part of the backward" born 1 3023 backward gradient-like
check "backward on another thread: gradients" born some 1301 backward gradient-like
on_two_threads() { [ "$(query "SELECT count(DISTINCT thread) FROM allocation WHERE phase = 'backward'")" = 2 ]; }
check "and it is another thread" on_two_threads
check "after an exception the backward is over" born 1 3037 other other
