# Thirty-two more out-of-memory threads (tests/cases), told before memana was asked. Most of them are about who computes for whom: a
# server whose cache has the room, an evaluation in which nothing is trained, a sample or a router out of the ordinary, what is
# there twice, and what grows where no step ends.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

# ---- a server, and nobody trains ----

begin vllm-52054
says "tokens times words, beside a cache that has the room" 'The request is 8,192 tokens x 151,936 words x 4 bytes, .*with fewer tokens at a time, it would be less\. .*is kv cache: it has taken the room in which the engine computes' oom
never "no micro-batch, nothing to shard" 'micro-batch|cap the tokens|shard|[Ee]xpandable' oom
says "its setting" 'Try gpu_memory_utilization' advise

begin vllm-48469
says "the cache, though there is more of the weights" '5\.2 GiB of what is in use is kv cache: it has taken the room in which the engine computes .*a smaller part of the GPU, or let it compute less at a time' oom
never "weights are not why" 'shard|recompute|[Ee]xpandable' oom
says "its setting" 'Try gpu_memory_utilization' advise

begin sglang-23862
says "a cache beside the first" '58\.5 GiB in 66 pieces is kept by _create_buffers .*is kv cache, 58\.5 GiB: give the engine a smaller part of the GPU\.' oom
never "no trainer is there" 'while the trainer|shard|micro-batch' oom

begin vllm-2193
says "the other engine's cache" 'of pid 5000\. Most of what is in use is kv cache, 55\.0 GiB: give that engine a smaller part of the GPU\.' oom
never "no trainer is there" 'while the trainer|shard|on the host' oom

begin vllm-47654
says "what sleeps, and stays" 'pid 5000 sleeps, but 33\.1 GiB of it stays on the GPU, in no pool that sleeps: weights, .*by __init__ \(kimi_k25.py:400\).*would have been enough' oom
never "nothing to shard" 'shard|[Ee]xpandable' oom

# ---- an evaluation ----

begin nemo-speech-5190
says "a sample that is longer than all before" 'kept by RelPositionMultiHeadAttention.forward .*Before, nothing there was larger than 381\.5 MiB, now it is 9\.8 GiB: a sample is longer than all before; cap that\. .*nothing is trained in this process, so there is nothing to recompute' oom
never "nothing is recomputed" 'recompute activations|micro-batch|shard|[Ee]xpandable' oom

begin torchmetrics-1094
says "what every batch leaves, of both places" '14\.2 GiB of the 15\.1 GiB that the process has in use is kept by main \(evaluate.py:45\) and forward \(model.py:71\), 420\.0 MiB more with every batch: no knob fixes this, drop the reference' oom
says "to let go of one of them is half of it" '^No setting fixes this: drop the reference that keeps what main \(evaluate.py:45\) and forward \(model.py:71\) make .* 14\.2 GiB is kept, 420\.0 MiB more with every batch, by main \(evaluate.py:45\) and forward \(model.py:71\)\.' advise
never "no backward needs it" 'recompute|shard' oom
says "each place" 'forward \(model.py:71\): 210\.0 MiB each' retained

# ---- one sample, or one router ----

begin mmdetection-3147
says "who asked for far more than ever" '1\.8 GiB asked for by bbox_overlaps .*it never asked for more than 122\.3 MiB there: cap what one sample can be .*in pieces or on the host' oom
never "no recomputation first" 'recompute|shard|[Ee]xpandable|vocabulary' oom
says "the same in advise" '^Before any setting: cap what one sample can be' advise

begin deepep-99
says "experts that alone became larger" '15 x 2\.4 GiB, is kept by TEGroupedMLP.forward .*nothing there was larger than 600\.0 MiB, now it is 2\.4 GiB\. .*the router sends far more tokens to the experts of this rank than before, while all else is as it was: balance it' oom
never "no sample is longer" 'longer than all before|shard|length of samples' oom
never "nor in advise" 'length of samples' advise

