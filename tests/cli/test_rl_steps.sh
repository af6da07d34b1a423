# Steps of real processes: an RL framework's role functions with several optimizer steps in each, and an optimizer that
# works in place. The tensors of each iteration have their own size.
. "$SRC/tests/cli/lib.sh"
[ -n "$PYTHON" ] || skip "no python3 with torch"

mkdir -p lib/verl/workers
cat >lib/verl/workers/fsdp_workers.py <<'EOF2'
import torch


class ActorRolloutRefWorker:
    def init_model(self):
        self.model = torch.nn.Linear(64, 64)
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def rollout_mode(self, i):
        torch.empty(10000 + i)

    def generate_sequences(self, i):
        torch.empty(20000 + i)

    def compute_log_prob(self, i):
        torch.empty(30000 + i)
        return self.model(torch.ones(2, 64))

    def update_actor(self, i):
        torch.empty(40000 + i)
        for mini_batch in range(4):
            self.optimizer.zero_grad()
            for micro_batch in range(2):
                self.model(torch.ones(2, 64)).sum().backward()
            self.optimizer.step()
EOF2
cat >rl.py <<'EOF2'
import sys

import torch
from verl.workers.fsdp_workers import ActorRolloutRefWorker

worker = ActorRolloutRefWorker()
worker.init_model()
for i in range(4):
    for call in sys.argv[1:]:
        getattr(worker, call)(i)
        torch.empty(50000)  # moves the batch to the next
EOF2
cat >sgd.py <<'EOF2'
import torch

model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(4):
    torch.empty(40000 + i)
    for micro_batch in range(3):
        model(torch.ones(2, 64)).sum().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
EOF2
colocated="rollout_mode generate_sequences compute_log_prob update_actor"
export PYTHONPATH=$PWD/lib

# recorded STEPS WHAT ARG...: memrec ARG... records STEPS steps, and the tensors WHAT, each as floats:step
recorded() {
	local steps=$1 what=$2 got
	shift 2
	"$memrec" -o t.zst "$@" >/dev/null 2>&1 && "$memana" info --json t.zst >info.json || return 1
	json info.json "d['traces'][0]['steps'] == $steps" || return 1
	got=$("$memana" sql t.zst "SELECT printf('%d:%d', bytes / 4, step) FROM allocation
		WHERE bytes / 40000 IN (1, 2, 3, 4) AND bytes / 4 % 10000 < 10 ORDER BY bytes / 4 % 10, bytes" | tr '\n' ' ')
	[ "$got" = "$what " ] || { echo "$got"; return 1; }
}
# A step ends where the weight update after the training is over, which begins the next iteration here.
check "a colocated worker: two steps" recorded 2 \
	"10000:1 20000:1 30000:1 40000:1 10001:1 20001:2 30001:2 40001:2 10002:2" --steps 2 -- "$PYTHON" rl.py $colocated
check "a colocated worker: the whole run" recorded 4 \
	"10000:1 20000:1 30000:1 40000:1 10001:1 20001:2 30001:2 40001:2 10002:2 20002:3 30002:3 40002:3 10003:3 20003:4 30003:4 40003:4" \
	-- "$PYTHON" rl.py $colocated
check "a trainer that sends no weights: one step is skipped, one recorded" recorded 1 "30001:2 40001:2" \
	--skip 1 --steps 1 -- "$PYTHON" rl.py compute_log_prob update_actor
check "--step-mark takes a pattern of the qualified name" recorded 1 "30000:1 40000:1" \
	--step-mark '*Worker.update_*' --steps 1 -- "$PYTHON" rl.py compute_log_prob update_actor
check "an optimizer that allocates nothing" recorded 2 "40000:1 40001:2" --steps 2 -- "$PYTHON" sgd.py
