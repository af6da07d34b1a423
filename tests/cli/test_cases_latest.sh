# Thirteen more out-of-memory threads (tests/cases), told before memana was asked: what an optimizer makes before any step, layers whose
# weights stay gathered, what is in nobody's tensors, and the host.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

# ---- before any step ----

begin llamafactory-5977
says "what the optimizer made in init is to be offloaded" '7\.5 GiB, 8 x 957\.3 MiB, is kept by _init_group .*optimizer state, 11\.2 GiB: shard or offload the optimizer state\.' oom
never "nobody has loaded it" 'map_location|state dict' oom
says "and in advise" '^Try zero_optimization\.offload_optimizer\.device of deepspeed = cpu' advise
never "no load in advise" 'Before any setting|map_location' advise

begin trl-3228
says "an optimizer of a model that is not trained" '28\.4 GiB asked for by _setup_for_real_optimizer .*TRL prepares a model here that it does not train .*leave the optimizer out of that configuration' oom
never "master weights and gradients are in float32 anyway" 'elements of twice the bytes|fewer tokens|[Ee]xpandable' oom
says "what it makes are gradients, and no weights" ' gradients 28\.4 GiB 49% ' oom
says "and in advise" '^Before any setting: TRL prepares a model here that it does not train' advise
advises "what DeepSpeed makes of 16 bits was loaded in no more" "not any(k['key'] == 'from_pretrained(dtype)' for k in d['knobs'])"
# The same below another library: it is a model that trains, and there is no word of leaving its optimizer out.
without "of no TRL" 's,prepare_deepspeed trl/models/utils.py,prepare open/train.py,' trained
never "no word of TRL" 'TRL' oom
never "nor of another type for its optimizer" 'elements of twice the bytes|do not convert' oom

begin areal-1438
says "what the first step makes" 'The request is for optimizer state, with 10\.5 GiB of it in use: shard or offload .*The optimizer makes it in its first step' oom
row optimizer_dtype "r['now'] == 'float32' and r['proposed'] == 'bf16' and r['fits']" "the type of the parameters is a row"

# ---- gathered, and kept ----

begin deepspeed-7116
says "layers that stay gathered, before pieces" '35\.1 GiB, 22 x 1\.6 GiB, is kept by all_gather_coalesced .*the weights of so many layers are gathered at once, .*take another version' oom
never "not pieces first" 'memana frag' oom
says "and in advise" '^Before any setting: the weights of so many layers are gathered at once' advise
# Two layers are as many as are computed with: what lies in pieces is the reason then, if anything is.
without "few layers" 's/^for layer 1\.\.21$/for layer 1..2/; s/whole22/whole3/; s/^driver channels 1.5GiB/driver channels 32GiB/' few
never "no word of many layers" 'so many layers' oom

begin miles-3147
says "what the one who wakes up keeps himself, of what he sent" '42\.6 GiB, 46 x 947\.5 MiB, is kept by _send_bucket .*what was made to be sent to the engine is still there: .*torch\.cuda\.ipc_collect\(\)' oom
says "and in advise" '^Before any setting: what was made to be sent to the engine is still there' advise
advises "a pool of the engine that slept is proof that it can" "not any(r['key'] == 'enable_memory_saver' for r in d['knobs'])"
# If the engine's pools are never seen to go, the trainer's sleep says nothing of them.
without "awake" '/^\(sleep\|wake\) \(kv-cache\|engine-weights\)$/d; s/ 148GB/ 100GB/; s/ 80GB/ 46GB/; s/ 4GiB/ 1GiB/; s/graphs 3GiB/graphs 5GiB/' awake
row enable_memory_saver "r['saved_bytes']['high'] > 80 << 30" "what no engine was seen to do"

begin verl-1517
says "the whole model on each GPU while it is loaded" '91\.1 GiB, 351 x 265\.7 MiB, is kept by _broadcast_tensors .*rank 0 sends whole tensors, and each rank has all that it was sent until they are cut into its shards' oom
says "and in advise" '^Before any setting: rank 0 sends whole tensors' advise

begin axolotl-3610
says "what every step leaves" '33\.8 GiB of the .* is kept by forward \(modeling_gemma4\.py:1010\), 480\.0 MiB more with every step: no knob fixes this' oom
says "and in advise" '^No setting fixes this: drop the reference that keeps what forward' advise

# ---- not PyTorch's ----

begin pytorch-153302
says "a communicator for each layer" '46\.0 GiB, 46 x 1\.0 GiB, is kept by all_gather_into_tensor .*nccl, 46\.0 GiB: each communicator has buffers of its own, and fully_shard makes a smaller group for each module.* let all modules share one' oom
says "and in advise, before what would be computed again" '^Before any setting: each communicator has buffers of its own.* let all modules share one' advise
says "and what is sharded in the smaller groups is FSDP's" 'fsdp gather buffers +18\.8 GiB' oom

begin nemo-rl-3476
says "what PyTorch's cache keeps from NCCL" 'It was NCCL that asked the driver, and PyTorch.s allocator beside it keeps 139\.8 GiB in empty segments' oom
says "and in advise" '^No setting is needed: call torch\.cuda\.empty_cache\(\) before NCCL asks' advise

# ---- the host ----

begin openrlhf-1013
says "who grew, and where" 'hardly a GPU out-of-memory.*from_pretrained .*its RSS from 3\.7 GiB up to 28\.9 GiB.*in sleep \(cumem\.py:189\), in rollout, its RSS from 9\.3 GiB up to 23\.5 GiB' oom
never "nothing of the GPU" '[Ee]xpandable|gpu_memory_utilization|micro' advise
says "the other place where it grew, and the setting of that" '^The host is short of memory.* Also, in sleep \(cumem\.py:189\), where another had grown from 9\.3 GiB to 23\.5 GiB: let the engine throw its weights away when it sleeps \(level 2\).*\(--vllm\.enable_sleep left out\)' advise

begin torchtune-1092
says "who grew, and where" 'hardly a GPU out-of-memory.*_optim_state_dict \(_optim_utils\.py:1920\), its RSS from 22\.4 GiB up to 430\.3 GiB' oom
says "a state dict of shards" '^The host is short of memory, not the GPU: let the state dict be of shards, each rank its own' advise
never "one rank has it, and not every one" 'every rank of the node|the ranks grew alike' advise
case=torchtune-1092
without "each has as much" 's/host 72GB 985GB/host 462GB 985GB/' alike
says "that each has a whole one, probably" 'rank 0 alone make it: the ranks grew alike, so probably each has a whole one' advise
case=torchtune-1092
without "one rank loads" 's/_optim_state_dict torch/load_weights torch/' loads
says "one alone loads" 'not the GPU: let each rank do its own part: one alone grew so' advise
never "not every one" 'every rank that loads|load once a node' advise

# ---- what it does not know: which weights are frozen, and which logits nobody reads ----

begin accelerate-3844
says "who has most, at least" '9\.3 GiB asked for by ForCausalLMLoss .*Of all that is in use, weights has most, 34\.2 GiB' oom
begin unsloth-8576
says "what the copies are of, first" '^Before any setting: all that the model returns is copied from another GPU to this one: let it return less, .*\(logits_to_keep\)' advise
says "layers are computed again already" 'checkpoint\(function\): already on: unsloth_zoo/gradient_checkpointing\.py' advise
says "the size of the request, at least" '1002\.0 MiB asked for .*11\.1 GiB in 25 pieces is kept by _quantize' oom