begin ms-swift-9945
says "the vision tower" '43\.8 GiB, 64 x 700\.0 MiB, is kept by Qwen3VLVisionBlock.forward .*activations, 54\.3 GiB: recompute activations' oom
never "no leak" 'drop the reference|shard|[Ee]xpandable|the router' oom

begin pytorch-1893
says "what comes from the other GPUs" '2\.1 GiB asked for by gather .*As for the request, DataParallel brings the outputs of all GPUs to this one, .*compute the loss inside of the module, .*or take DistributedDataParallel' oom
never "no recomputation" 'recompute|shard the weights|[Ee]xpandable' oom

# ---- twice ----

begin transformers-10952
says "gradients in buckets, too" '5\.8 GiB, 48 x 124\.0 MiB, is kept by _ddp_init_helper .*have every gradient once more: with gradient_as_bucket_view=True' oom
says "the optimizer of another library is one" 'asked for by step \(optimization.py:340\) in optimizer' oom
never "not the states" 'shard|fewer tokens|drop the reference' oom

begin verl-1932
says "the reference that stays" '13\.7 GiB of the 27\.3 GiB of weights were made by init_model \(fsdp_workers.py:585\), as many and as large as those of init_model \(fsdp_workers.py:540\): a second copy; let it go to the host while the other is trained .*would have been enough' oom

begin unsloth-432
says "copies for the file" '6\.9 GiB, 17 x 416\.0 MiB, is kept by _merge_lora .*6\.9 GiB of what is in use is state dicts: no step needs these copies: .*on the host' oom
never "known" 'no known purpose|fewer tokens|[Ee]xpandable' oom

begin prime-rl-3199
says "weights on their way" 'in weight-update of step 2 .*The request is for weight-update buffers, with 34\.0 GiB of it in use: send the weights in smaller buckets' oom
never "not the weights themselves" 'shard|recompute|[Ee]xpandable' oom

begin diffusers-8511
says "text encoders that are done" '10\.3 GiB of weights, made by load_text_encoders .*have computed nothing since the first backward \(no code of transformers did\): if nothing needs them any more, .*would have been enough' oom
says "before any setting" '^Before any setting: 10\.3 GiB of weights, made by load_text_encoders .* let go of every name that refers to them .*Up to 10\.3 GiB can come back so, and 417\.2 MiB is missing with what comes after the request: enough' advise
without "text encoders of every step" 's/^for step 1..3$/&\n\tat embed\n\talloc again{step} 2MiB\n\tfree again{step}/' encoders-work
never "who works is not done" 'have computed nothing' oom
case=diffusers-8511
without "nothing of them before the training" '/^at embed/,/^alloc embeds/d' encoders-unseen
never "what has done nothing at all may come yet" 'have computed nothing' oom
case=diffusers-8511
without "trained by them" 's/alloc grad{step}-{layer} 1MiB/alloc grad{step}-{layer} 66MiB/' encoders-trained
never "gradients of that size may be of them" 'have computed nothing' oom

# ---- growth ----

begin vllm-51258
says "the trainer keeps what it has sent" 'rank 0 \(pid 4100\) holds 1\.8 GiB more with every step, 30\.6 GiB by now .*15\.8 GiB of it allocated by packed_ipc_producer .*: the 14\.0 GiB that it has grown by would have been enough; look there: a smaller part of the GPU for the engine of pid 4200 only puts it off' oom
says "not what its optimizer works with at that moment" 'Up to 14\.0 GiB can come back so' advise
says "what to look for" '^Before any setting: see why rank 0 \(pid 4100\) does not free what packed_ipc_producer .*export it once for each time that a receiver opens it, .*torch\.cuda\.ipc_collect\(\) there gives back what every receiver has closed; where they are counted wrong, nothing does\); a later version' advise
row gpu_memory_utilization "r['fits']" "and until then a smaller part"
without "to wake up weights alone" 's/^pool kv-cache 46GiB/pool kv-cache 1GiB/; s/^pool engine-weights 3.3GiB/pool engine-weights 48.3GiB/; /^wake engine-weights$/d; s/^wake kv-cache fails/wake engine-weights fails/' no-cache
says "no setting of that" 'look there, no setting of pid 4200 helps' oom
says "in advise, too" '^No setting fixes this: see why rank 0 \(pid 4100\)' advise

