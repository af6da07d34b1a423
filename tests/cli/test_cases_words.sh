# The first sentences of memana advise on tests/cases: to whom a remedy is addressed, what it names, and what comes after
# it; that reports add up on these cases is held elsewhere.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

begin() {
	case=$1
	check "$case: is true" play "$case"
}
idles() { check "$case: $1" told_idles "$2"; }
told_idles() {
	"$memana" advise -n 0 --json "$case"/*.zst >idles.json && json idles.json "(lambda i: $1)([k['key'] for k in d['idle']])"
}

# ---- expandable segments: in whose environment ----

begin skyrl-1768
says "not in the engine's, which refuses to start with them" '^PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True in the environment of rank 0 and what trains with it \(not of pid 4200, which has a pool that sleeps, and refuses to start with it\)' advise
says "nor where it is to paste" 'To paste.*# in the environment of the processes that train alone, not of pid 4200 PYTORCH_CUDA_ALLOC_CONF' advise
says "the same in oom" 'expandable segments in this process alone: pid 4200 has a pool that sleeps' oom
says "the same in frag" 'would join the holes.*in this process alone: pid 4200' frag
never "no second verdict beside that" 'no known purpose' advise
begin nemo-rl-2319
says "what everybody tells the user is not possible here" '^Before any setting: free what pins the segments .*expandable segments are not possible here' advise

# ---- who asked, who keeps ----

begin verl-632
never "a pool that wakes up has no communicator, and no margin is as large" 'communicator|set_per_process_memory_fraction|leave a margin' advise
begin slime-1086
says "a library wants a little: how much, and what leaves it" '^No setting is needed: call torch\.cuda\.empty_cache\(\) before NCCL asks for its 448\.0 MiB, or let .*set_per_process_memory_fraction\(0\.98\).* Up to 31\.2 GiB can come back so' advise
begin pytorch-4661
says "what a backward keeps is no list" 'what backward \(__init__\.py:130\) makes for main: with create_graph=True .*called from main \(wgan\.py' advise
begin torchmetrics-1094
says "without a gradient there is nothing to detach" 'clear the list, or take it to the host as it comes: \.cpu\(\)' advise
never "no detach" 'detach' advise
begin unsloth-432
never "where there is no FSDP" 'rank0_only|of shards' advise
begin transformers-23386
says "and where there is" '^No step needs these copies: let the state dict be of shards, .*rank0_only' advise
begin pytorch-128947
says "more than there is: less at a time" '^Make this one request of 161\.4 GiB smaller' advise
begin axolotl-2621
says "whose weights" '^Before any setting: keep the weights of from_pretrained \(modeling_utils\.py:4600\) in the type that they have' advise

# ---- settings that would not have helped ----

begin transformers-10952
idles "not the remedy itself" "not any('gradient_as_bucket_view' in k for k in i)"
begin two-ranks
idles "not what the first sentence names" "not any('balance_batch' in k or 'use_dynamic_bsz' in k for k in i)"
begin ref-offload
idles "what is proved comes first" "i[0] == 'actor_rollout_ref.ref.fsdp_config.param_offload'"

# ---- a remedy, and a setting that is the same or something worse ----

begin verl-2448
says "the remedy as a setting" '^Before any setting: let each piece go .* Or try actor_rollout_ref\.model\.use_fused_kernels = true' advise
begin transformers-24067
says "what nobody needs is enough, also for what comes next" 'Up to 11\.2 GiB can come back so, and 474\.4 MiB is missing with what comes after the request: enough\. Out of memory' advise
never "nothing that changes results is to paste" 'To paste|234\.4 MiB' advise
begin transformers-3730
never "ranks on one device need no recomputation first" 'Or try|To paste' advise

# ---- one figure of what is missing ----

begin nanogpt-236
says "with what comes after the request" 'Up to 3\.2 GiB can come back so, and 130\.0 MiB is missing with what comes after the request: enough' advise
never "no other one" '10\.0 MiB is missing' advise

# ---- the function that is the user's ----

begin transformers-48131
says "who called the library" 'one_hot was called from load_balancing_loss_func \(modeling_qwen3_moe\.py:540\)' advise

# ---- longer than all before, whatever else helps ----

begin nemo-speech-5190
says "a sample that is larger" 'before, nothing that RelPositionMultiHeadAttention\.forward allocated was larger than 381\.5 MiB, now it is 9\.8 GiB' advise
begin logprobs-long
says "in the pass of the log-probs, too" 'larger than 6\.0 GiB, now it is 24\.0 GiB' advise

# ---- the host ----

begin easyr1-50
says "that the GPU has room" 'GPU 0 had 26\.0 GiB of 79\.2 GiB at its peak: what is offloaded may have room there' advise

# ---- how much longer, who keeps it, and who is to do it ----

case=nemo-speech-5190
says "attention goes with the square of the length" 'cap the length of samples: it is 5\.1 times as long as any before, by what batch_to_device .* makes of it, and what RelPositionMultiHeadAttention\.forward makes goes with the square of that, so 5 times as long would have fitted' advise
never "bytes are no length" '26 times as (long|large)|25 times' advise
case=ref-offload
says "an update that is larger than all before, whatever the reference had at the same line" '^Before any setting: look at this sample, .*2 times as large as any before, and 1\.5 times as much would have fitted' advise
begin sglang-4446
says "a copy of the model with each step" '63\.0 GiB is kept, 5\.7 GiB more with every step' advise
begin verl-1932
says "whose weights are there twice, beside the setting" '^Try actor_rollout_ref\.ref\.fsdp_config\.param_offload = true.* 13\.7 GiB of the 27\.3 GiB of weights were made by init_model \(fsdp_workers\.py:585\), .*: a second copy; let it go to the host' advise
begin verl-302
says "who keeps what is in the way" '28\.4 GiB, 28 x 1\.0 GiB, is kept by _full_post_state_dict_hook .*\. The request wakes up kv cache' advise
begin vllm-52054
says "the half that is no setting" 'To compute less at a time .*helps, too' advise
begin vllm-57475
says "the half that is no setting" 'To capture fewer batch sizes helps, too' advise
case=transformers-3730
says "a file that names its device" '^Before any setting: give torch\.load a map_location .*whatever device the rank has chosen' advise
never "which each rank has chosen already" 'set_device' advise
begin lerobot-4009
never "and where there is none, of safetensors" 'set_device before anything|map_location' advise
begin verl-6912
says "what gives back what no tensor uses" '^Before any setting: call torch\.cuda\.empty_cache\(\) in rank 0 \(pid 4100\), or let it sleep' advise
begin transformers-46113
says "whose code it is" 'that is code of transformers: where you cannot change it, another version may' advise
begin transformers-35648
says "two things, and not one in the place of the other" 'Also: look at this sample' advise
never "use_cache is the caller's" 'that is code of' advise
