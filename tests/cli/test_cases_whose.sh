# The owner of the memory in a proposal of memana advise, on tests/cases: a row speaks of the processes, phases and places that its setting
# reaches, what is on for one part of a model is not on for all, and who has a loop of his own is told what to change in it.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

begin() {
	case=$1
	check "$case: is true" play "$case"
}
proposes() { check "$case: $1" told_document "[k['key'] for k in d['knobs']][:1] == ['$2']"; }
idle() { check "$case: $1" told_document "(lambda r: r is not None and ($3))(next((r['why'] for r in d['idle'] if r['key'].endswith('$2')), None))"; }
without() { # TITLE SED: the case with other steps
	check "$case: $1" play_changed "$2" "$3"
	case=$3
}
play_changed() {
	mkdir "$2" && sed "$1" "$SRC/tests/cases/$case.case" >"$2.case" && "$BUILD/cases/make_case" "$2.case" "$2"
}
GiB="2**30"

# ---- an engine beside a trainer, a teacher beside a student ----

begin nemo-rl-1147
row dtensor_cfg.cpu_offload "'15.5 GiB of 30.5 GiB at the failed request, probably weights, and 15.5 GiB of gradients' in r['evidence']" \
	"the sleeping engine's weights are not the trainer's to offload; and what else goes is named"
begin nemo-rl-630
row megatron_cfg.tensor_model_parallel_size "'8.0 GiB of 16.0 GiB at the failed request' in r['evidence']" "nor to shard"
begin openrlhf-947
row ds.tensor_parallel_size "'14.0 GiB of 28.2 GiB at the failed request' in r['evidence']" "of the process whose setting it is"
begin verl-6912
row fsdp_config.param_offload "'4.0 GiB of 19.0 GiB at the failed request' in r['evidence']" "in that process, too"
begin gradient-buffers
says "a saving of two kinds has both in its evidence" '28\.0 GiB at the failed request, gradients, and 14\.0 GiB of weights' advise
begin critic-alone
advises "a process without an engine needs none that sleeps" "not any(k['key'].endswith('free_cache_engine') for k in d['idle'])"
begin transformers-48131
says "what is kept of the layers, and not what failed beside them" '25\.5 GiB of 83\.0 GiB with the failed request, probably activations' advise

# An engine inside of the trainer has 9 GiB from its first answers on, while the trainer's passes come and go.
cat >inside.case <<'CASE'
gpu GPU-1 40GiB
process trainer 4100 GPU-1 0
stack init
	main train.py:10
	from_pretrained transformers/modeling_utils.py:4600
stack load
	__init__ trl/trainer/grpo_trainer.py:500
	load_model vllm/v1/worker/gpu_worker.py:225
stack generate
	_generate_and_score_completions trl/trainer/grpo_trainer.py:1200
	generate vllm/entrypoints/llm.py:400
	execute_model vllm/v1/worker/gpu_model_runner.py:1500
stack train
	train transformers/trainer.py:2325
	training_step transformers/trainer.py:4020
stack forward train
	compute_loss trl/trainer/grpo_trainer.py:1500
	_call_impl torch/nn/modules/module.py:1784
	forward transformers/models/qwen2/modeling_qwen2.py:250
stack backward train
	backward accelerate/accelerator.py:2740
	backward torch/_tensor.py:648
	backward torch/autograd/__init__.py:353

context 500MiB
at init
for layer 1..28
	alloc layer{layer} 200MiB
done
at load
for layer 1..28
	alloc engine{layer} 210MiB
done
at generate
alloc states 9GiB
for step 1..2
	at forward
	for layer 1..28
		alloc saved{step}-{layer} 350MiB
	done
	at backward
	for layer 1..28
		free saved{step}-{layer}
	done
done
at forward
for layer 1..28
	alloc saved{layer} 500MiB
done
alloc next 6GiB fails
sample
CASE
check "inside: is true" bash -c 'mkdir inside && "$1" inside.case inside' - "$BUILD/cases/make_case"
case=inside
row per_device_train_batch_size "r['saved_bytes']['high'] < 10.5 * $GiB" "half of the passes, and nothing of what the engine keeps"
row vllm_enable_sleep_mode "'5.7 GiB of 11.2 GiB at the failed request' in r['evidence']" "the engine's weights, and not the trainer's"

# ---- what a process does in a phase of its own ----

begin nemo-rl-2772
advises "the student computes no log-probs here: nothing of it moves for the teacher's" "not any(k['key'] == 'policy.offload_optimizer_for_logprob' for k in d['knobs'])"
idle "and why" policy.offload_optimizer_for_logprob "'in that phase itself' in r"
row policy.dtensor_cfg.cpu_offload "'23.4 GiB' in r['evidence'] and '43.7' not in r['evidence']" "the teacher's weights are not the policy's"

# ---- what is on for some, and not for all ----