begin pytorch-4661
says "gradients with a graph, whatever they are taken for" '9\.4 GiB of the 10\.1 GiB .* is kept by backward .*400\.0 MiB more with every step: no knob fixes this' oom
never "no setting" 'shard|recompute' oom

# ---- the host ----

begin vime-191
says "what sleep copied there" 'hardly a GPU out-of-memory: .*have 163\.9 GiB; it rose by 299\.0 GiB since they began, and 147\.1 GiB of that is theirs: .*Last seen: rank 0 \(pid 5100\) in sleep .*its RSS from 8\.4 GiB up to 82\.0 GiB' oom
never "nobody else is to blame first" 'see there first|shard|fewer tokens' oom
says "and in advise" '^The host is short of memory, not the GPU: let the engine throw its weights away when it sleeps \(level 2\)' advise

# ---- eight more, told when the nineteen were mended ----

begin skyrl-556
says "states that came back once are no growth" '22\.0 GiB, 11 x 2\.0 GiB, is kept by load_megatron_optimizer .*of rank 0 \(pid 5100\)\. 22\.0 GiB of what is in use is optimizer state: that process let go of it before .* and has brought this back: let it go to the host again when that is done' oom
says "the same in advise" '^Before any setting: save_checkpoint \(megatron_worker\.py:520\) of rank 0 \(pid 5100\) brings 22\.0 GiB back to the GPU' advise
never "not with every step" 'more with every step|shard|[Ee]xpandable' oom

begin slime-2384
says "the host, and what they did" '; it rose by 931\.3 GiB since they began, and 205\.8 GiB of that is theirs: .*in fill_routing_replay \(actor.py:250\), its RSS from 55\.9 GiB up to 159\.3 GiB' oom
never "no setting for checkpoints where none is saved" 'no-save-optim' advise
says "ranks that grew alike may each have a copy of the same" 'not the GPU: the ranks grew alike: if what they collect is the same, each makes a copy of its own, so let one make it .* or let each keep its own part' advise
without "one rank that grew" 's/^host 171GB 1560GB 0 40GB/host 90GB 1560GB 0 40GB/' grew-alone
never "one alone is no copy of another" 'grew alike' advise
says "what each may have whole" 'see what it collects on the host, and whether each rank holds it whole, not its part' advise
case=slime-2384

begin ms-swift-10109
says "the whole model comes back beside an engine" '42\.4 GiB, 62 x 700\.0 MiB, is kept by _apply .*called from offload_context .*the model is moved to this GPU while an engine is awake on it: leave it on the host until the engine sleeps' oom
never "what was on the host need not be loaded there" 'load it on the host|shard it there' advise
without "no engine beside it" '/^at engine/,/^pool kv-cache/d; s/^context 1GiB/context 36.4GiB/' moved-alone
says "moved where no engine is" 'the model is whole on this GPU while it is loaded' oom
never "no tokens yet" 'fewer tokens|recompute|[Ee]xpandable' oom

begin ppg-2
says "data, and not the network" 'asked for by tensors_to_device .*9\.0 GiB, 6 x 1\.5 GiB, is kept by tensors_to_device .*probably the inputs of a whole batch .*one micro-batch at a time' oom
never "what the network keeps is little" 'recompute|shard|[Ee]xpandable' oom

begin transformers-35648
says "a cache that a training does not read" '19\.3 GiB, 46 x 430\.0 MiB, is kept by update \(cache_utils.py:450\).*call the model with use_cache=False' oom
never "nothing is generated" 'generate fewer|smaller part of the GPU' oom

