# Twelve more out-of-memory threads (tests/cases), told before memana was asked: what NVML alone counts, what is made a second time
# in another form, copies that are for one moment, and an engine's part of the host.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

# ---- what no call tells of ----

begin maniskill-1157
says "what is the process's and not CUDA's, and that it rose" '9\.4 GiB of the GPU is this process.s and in no recorded call of CUDA.s, .* first looked at, it was 0 B: .*renderer \(Vulkan' oom
never "nothing of the tensors, and no other process" 'no known purpose, 3\.1|end what nobody needs|recompute|[Ee]xpandable' oom --brief
says "and in advise" '^Before any setting: see what else works on this GPU in the process, such as a simulator or renderer' advise
# The driver refused a request of step 21, PyTorch let go of its cache, and had it.
tells "a request that was had in the end is no failure" "[f['step'] for f in d['failures']] == [23]" oom
never "not in top either" 'of step 21 at' top
without "without the end" '/saved5 300MiB fails/d' had
says "a refusal that was had is told as one, where nothing failed" '^A request was refused on GPU 0: .*; it got as much later\.' oom
says "in top, too" '^A request was refused on GPU 0: .*; it got as much within a second\.' top
never "no failure in top" 'Out of memory on' top

# ---- once more, in another form ----

begin vllm-31914
says "what the engine makes of its weights" 'process_weights_after_loading \(fp8\.py:1120\) in init .*makes weights again in another form .* layer by layer\. 55\.7 GiB in 144 pieces is kept by create_weights' oom
never "no reference to drop, and nothing of a cache" 'free it first|gpu_memory_utilization|sleep|[Ee]xpandable' oom
says "and in advise" '^Before any setting: the engine makes weights again in another form' advise

begin deepspeed-7309
says "weights that come back in float32" '29\.9 GiB asked for by step \(stage_1_and_2\.py:1891\) in optimizer .*twice as large as weights that are there, 15\.0 GiB by flatten_dense_tensors_aligned' oom
never "no state of the optimizer, which is on the host" 'offload the optimizer state|makes it in its first step|[Ee]xpandable' oom
says "and in advise" '^Before any setting: keep the weights of flatten_dense_tensors_aligned .*or convert them on the host' advise

# ---- for one moment ----

begin pytorch-129258
says "that it measures a kernel" '6\.1 GiB asked for by clone_preserve_strides .*torch\.compile measures this kernel here, the first time it runs, on a copy of what the kernel writes into' oom
says "and in advise" '^Before any setting: torch\.compile measures this kernel' advise

begin transformers-46960
says "that it has all pairs of tokens, and which kernels have not" '4\.0 GiB asked for by sdpa_attention_forward .*a number for each pair of tokens: take a kernel that never has all of them .*28\.0 GiB, 7 x 4\.0 GiB, is kept by sdpa_attention_forward' oom
says "and in advise" '^Before any setting: by its size .* attention with a number for each pair of tokens' advise

begin skyrl-1650
row trainer.micro_train_batch_size_per_gpu "r['fits']" "in SkyRL's own key, and no default of one sample stands against it"
says "fewer tokens" '40\.6 GiB asked for by backward \(model_utils\.py:241\) in backward .*larger than all that is in use of any kind, 40\.6 GiB: make it smaller \(fewer tokens' oom
never "no setting of weights or states first" 'shard|recompute|[Ee]xpandable' oom --brief

says "beside what has as many elements" '2 tensors that probably have as many elements are there already, 30\.4 GiB, made by _compute_distributed_log_softmax .* and forward \(layers\.py:1050\)' oom

begin specforge-466
says "that it is tokens x vocabulary" '37\.1 GiB asked for by padding \(utils\.py:41\) .*logits and log-probs, 74\.2 GiB: .*tokens x vocabulary' oom
says "and one more of what is there twice" '2 tensors as large as the request are there already, 74\.2 GiB, made by all_gather .* and generate_eagle3_data .*gathered of other ranks: put fewer tokens' oom
never "who asks computes no log-probs" 'compute log-probs' oom --brief
says "and in advise, before the engine's part" '^Before any setting: let padding .* not copy the logits once more: 2 tensors as large are there already, 74\.2 GiB' advise

begin vllm-48601
says "the sampler, and the requests that it samples for" '4 tensors that probably have as many elements .*the engine has these of all that it samples for at once, beside its cache: .*max_num_seqs.*smaller part of the GPU' oom
never "an engine that trains nothing has no log-probs to save" 'compute log-probs' oom --brief
says "a smaller part of the GPU for the engine" '^Try gpu_memory_utilization lower' advise

# ---- what stays, and the host ----

begin llm-compressor-3055
says "what every sample leaves" '43\.3 GiB of the 43\.9 GiB .*is kept by _onload_value \(cache\.py:175\), 40\.0 MiB more with every batch' oom
says "and in advise, to the host with it" '^No setting fixes this: drop the reference .*\.cpu\(\)' advise

begin sglang-32915
says "which processes, where and since when" 'hardly a GPU out-of-memory.*init_kv_buffer \(mamba\.py:272\), in init, its RSS from 3\.7 GiB up to 142\.5 GiB' oom
says "the engine's cache on the host, in advise" '^The host is short of memory.*grew in init_kv_buffer .*hicache_size or hicache_ratio' advise
never "no data loaders, and no weights that each loads" 'data loader|fsdp_cpu_ram' advise

# A server has no steps: what stays of all its time is told by the minute.
begin sglang-7340
says "what requests leave, and how fast" '20\.8 GiB of the 93\.0 GiB .* is kept by prepare_for_extend \(schedule_batch\.py:1368\), 621\.4 MiB more with every minute, and nothing of it has gone: drop the reference .* only puts it off' oom
never "the cache is not why" 'kv cache: it has taken|shard|recompute' oom --brief
failure "the rule" "(n['rule'], n['growth']['each'], n['growth']['function']) == ('retained', 'minute', 'prepare_for_extend')"
says "and in advise" '^No setting fixes this: drop the reference that keeps what prepare_for_extend .* makes \(when its request is done; .*only puts it off' advise
without "within a few seconds" 's/wait 4s/wait 10ms/' burst
never "what one request may bring is no growth" 'with every minute' oom

# ---- gradients of what is not trained ----

begin litgpt-1538
says "gradients as large as weights, beside adapters" '11\.5 GiB, 34 x 346\.0 MiB, is kept by _get_reduce_scatter_tensors \(_runtime_utils\.py:891\).*11\.5 GiB of what is in use is probably gradients: if adapters alone are to be trained, set requires_grad = False .*FSDP' oom
never "no pieces first" '[Ee]xpandable|micro-batch|offload' oom --brief
says "and in advise" '^Before any setting: if adapters alone are to be trained' advise
without "all trained" 's|litgpt/lora\.py|litgpt/model.py|' all-trained
never "where nothing tells of adapters" 'adapters' oom
