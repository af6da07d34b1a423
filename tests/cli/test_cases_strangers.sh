# Ten out-of-memory threads (tests/cases) of training and inference at large, told before memana was asked: what is in the process beside
# PyTorch, who is on the GPU without a tensor, and what is there of before, or twice.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

# ---- who has it ----

begin ace-1396
says "who has a context and nothing else" '24 other recorded processes \(pid 4201 and more\) have 12\.2 GiB of the GPU, and have allocated nothing there: a CUDA context each\. .*workers of data loaders' oom
never "nobody is left from an earlier run" 'earlier run|recompute|shard' oom
says "and in advise" '^Before any setting: keep the processes that compute nothing there off this GPU' advise

begin pix2text-203
says "the library, and that it is not PyTorch's" "9\.9 GiB in 10 pieces, 98% of what is in use, is ONNX Runtime's, which takes it from the driver itself, and no setting of PyTorch moves it: .*gpu_mem_limit" oom
never "no NCCL, and a purpose" 'NCCL|no known purpose|empty_cache|drop|[Ee]xpandable|shard' oom --brief
says "and in advise" '^Before any setting: limit the arena of ONNX Runtime' advise

begin finetuner-328
says "whoever asked" "400\.0 MiB asked for by mine .*14\.2 GiB in 1 piece, 98% of what is in use, is TensorFlow's, .*set_memory_growth" oom
never "nothing of the model helps" 'recompute|no known purpose|micro-batch|other process' oom --brief

# ---- from before, or twice ----

begin transformers-8403
says "copies of weights" '5\.9 GiB in 1,149 pieces of what is in use was made by linear .*half the size of weights, .*cache_enabled=False|cache_enabled=False.*half the size of weights' oom
never "no cache, and no batch" 'KV cache|kv cache|generate fewer|smaller batches|recompute|shard' oom
says "and in advise" '^Before any setting: enter autocast for each forward' advise

begin diffusers-11225
says "the same models again" '17\.4 GiB in 79 pieces of weights was made by convert .*called from log_validation \(train_controlnet_sd3.py:84\) by now, in the middle of the run: use the models that are there already' oom
never "nothing to shard" 'shard|recompute|[Ee]xpandable|fewer tokens' oom
says "and how much comes back" '^Before any setting: use the models that are there already.* Up to 17\.4 GiB can come back so' advise

begin lightning-5735
says "outputs of the validation before" '4\.7 GiB in 120 pieces of what is in use was made by forward .*called from validation_step \(train.py:55\), in forwards before this one: drop what collects the outputs' oom
never "not the training's own" 'recompute|fewer tokens|micro-batch|shard' oom
says "and in advise" '^Before any setting: drop what collects the outputs of earlier forwards .*Up to 4\.7 GiB can come back so' advise

begin bitsandbytes-324
says "copies for the file" '26\.1 GiB in 368 pieces is kept by undo_layout .*is state dicts: no step needs these copies: .*save what is trained alone' oom
never "known" 'no known purpose|fewer tokens|shard|[Ee]xpandable' oom --brief
says "and in advise" '^Before any setting: no step needs these copies' advise

# ---- the host ----

begin metatrain-1229
says "whose it is" 'the kernel killed for want of host memory, .*this process has 11\.2 GiB; it rose by 98\.6 GiB since it began, and 953\.7 MiB of that is its own: .*workers of data loaders' oom
says "and in advise" "^The host is short of memory, not the GPU: look at what else runs in this job's cgroup, such as forked workers of data loaders: start those with spawn" advise

# ---- loading ----

begin pytorch-116553
says "what was gathered to be loaded, and no weights" '21\.1 GiB, 80 x 270\.0 MiB, is kept by _all_gather_dtensor .*called from load_checkpoint .*is state dicts: a state dict is being taken over, .*clone each part in the dict before it is taken over' oom
never "of no file, and needed until the load is over" 'map_location|checkpoint = None' oom
never "no tokens, and not the optimizer's own" 'fewer tokens|recompute|[Ee]xpandable|shard or offload' oom --brief
says "and in advise" '^Before any setting: a state dict is being taken over, .*PyTorch 2\.3' advise
never "the parts stay" 'can come back' advise
without "when the load is over" 's/^alloc tm40/at init\n&/' load-is-over
says "what is kept, of no file" 'what was loaded is still there: let go of it when the model and the optimizer have it \(checkpoint = None\), or let it be made on the host' oom

# ---- what it does not know ----

begin pytorch-141881
says "activations of compiled code; of the copies of weights among them it does not know" 'is kept by call_func_at_runtime_with_args .*compiled code.*probably activations' oom
