# Three more out-of-memory threads, told before memana was asked: what is there though nothing of it is needed, or not here: graphs that no
# backward walks, weights that were gathered and not let go of, a second copy of what is trained.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

# ---- graphs of an evaluation ----

begin pytorch-5210
says "graphs that no backward walks, and whose" '1\.2 GiB in 246 pieces of what is in use is of the 3 forwards before this one, for which no backward has come, most by forward \(conv\.py:282\), called from evaluate \(models\.py:316\): run the evaluation within torch\.no_grad\(\), and add up numbers \(loss\.item\(\)' oom
never "nothing costs anything here" 'recompute|micro-batch|optimizer state:|[Ee]xpandable' oom --brief
says "and in advise" '^Before any setting: run the evaluation within torch\.no_grad\(\)' advise
says "how much comes back" 'Up to 1\.2 GiB can come back so' advise
never "a smaller batch would only put it off" 'Or try|^Try' advise
advises "to compute it again is no row" "not any('checkpoint' in k['key'] for k in d['knobs'])"
without "with frames as PyTorch has them today" 's|__call__ torch|_call_impl torch|' today
says "where the input counts as of the forward, too" 'of the 3 forwards before this one' oom


case=pytorch-5210
without "by a function of no such name" 's/evaluate/run_epoch/' nameless
says "a condition, and what to do else" 'called from run_epoch \(models\.py:316\): if no backward is to come for these \(an evaluation\), run them within torch\.no_grad\(\).* if one is to come for all of them, let it come after each' oom

# Losses of two forwards are added up before their backward, and these lines go on so.
twice='/^for step/,/^done/{s/^\talloc loss 4/&\n\tat input\n\talloc picture2 4*3*224*224*4\n\tat forward\n\tfor layer 1..40\n\t\talloc convB{layer} 5MiB\n\t\talloc normB{layer} 5MiB\n\tdone\n\tat loss\n\talloc loss2 4/;s/free g/& convB{layer} normB{layer}/;s/free tmp/& picture2 loss2/}'
case=pytorch-5210
without "by a training that has one backward for two forwards" "s/at einput/at input/;s/at eforward/at forward/;s/at enorm/at forward/;s/at eloss/at loss/;$twice" accumulated
never "graphs that a backward walks later" 'no backward has come|no_grad' oom

# ---- weights that stay gathered ----

begin pytorch-149029
says "what nobody shards again, and whose it is" '8\.9 GiB in 169 pieces is kept by init_all_gather_outputs \(_fsdp_param\.py:432\), gathered for forward \(hf_embedder\.py:38\) before the last step of the optimizer, and never sharded again\. .*reshard\(\) after it: a root of FSDP2' oom
never "no trade-offs first" 'recompute|micro-batch|offload|[Ee]xpandable' oom --brief
says "and in advise, that it is enough" '^Before any setting: have these weights sharded again .* Up to 8\.9 GiB can come back so, and 1\.0 GiB is missing with what comes after the request: enough\.' advise
never "nothing that costs beside it" 'Or try|^Try' advise
freed='/^free picture1 text1/s/$/\nfor block 1..24\n\tfor m 1..7\n\t\tfree t5whole{block}.{m}\n\tdone\ndone\nfree t5wholetable/'
again='/^alloc picture2/s/$/\nat t5copy\nfor block 1..24\n\tfor m 1..4\n\t\talloc t5whole{block}.{m} 4096*4096*2\n\tdone\n\tfor m 5..7\n\t\talloc t5whole{block}.{m} 4096*10240*2\n\tdone\ndone\nalloc t5wholetable 32128*4096*2/'
without "where it was let go of, and is gathered anew" "$freed;$again" anew
never "what a step let go of" 'never sharded again' oom

# ---- a second copy of what is trained ----

begin stable-diffusion-15
says "the copy, by its line, and who works with it" '3\.2 GiB of the 7\.2 GiB of weights were made by _apply \(module\.py:647\), as many and as large as what is trained: a second copy, a moving average by the name of forward \(ema\.py:42\); keep it on the host, or on another device, and update it there, that would have been enough\. The allocator has 1\.8 GiB in reserve' oom
says "and in advise, before pieces that are not enough alone" '^Before any setting: 3\.2 GiB of weights that _apply \(module\.py:647\) made are a second copy of what is trained: keep it on the host, .* Up to 3\.2 GiB can come back so, and 1\.8 GiB is missing with what comes after the request: enough\. Or try DistributedDataParallel\(gradient_as_bucket_view\)' advise
without "where nothing is called an average" 's|forward ldm/modules/ema\.py|forward ldm/modules/other.py|' unnamed
says "what it may be" 'what is trained: probably a second copy; let it go to the host while the other is trained, or to another device \(a moving average can be updated there, too\)' oom
case=stable-diffusion-15
without "with weights of other sizes" '/alloc ema/s/8953000/8960000/' other-sizes
never "what is not as large is no copy" 'second copy' oom
says "what costs nothing and is enough goes first" '^Try DistributedDataParallel\(gradient_as_bucket_view\) = true, .* so that is enough\. .*What helps beside that, and is not enough alone: PYTORCH_CUDA_ALLOC_CONF' advise
case=stable-diffusion-15
without "with a gradient of each" 's/23\.69GiB/30GiB/;s/3000MiB fails/12000MiB fails/;/alloc grad{block}/s/.*/&\n\t\t\talloc twin{block}.{t} 8953000*4/;/free grad{block}/s/$/ twin{block}.{t}/' all-trained
never "what is trained itself is no copy" 'second copy' oom