begin diffusers-1441
says "a picture decoded at once" '4\.1 GiB asked for by forward .*nothing is trained in this process, .*in pieces' oom
never "nothing is recomputed" 'recompute activations|micro-batch|shard' oom

begin diffusion-e2e-ft-21
says "whose activations, and what if it is frozen" '14\.1 GiB, 30 x 480\.0 MiB, is kept by forward \(resnet.py:320\), called from encode_image \(unet_prep.py:20\)\. If nothing below encode_image is trained, run it within torch.no_grad\(\), .*activations.* recompute' oom
says "first in advise, for it costs nothing" '^Before any setting: if nothing below encode_image \(unet_prep\.py:20\) is trained, run it within torch\.no_grad\(\).*Up to 14\.1 GiB can come back so.*Or try torch\.utils\.checkpoint' advise
without "by a module's own forward" 's/encode_image util/forward util/' encoder-module
says "last, as that may be trained" 'recompute activations.* If nothing below forward is trained' oom
says "last in advise, too" '^Try torch\.utils\.checkpoint.* If nothing below forward is trained' advise
case=diffusion-e2e-ft-21
without "by who asks himself" 's/^stack forward$/stack forward encode/; s/^\tmain train.py:320$/\tdecode util\/unet_prep.py:40/' encoder-trained
never "who asks is below it" 'If nothing below' oom

begin megatron-1746
says "what a checkpoint is loaded into" '18\.7 GiB, 40 x 478\.0 MiB, is kept by sharded_param_state_fully_reshardable .*state dicts, 39\.6 GiB: what a distributed checkpoint is loaded into goes .*make it on the host' oom
says "the same in advise" '^Before any setting: what a distributed checkpoint is loaded into' advise
never "the format is that of the checkpoint" 'fully-reshardable' advise
never "no tokens" 'fewer tokens|recompute|[Ee]xpandable' oom

# ---- and five ----

begin verl-2828
says "tokens times words" 'The request is 24,576 tokens x 151,936 words x 4 bytes, .*compute log-probs in chunks .*27\.8 GiB, 2 x 13\.9 GiB, is kept by entropy_from_logits' oom
never "not the weights" 'shard|recompute|[Ee]xpandable' oom

begin pytorch-128947
says "more than there is" '161\.4 GiB asked for by forward \(conv.py:613\).*more than the 79\.2 GiB there are: make this one request smaller' oom
never "no loose end" 'than there is\. \.' advise

begin openrlhf-947
says "the actor's gradients that stay" 'to wake up kv cache\. .*of rank 0 \(pid 5100\)\. 14\.0 GiB of what is in use is gradients: .* stay while others use the GPU, .*offload them before this' oom
says "and its weights" 'engine\.py:320\): weights, allocated in init, rank 0' oom
never "its gradients are no second copy of weights" 'second copy' oom
never "nothing to shard" 'shard|[Ee]xpandable' oom

begin deepspeed-1111
says "what is being loaded: nothing of it can go yet" '12\.0 GiB, 5 x 2\.4 GiB, is kept by load_tensor .*state dicts: a checkpoint is being loaded, .*let that be on the host .*nothing of it can go before the load is over' oom
never "the model does not have it yet" 'checkpoint = None' advise
says "whose code that is" 'that is code of deepspeed: where you cannot change it, another version may' advise
never "not the states" 'shard|fewer tokens' oom

begin speechbrain-841
says "activations, and no leak" '21\.6 GiB, 18 x 1\.2 GiB, is kept by forward .*activations, 21\.6 GiB: recompute' oom
says "of samples that become longer" 'nothing there was larger than 900\.0 MiB, now it is 1\.2 GiB, and it has risen in each of the last 10 steps: samples become longer; cap that' oom
says "the same in advise" '^Before any setting: look at this sample, and cap the length of samples: what is made of it is 1\.4 times as large as any before' advise
never "nothing is retained" 'drop the reference|shard|[Ee]xpandable' oom