begin ms-swift-9945
says "the layers that are not computed again" '^Before any setting: recompute these layers, too: 43\.8 GiB in 64 pieces of Qwen3VLVisionBlock\.forward .* though other layers are' advise
idle "on for the others alone" gradient_checkpointing "'already on' in r and 'but not for what Qwen3VLVisionBlock.forward' in r"
says "that the sample is larger, too" 'it is 5\.8 times as large as any before' advise
without "all of them are, but for what a sample makes" 's/^stack vision model$/&\n\tcheckpoint torch\/utils\/checkpoint.py:488/' covered
never "of what is computed again nobody says that it is not" 'recompute these layers|but not for what' advise
case=ms-swift-9945
without "none of them is: the setting is the way" 's/checkpoint torch.utils.checkpoint.py:488/run torch\/nn\/modules\/module.py:10/; s/unpack_hook torch.utils.checkpoint.py/run torch\/nn\/modules\/module.py/; s/recompute_fn torch.utils.checkpoint.py/run torch\/nn\/modules\/module.py/' nowhere
never "nothing is on for others" 'recompute these layers|but not for what' advise
row gradient_checkpointing "r['proposed'] == 'true'" "so it can be turned on"

# ---- a proof of whoever calls it, and of whose memory it is ----

begin verl-3861
idle "weights that were brought back had been taken away" fsdp_config.param_offload "r.startswith('already on: trainer_mode > load_fsdp_model_to_gpu')"
advises "so that is not proposed" "not any(k['key'].endswith('actor.fsdp_config.param_offload') for k in d['knobs'])"
without "what calls it whatever is set proves nothing" 's/trainer_mode verl.workers.fsdp_workers.py/get_per_tensor_param verl\/workers\/engine\/fsdp\/transformer_impl.py/' unproved
row actor.fsdp_config.param_offload "r['saved_bytes']['low'] > 14 * $GiB" "it may be off"
case=critic-alone
without "an actor's process beside it, which recomputes" '$a process actor 4900 GPU-1\nstack again\n\tupdate_actor verl/workers/fsdp_workers.py:900\n\trecompute_fn torch/utils/checkpoint.py:1520\n\tforward transformers/models/qwen2/modeling_qwen2.py:250\nof actor\nat again\nalloc some 64MiB' beside
never "what the actor recomputes proves nothing of the critic" 'critic.model.enable_gradient_checkpointing: already on: recompute_fn' advise -n 0

# ---- a loop of one's own ----

begin diffusers-8511
proposes "with accelerate the loop is the user's" 'checkpoint(function)'
begin speechbrain-841
advises "fewer samples beside recomputation, and after it: a batch may be one" "[k['key'] for k in d['knobs']][:2] == ['checkpoint(function)', 'DataLoader(batch_size)']"
row "DataLoader(batch_size)" "r['proposed'] == 'half of what it is now' and r['paste'] is None and 10 * $GiB < r['saved_bytes']['low'] < r['saved_bytes']['high'] < 13 * $GiB" \
	"half of what follows the batch, and no number out of nothing"
says "in words" 'half as many samples in a batch \(where it is 1, this does nothing\): saves' advise
row "autocast(dtype)" "r['saved_bytes']['low'] == 0 and r['cost'] == 'changes results' and 'float32 now' in r['only_if']" "of which type it is nobody knows"
begin torchtune-1046
says "what the first gives back is not enough" 'or cap the tokens of a micro-batch\. Up to 3\.9 GiB can come back so, and 15\.6 GiB is missing with what comes after the request: not enough alone\. Or try' advise
says "the logits in parts" 'Or try the head and the loss over parts of the tokens, each part within torch\.utils\.checkpoint\.checkpoint: it saves probably 1[0-9]\.[0-9] to 2[0-9]\.[0-9] GiB' advise
begin trl-4013
advises "a Trainer's loop is not the user's" "not any(k['key'] in ('cross_entropy(input)', 'DataLoader(batch_size)', 'autocast(dtype)') for k in d['knobs'])"
begin semseg-60
never "what needs no backward is not made smaller first" 'Or try' advise
begin mmdetection-3147
says "a request of one sample: not fewer of them first" 'Or try torch\.utils\.checkpoint' advise
begin fairscale-937
advises "what is of no step goes by no batch" "not any(k['key'] == 'DataLoader(batch_size)' for k in d['knobs'])"

# ---- what is promised, and what is pasted ----

begin trainer-asleep
never "nothing that could be less is below" 'could be less' advise
begin sglang-23862
says "a share that nobody told is lowered by so much" 'mem_fraction_static: lower by at least 0\.[0-9]+, to 0\.[0-9]+ or less' advise --fit 60GiB
never "and not pasted as it is" 'mem-fraction-static' advise --fit 60GiB
tells "not for programs either" "d['predicted']['paste'] is None" advise --fit 60GiB
