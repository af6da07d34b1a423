/* What makes less of what fills a device: of each kind of memory, and where what is in use shows that something else helps. */
#include <string.h>
#include "memtrace/base.h"
#include "oom_signs.h"
#include "oom_turn.h"
#include "oom_words_impl.h"

#define PIECES_MANY 4 /* alike and alive: more than a function works with at once */

static const char graphs_knob[] =
	"capture fewer batch sizes, run without CUDA graphs, or leave them room: a smaller part "
	"of the GPU for the engine's cache";
static const char graphs_alone_knob[] = "capture fewer sizes, or run without CUDA graphs";
static const char callables_knob[] =
	"capture fewer modules or none, or take a later version of the library that captures them, which may let go of more: each captured module "
	"has graphs of its own, with what they read and write and keep for the backward";
static const char layers_knob[] =
	"capture fewer modules (Megatron-LM: --cuda-graph-modules) or none (--cuda-graph-impl none), or take a later version of Transformer Engine "
	"and Megatron-LM, which may let go of more: each captured module has graphs of its own for every micro-batch in flight, with what they "
	"read and write and keep for the backward";
static const char evaluation_knob[] =
	"the evaluation keeps the outputs of all its batches: take them to the host as it goes "
	"(eval_accumulation_steps), or keep less of each (preprocess_logits_for_metrics)";
static const char state_dict_knob[] =
	"no step needs these copies: let them be made on the host, or go there one by one (.cpu()), and where all ranks make the same, by "
	"rank 0 alone";
static const char sharded_knob[] =
	"no step needs these copies: let the state dict be of shards, or be made on the host and of rank 0 "
	"alone (offload_to_cpu, rank0_only)";

/* What makes each kind of memory smaller; the knob of a framework has another name in each. */
static const char *const knobs[MT_CATEGORY_COUNT] = {
	[MT_CATEGORY_WEIGHTS] = "shard the weights over more GPUs, or offload them while they are not used",
	[MT_CATEGORY_GRADIENTS] = "shard the gradients over more GPUs, or reduce them in smaller buckets",
	[MT_CATEGORY_OPTIMIZER_STATE] = "shard or offload the optimizer state",
	[MT_CATEGORY_ACTIVATIONS] = "recompute activations, or put fewer tokens into a micro-batch",
	[MT_CATEGORY_RECOMPUTED] = "put fewer tokens into a micro-batch",
	[MT_CATEGORY_LOGITS] = "compute log-probs in chunks or fused, so that tokens x vocabulary is never whole",
	[MT_CATEGORY_KV_CACHE] = "give the engine a smaller part of the GPU, or let it sleep while the trainer works",
	[MT_CATEGORY_GRAPHS] = graphs_knob,
	[MT_CATEGORY_NCCL] = "use fewer communicators, or smaller NCCL buffers",
	[MT_CATEGORY_WEIGHT_BUFFERS] = "send the weights in smaller buckets",
	[MT_CATEGORY_GATHER_BUFFERS] = "gather fewer or smaller modules at once",
	[MT_CATEGORY_WORKSPACE] =
		"make the buffers there smaller: its buckets (DeepSpeed: reduce_bucket_size), or the library's workspace",
	[MT_CATEGORY_EVALUATION] = evaluation_knob,
	[MT_CATEGORY_STATE_DICT] = state_dict_knob,
};

const char *oom_remedy(const char *category)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(knobs); i++)
		if (knobs[i] && !strcmp(category, mt_category_name((uint32_t)i)))
			return knobs[i];
	return NULL;
}

/* ---- by who made it ---- */

static const char foreach_knob[] =
	"the optimizer takes this workspace for all parameters at once, as its foreach implementation does: with foreach=False it "
	"goes through them one by one, and fused=True, where the optimizer has it, needs none";
static const char clip_knob[] =
	"the clipping keeps what it makes of each gradient until it has the norm of all: take the norms of each rank's own "
	"shards and add those up, so that no gradient is made whole or copied, or clip fewer at a time, or not at all (which changes results)";
static const char gather_knob[] =
	"the evaluation brings the outputs of all ranks together for the metrics: evaluate smaller batches "
	"(per_device_eval_batch_size), or make less of each before (preprocess_logits_for_metrics)";
static const char compiled_knob[] =
	"torch.compile records a graph for each size of its inputs, and all of them stay: pad the inputs to a few lengths, or "
	"compile without CUDA graphs (another mode than reduce-overhead and max-autotune)";
static const char evaluate_knob[] =
	"it is the evaluation that asks: evaluate smaller batches (per_device_eval_batch_size, 8 where nobody sets it, whatever the "
	"training's is), or without what it need not have (prediction_loss_only, chunks of the logits)";
const char oom_fused_evaluation_knob[] =
	"it is the evaluation that asks, for logits that the training does without (its loss is fused with the head): let the evaluation go the same "
	"way (a later version of the trainer may: TRL has skip_logits of Liger's forward), or cap its samples; fewer samples at a time help only "
	"where there are several";
static const char objects_knob[] =
	"objects are pickled, with the tensors in them, and over NCCL the bytes of all ranks come to this GPU at once: gather objects over "
	"a gloo group, and tensors one by one or on the host";
static const char generate_knob[] =
	"the model's own generate() has the cache of all sequences at once: generate fewer or shorter ones at a time, or let an engine "
	"do it";

static const char resume_knob[] =
	"what a distributed checkpoint is loaded into goes when the model and the optimizer have it: make it on the host (newer versions of "
	"Megatron-Core make states there, and merge weights there when the GPU is full)";

static const char anew_knob[] =
	"no step needs these copies: modules make their weights anew for the state dict (quantized ones in another layout, or whole): save what "
	"is trained alone (the adapter's own parameters), on the host, or take a version of that library that saves what it has";
static const char parallel_knob[] =
	"DataParallel brings the outputs of all GPUs to this one, and what follows is computed here for the whole batch: compute the "
	"loss inside of the module, so that only numbers are gathered, or take DistributedDataParallel";

static const char convert_knob[] =
	"the engine makes weights again in another form (quantized, or in the layout of its kernels) while what they are made of is still there: load "
	"a checkpoint that has that form already, spread the weights over more GPUs, or take a version of the engine that goes layer by layer";
static const char tune_knob[] =
	"torch.compile measures this kernel here, the first time it runs, on a copy of what the kernel writes into; later steps need none: let the "
	"first step have a smaller batch, compile without what measures more (coordinate_descent_tuning, max-autotune), or take PyTorch 2.6 or "
	"newer, which puts such copies on the host where they would raise the peak";
static const char outputs_knob[] =
	"all that the model returns is copied from another GPU to this one: let it return less, so no hidden states of all layers "
	"(output_hidden_states), the logits of the tokens that count alone (logits_to_keep), and no cache (use_cache)";
static const char mesh_knob[] =
	"each communicator has buffers of its own, and fully_shard makes a smaller group for each module that it is called on where "
	"reshard_after_forward is a number: let all modules share one (pass True or False, or give them one mesh for it), or make NCCL's "
	"buffers smaller (NCCL_BUFFSIZE)";
static const char untrained_knob[] =
	"TRL prepares a model here that it does not train (the reference, or a reward model), and its configuration has an optimizer, so DeepSpeed "
	"makes master weights and gradients that nobody needs: leave the optimizer out of that configuration, or do without the model (beta = 0 "
	"needs no reference)";
const char oom_remade_knob[] =
	"by its size this is a weight made over in more bits, for an adapter or of a quantized one: no token moves it. Compute it in 16 bits (a "
	"later version of that library may, or see why what comes in, or what the adapter returns, is float32), adapt fewer or smaller "
	"modules, or take an adapter that needs no whole weight (LoRA without DoRA)";
const char oom_scores_knob[] =
	"by its size (several times all that the layers around it compute) this is attention with a number for each pair of tokens: take a kernel "
	"that never has all of them (attn_implementation=\"flash_attention_2\", for heads of up to 256; scaled_dot_product_attention takes its math kernel, without a "
	"word, for masks, head sizes or groups of heads that the others do not know), attention within a window, or cap the length of samples";

/*
 * A frame of such a function in such a file (parts of the names) is on the stack of what is of the category. `asks`: on that of
 * the request, and it says why, whatever there is most of.
 */
static const struct {
	const char *file, *function;
	enum mt_category category;
	const char *remedy;
	int asks;
} by_frame[] = {
	{ "torch/optim/", "_multi_tensor_", MT_CATEGORY_WORKSPACE, foreach_knob },
	{ "torch/distributed/fsdp/", "", MT_CATEGORY_STATE_DICT, sharded_knob },
	{ "torch/distributed/fsdp/_fully_shard/", "", MT_CATEGORY_NCCL, mesh_knob },
	{ "", "_save_to_state_dict", MT_CATEGORY_STATE_DICT, anew_knob },
	{ "", "clip_grad", MT_CATEGORY_WORKSPACE, clip_knob },
	{ "", "grad_norm", MT_CATEGORY_WORKSPACE, clip_knob },
	{ "megatron/core/dist_checkpointing/", "load", MT_CATEGORY_STATE_DICT, resume_knob },
	{ "megatron/training/checkpointing.py", "load_checkpoint", MT_CATEGORY_STATE_DICT, resume_knob },
	{ "accelerate/accelerator.py", "gather_for_metrics", MT_CATEGORY_EVALUATION, gather_knob },
	{ "transformers/", "_nested_gather", MT_CATEGORY_EVALUATION, gather_knob },
	{ "transformers/", "distributed_concat", MT_CATEGORY_EVALUATION, gather_knob },
	{ "torch/_inductor/cudagraph_trees.py", "", MT_CATEGORY_GRAPHS, compiled_knob },
	{ "torch/cuda/graphs.py", "make_graphed_callables", MT_CATEGORY_GRAPHS, callables_knob },
	{ "transformer_engine/pytorch/graph.py", "make_graphed_callables", MT_CATEGORY_GRAPHS, layers_knob },
	{ "megatron/core/transformer/cuda_graphs.py", "", MT_CATEGORY_GRAPHS, layers_knob },
	{ "transformers/cache_utils.py", "", MT_CATEGORY_KV_CACHE, generate_knob },
	{ "transformers/", "prediction_step", MT_CATEGORY_LOGITS, evaluate_knob },
	{ "transformers/", "prediction_step", MT_CATEGORY_ACTIVATIONS, evaluate_knob },
	{ "", "evaluation", MT_CATEGORY_LOGITS, evaluate_knob },
	{ "", "evaluation", MT_CATEGORY_ACTIVATIONS, evaluate_knob },
	{ "torch/distributed/", "_object", MT_CATEGORY_OTHER, objects_knob, 1 },
	{ "/layers/", "process_weights_after_loading", MT_CATEGORY_WEIGHTS, convert_knob, 1 },
	{ "triton_heuristics.py", "clone_args", MT_CATEGORY_WORKSPACE, tune_knob, 1 },
	{ "torch/nn/parallel/", "gather", MT_CATEGORY_ACTIVATIONS, parallel_knob, 1 },
	{ "accelerate/hooks.py", "post_forward", MT_CATEGORY_ACTIVATIONS, outputs_knob, 1 },
	{ "accelerate/hooks.py", "post_forward", MT_CATEGORY_LOGITS, outputs_knob, 1 },
	{ "trl/", "prepare_deepspeed", MT_CATEGORY_GRADIENTS, untrained_knob, 1 },
	{ "trl/", "prepare_deepspeed", MT_CATEGORY_OPTIMIZER_STATE, untrained_knob, 1 },
};

int oom_is_of_evaluation(const char *remedy)
{
	return remedy == evaluate_knob;
}

const char *oom_remedy_of_frame(const char *category, const char *file, const char *function, int asks)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(by_frame); i++)
		if (by_frame[i].asks >= asks && !strcmp(category, mt_category_name(by_frame[i].category)) &&
		    strstr(file, by_frame[i].file) && strstr(function, by_frame[i].function))
			return by_frame[i].remedy;
	return NULL;
}

const char *oom_graphs_remedy(const struct oom *oom)
{
	if (oom->by_frame)
		return oom->by_frame;
	return oom_bytes_of(oom, oom->it->process, mt_category_name(MT_CATEGORY_KV_CACHE), -1) ? graphs_knob
											       : graphs_alone_knob;
}

/* ---- by what is in use ---- */

/* Of the place's size, from whatever place of that category in the process: how many are there at once. */
static uint64_t pieces_at_once(const struct oom *oom)
{
	const struct oom_part *place = oom->place, *part;
	uint64_t pieces = 0;
	size_t i;

	for (i = 0; i < oom->parts && place && place->alike; i++) {
		part = &oom->part[i];
		if (part->process == place->process && !strcmp(part->category, place->category) && part->alike &&
		    part->bytes / part->count == place->bytes / place->count)
			pieces += part->count;
	}
	return pieces;
}

/* Gradients as large as what is gathered: of whole layers, where each GPU should keep its shard. */
static int are_whole(const struct oom *oom)
{
	const struct oom_part *place = oom->place, *part;
	size_t i;

	for (i = 0; i < oom->parts && place && place->alike && place->count > 1; i++) {
		part = &oom->part[i];
		if (part->process == place->process &&
		    !strcmp(part->category, mt_category_name(MT_CATEGORY_GATHER_BUFFERS)) &&
		    part->bytes / part->count == place->bytes / place->count)
			return 1;
	}
	return 0;
}

/*
 * Megatron reduced its buckets in a wider type, and waited for all of them at the end of the step: buffers of the backward, beside
 * the gradients that are there from the start.
 */
static int reduces_all_at_once(const struct oom *oom)
{
	const char *gradients = mt_category_name(MT_CATEGORY_GRADIENTS), *init = mt_phase_name(MT_PHASE_INIT);
	const struct oom_part *place = oom->place;
	uint64_t own = 0;
	size_t i;

	if (!place || strcmp(oom->rule_category, gradients) || strcmp(place->category, gradients) ||
	    strcmp(place->phase, mt_phase_name(MT_PHASE_BACKWARD)) || place->count <= PIECES_MANY)
		return 0;
	for (i = 0; i < oom->parts; i++)
		if (oom->part[i].process == place->process && !strcmp(oom->part[i].category, gradients) &&
		    !strcmp(oom->part[i].phase, init))
			own += oom->part[i].bytes;
	return own >= place->bytes / 2;
}

static int has_category(const struct oom *oom, enum mt_category category)
{
	size_t i;

	for (i = 0; i < oom->parts; i++)
		if (!strcmp(oom->part[i].category, mt_category_name(category)))
			return 1;
	return 0;
}

/* Of phases that have no backward at all. */
static int is_without_backward(const struct oom_part *place)
{
	return place && (!strcmp(place->phase, mt_phase_name(MT_PHASE_LOGPROB)) ||
			 !strcmp(place->phase, mt_phase_name(MT_PHASE_REF)));
}

static const char unneeded_knob[] =
	"no backward ran on what the same lines kept before, so probably nobody needs it: run that forward within "
	"torch.no_grad() (an evaluation, log-probs), or drop what collects it";
static const char logprobs_knob[] =
	"no backward follows there, so to recompute them changes nothing: put fewer tokens into a micro-batch of the log-probs";
static const char zero_knob[] =
	"the gradients stay after their step, while others use the GPU, and no step needs them until the next "
	"backward: let go of them before this (optimizer.zero_grad(set_to_none=True)), or offload them";
static const char buffers_knob[] =
	"the gradients' buffers stay while others use the GPU, and no step needs them until the next "
	"backward: offload them before this";

int oom_has_whole_gradients(const struct oom *oom)
{
	return oom->rule == OOM_LARGEST && !strcmp(oom->rule_category, mt_category_name(MT_CATEGORY_GRADIENTS)) &&
	       are_whole(oom);
}

static const char alone_knob[] =
	"make this one request smaller (fewer tokens in a micro-batch or sample, or what it is for in chunks), or do without it";
static const char stale_knob[] =
	"let go of the logits of the micro-batch whose backward is over (del logits, del outputs) before the next forward; then "
	"compute log-probs in chunks or fused, or cap the tokens of a micro-batch";
static const char attempt_knob[] =
	"let go of what the attempt that failed before this one has made: its loss, or the exception with its traceback, holds it still "
	"(del loss, and leave the except block before the next forward)";
static const char attempt_states_knob[] =
	"let go of what the attempt that failed before this one has made: its optimizer, and the model that was prepared for it, are "
	"there still (accelerator.free_memory(), or del optimizer, before the next attempt)";
static const char twice_knob[] =
	"the same gradients are there in half the bytes, too: reduce them in the type of the weights (reduce_dtype of FSDP's mixed "
	"precision), or take a version that lets go of the wider ones when they have been cast";
static const char gradient_knob[] =
	"a request of the size of logits that are kept for the backward, tokens x vocabulary, is probably for their gradient: compute log-probs "
	"fused, or in chunks that the backward computes again (torch.utils.checkpoint around each; chunks alone are all kept), or put fewer "
	"tokens into a micro-batch";
static const char unsent_knob[] = "send it as it is, or in smaller pieces";
static const char uncopied_knob[] = "take it as it is, or have the copy made on the host, or in smaller pieces";
static const char again_knob[] =
	"the load makes once more what it has made before to know what to load, and the state dict that is taken over holds that still: let "
	"it be loaded into what is there (a later version may), or be loaded on the host (map_location=\"cpu\")";
static const char whole_knob[] =
	"the model is whole on this GPU while it is loaded, and nothing has sharded it yet: load it on the host (or on the meta device), "
	"shard it there, and let each GPU get its shards; where it stays whole, over more GPUs or in fewer bytes";
/* One process, and no rank of several: nobody else is there to have a shard. */
static const char alone_whole_knob[] =
	"the whole model is being loaded to this one GPU by one process: spread it over the GPUs that there are (device_map=\"auto\"), leave it "
	"on the host where nothing is computed with it yet (a merge, an export, a conversion: device_map=\"cpu\"), or load it in fewer bytes "
	"(16, 8 or 4 bits)";
/* torch 2.6's _broadcast_state_dict, which verl's and others' loaders for FSDP2 call: the shards are there beside. */
static const char broadcast_knob[] =
	"rank 0 sends whole tensors, and each rank has all that it was sent until they are cut into its shards (set_model_state_dict with "
	"broadcast_from_rank0, as PyTorch 2.6 does it): take a later PyTorch or framework, which keeps no whole ones, or another strategy "
	"to shard (FSDP1)";
static const char moved_knob[] =
	"the model is moved to this GPU while an engine is awake on it: leave it on the host until the engine sleeps, or let the engine sleep "
	"before this (where nobody asked for the move, it is a fault of this version)";
static const char loading_knob[] =
	"a checkpoint is being loaded, and what it is read into is on this GPU beside the model: let that be on the host (map_location=\"cpu\" "
	"where torch.load reads it, another format or no optimizer state where the framework can); nothing of it can go before the load is "
	"over";
static const char loading_file_knob[] =
	"a checkpoint is being loaded, and what its file was read into is on this GPU beside what takes it over: let that be on the host "
	"(map_location=\"cpu\"); nothing of it can go before the load is over";
static const char loading_safetensors_knob[] =
	"a checkpoint is being loaded, and what its file was read into is on this GPU beside what takes it over: let that be on the host "
	"(device=\"cpu\"); nothing of it can go before the load is over";
static const char loading_gathered_knob[] =
	"a state dict is being taken over, and what all ranks have brought together for it is on this GPU, whole; where a part is only a view, "
	"all of that stays until the load is over: clone each part in the dict before it is taken over (FSDP does so for the optimizer's state "
	"from PyTorch 2.3 on), or have it gathered on the host, where the call can (cpu_offload)";
static const char loaded_still_knob[] =
	"what was loaded is still there: let go of it when the model and the optimizer have it (checkpoint = None), or load it to the host "
	"(map_location=\"cpu\")";
static const char loaded_safetensors_knob[] =
	"what was loaded is still there: let go of it when the model has it (del, or None), or load it to the host (device=\"cpu\")";
static const char loaded_somehow_knob[] =
	"what was loaded is still there: let go of it when the model and the optimizer have it (checkpoint = None), or let it be made on the "
	"host";
static const char inputs_knob[] =
	"what comes to the GPU before anything is computed of it, and stays, is probably the inputs of a whole batch (pictures, masks): "
	"leave those on the host, and take them to the GPU one micro-batch at a time";
static const char pile_knob[] =
	"who asks has many of exactly this size already, one for each thing that is not done (a request, an item of a queue, a sample): have "
	"fewer of those at once, see what keeps each of them, or give what was there before them a smaller part of the GPU";
static const char gathered_knob[] =
	"the weights of so many layers are gathered at once, where one is computed with and some come next: have each let go of after use "
	"(FSDP: reshard_after_forward, FULL_SHARD; ZeRO-3 does it by itself, up to stage3_max_live_parameters); where that is set, the library "
	"does not do it: take another version (DeepSpeed 0.16.4 kept them through a backward with gradient checkpointing)";
static const char unsharded_knob[] =
	"have these weights sharded again when the forward that they were gathered for is over (reshard() after it: a root of FSDP2 is left as it "
	"is for its backward, and what is frozen has none), wrap its blocks (fully_shard on each before the whole), or do not shard what is not "
	"trained";
static const char sent_knob[] =
	"what was made to be sent to the engine is still there: PyTorch keeps what it shared until the receiver has let go of it and "
	"torch.cuda.ipc_collect() ran here, so call that after the update, before this wakes up";
static const char copied_knob[] =
	"tokens x vocabulary: put fewer tokens into one go, and if log-probs are all that is needed of them, compute those in chunks or fused";
static const char gathered_logits_knob[] =
	"tokens x vocabulary, gathered of other ranks: put fewer tokens into one go, or let each rank have its own part of them alone";
static const char sampler_knob[] =
	"the engine has these of all that it samples for at once, beside its cache: let it have fewer requests at a time (vLLM: max_num_seqs; "
	"SGLang: max_running_requests), or a smaller part of the GPU";
static const char starved_engine_knob[] =
	"a library asks the driver itself, where it is first used, and finds what the engine has left: give the engine a smaller part of "
	"the GPU";
static const char starved_knob[] =
	"a library asks the driver itself, where it is first used, and finds what PyTorch's allocator has left: use it once before the "
	"rest is made, or leave it room (torch.cuda.set_per_process_memory_fraction)";
static const char buckets_knob[] =
	"the buffers of all buckets are there at once, beside the gradients' own, so smaller ones do not help: let each bucket be waited "
	"for before the next (no setting does that; a later version may), or reduce without overlapping it with the backward";
static const char wider_knob[] =
	"keep these weights in the type that they have (do not convert them to float32), or convert them on the host";
static const char loaded_knob[] =
	"load the optimizer state to the host (map_location=\"cpu\"), or see whether what it was loaded from (a state dict) keeps it beside the "
	"optimizer: it was there before any step of the optimizer, and a run that begins anew has none until then";

static const char loaded_dict_knob[] =
	"what loaded it may keep it in its state dict still, beside the optimizer, or after the optimizer's own went to the host: let go of "
	"that dict (del, then torch.cuda.empty_cache()), and offload the optimizer after loading, too, if it is offloaded; it was there before "
	"any step of the optimizer, and a run that begins anew has none until then";

static const char frozen_knob[] =
	"if adapters alone are to be trained, set requires_grad = False for all else, and under FSDP wrap what is trained apart from what is "
	"frozen (the one flat weight of a unit has a gradient as a whole): the forward goes through adapters, and the gradients are as large "
	"as weights";
static const char ddp_knob[] =
	"the buckets of DistributedDataParallel have every gradient once more: with gradient_as_bucket_view=True the gradients are views "
	"of them, and nothing is there twice";
static const char outlier_knob[] =
	"cap what one sample can be (its length, its pixels, how many boxes or parts it has), or compute this part of such a sample in "
	"pieces or on the host";
static const char uneven_knob[] =
	"the router sends far more tokens to the experts of this rank than before, while all else is as it was: balance it (its auxiliary "
	"loss, or its bias), drop tokens beyond a capacity, or recompute what the experts keep";
static const char infers_knob[] =
	"nothing is trained in this process, so there is nothing to recompute: give it less at a time (a smaller batch, a shorter or "
	"smaller sample, or one in pieces)";
static const char infers_kept_knob[] =
	"nothing is trained in this process, and what forwards before kept has gone: run it within torch.no_grad(), so that nothing is "
	"kept for a backward, or give it less at a time";

static const char evaluated_knob[] =
	"run the evaluation within torch.no_grad(), and add up numbers (loss.item(), .detach()): each of its forwards keeps all that a backward would "
	"need, and none comes";
static const char unwalked_knob[] =
	"if no backward is to come for these (an evaluation), run them within torch.no_grad(), and add up numbers (loss.item(), .detach()); if one is "
	"to come for all of them, let it come after each, as gradients add up: until now one came sooner";

static const char cache_knob[] =
	"the forward of a training keeps the keys and values of all tokens for a generation that does not come: call the model with "
	"use_cache=False";

const char *oom_since_remedy(const struct oom *oom)
{
	if (oom->before.brought)
		return "let it go to the host again when that is done";
	return strstr(oom->before.function, "save") || strstr(oom->before.function, "ckpt")
		       ? "a state dict that a cycle or a name still holds (gc.collect() when it is done, or drop it), or what a writer in the "
			 "background still has open (finalize the save, end the writer, or do not save asynchronously; then gc.collect(), "
			 "torch.cuda.ipc_collect()); else the offload is left out after it"
		       : "something that refers to it still, or the offload is left out after it";
}

const char *oom_ranks_remedy(const struct oom *oom)
{
	switch (oom->loader) {
	case OOM_LOADER_TORCH:
		return "give torch.load a map_location (\"cpu\", or the rank's own device): it puts things where they were saved, "
		       "whatever device the rank has chosen";
	case OOM_LOADER_SAFETENSORS:
		return "give safetensors (load_file, load_model, safe_open) the rank's own device by number "
		       "(device=f\"cuda:{local_rank}\"), or \"cpu\", which is better for what is sharded after that: \"cuda\" alone is the "
		       "first GPU to it, whatever torch.cuda.set_device says; where the call is not yours, another version may have it mended";
	case OOM_LOADER_NONE:
	case OOM_LOADER_GATHERED:
		break;
	}
	return "let each rank use a device of its own (torch.cuda.set_device before anything is made, and no call that names a GPU, such "
	       "as device=\"cuda:0\" or a map_location)";
}

/* What is read from a file is on the host if its call is told so; what is gathered is there because a collective wants it there. */
static const char *loading_remedy(const struct oom *oom)
{
	switch (oom->loader) {
	case OOM_LOADER_TORCH:
		return oom->loading ? loading_file_knob : loaded_still_knob;
	case OOM_LOADER_SAFETENSORS:
		return oom->loading ? loading_safetensors_knob : loaded_safetensors_knob;
	case OOM_LOADER_GATHERED:
		return oom->loading ? loading_gathered_knob : loaded_somehow_knob;
	case OOM_LOADER_NONE:
		break;
	}
	return oom->loading ? loading_knob : loaded_somehow_knob;
}

/* Of the code that makes it so, which is somebody else's now and then. */
int oom_is_about_code(const struct oom *oom)
{
	static const char *const about[] = { attempt_knob,
					     attempt_states_knob,
					     clip_knob,
					     evaluated_knob,
					     frozen_knob,
					     loaded_knob,
					     loaded_dict_knob,
					     loading_knob,
					     loading_file_knob,
					     loading_safetensors_knob,
					     loaded_safetensors_knob,
					     loaded_somehow_knob,
					     loaded_still_knob,
					     stale_knob,
					     twice_knob,
					     uncopied_knob,
					     unneeded_knob,
					     unsent_knob,
					     objects_knob,
					     state_dict_knob };
	const char *special = oom_special_remedy(oom);
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(about); i++)
		if (special == about[i])
			return 1;
	return 0;
}

/* generate() is a rollout, and an engine makes its cache in init. */
static int is_cache_of_training(const struct oom *oom)
{
	return oom->place && !oom->evaluates && !strcmp(oom->rule_category, mt_category_name(MT_CATEGORY_KV_CACHE)) &&
	       !strcmp(oom->place->phase, mt_phase_name(MT_PHASE_FORWARD));
}

/* ---- from before ---- */

static const char earlier_knob[] =
	"drop what collects the outputs of earlier forwards (an evaluation's, a list of them), take them to the host as they come (.cpu()), or take "
	"a version that lets go of them: no backward comes for these";
static const char narrow_knob[] =
	"enter autocast for each forward and not around the loop, or with cache_enabled=False, or take a later PyTorch: what is kept has half the "
	"size of weights, and nothing is trained here, so it is probably autocast's copies of them in 16 bits";
static const char models_knob[] =
	"use the models that are there already, or let the first ones go, or to the host, before: nearly all of these weights have their like in "
	"what was there, so probably the same models are made a second time";

static const char trained_knob[] =
	"let go of every name that refers to an earlier model (its own, its optimizer's and trainer's, a list or closure with it, the exception of "
	"a run that failed) before the next one is made: del, gc.collect(), as they may hold each other, then torch.cuda.empty_cache(); where a "
	"library makes them, look for its switch (Optuna's gc_after_trial); what is needed of one goes to the host, or stays without its gradients "
	"and optimizer";

static const char *again_remedy(const struct oom *oom)
{
	switch (oom->again.kind) {
	case OOM_AGAIN_EARLIER:
		return earlier_knob;
	case OOM_AGAIN_GRAPHS:
		return oom->again.evaluates ? evaluated_knob : unwalked_knob;
	case OOM_AGAIN_NARROW:
		return narrow_knob;
	case OOM_AGAIN_MODELS:
		return models_knob;
	case OOM_AGAIN_TRAINED:
		return trained_knob;
	case OOM_AGAIN_NONE:
		break;
	}
	return NULL;
}

/* ---- other libraries in the process ---- */

const char oom_unseen_remedy[] =
	"see what else works on this GPU in the process, such as a simulator or renderer (Vulkan, OpenGL), and let it have fewer or smaller "
	"scenes and cameras, or fewer environments, and let the old ones go when it makes them anew; no setting of PyTorch moves that memory";

const char oom_crowd_remedy[] =
	"let fewer processes work on this GPU, since each takes a context beside its tensors: spread them over the GPUs that there are, or let one "
	"process do the work of several (a batch, threads, a server that the others ask)";

/* By their owner (label/owner.h), as people call them. */
static const struct {
	const char *owner, *name, *remedy;
} libraries[] = {
	{ "onnxruntime", "ONNX Runtime",
	  "limit the arena of ONNX Runtime in its provider's options (gpu_mem_limit, arena_extend_strategy=kSameAsRequested): it keeps what each "
	  "new size has taken" },
	{ "tensorflow", "TensorFlow",
	  "let TensorFlow take what it needs and not all that is free (tf.config.experimental.set_memory_growth), or, where it only reads data, "
	  "give it no GPU (tf.config.set_visible_devices([], 'GPU'))" },
	{ "jax", "JAX",
	  "let JAX take less when it starts (XLA_PYTHON_CLIENT_PREALLOCATE=false, XLA_PYTHON_CLIENT_MEM_FRACTION), or, where it only reads data, "
	  "run on the CPU (JAX_PLATFORMS=cpu)" },
	{ "cupy", "CuPy", "limit CuPy's pool (set_limit), or have it give back what is free (free_all_blocks)" },
	{ "tensorrt", "TensorRT",
	  "give TensorRT a smaller workspace (set_memory_pool_limit), or fewer profiles and contexts at a time" },
	{ "rmm", "RMM", "make RMM's pool smaller (initial_pool_size, maximum_pool_size)" },
	{ "faiss", "faiss",
	  "give faiss less for its scratch (StandardGpuResources.setTempMemory), or keep its index on the host" },
};

const char *oom_library_name(const char *owner)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(libraries); i++)
		if (!strcmp(owner, libraries[i].owner))
			return libraries[i].name;
	return owner;
}

static const char *library_remedy(const char *owner)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(libraries); i++)
		if (!strcmp(owner, libraries[i].owner))
			return libraries[i].remedy;
	return "see the settings of the library that takes it from the driver itself, and whose it is with memana top --by owner";
}

/* Many of a size: of the layers of a forward, which keeps them. */
static int is_pile(const struct oom_part *place)
{
	return place && place->alike && place->count >= 2 * PIECES_MANY;
}

const char *oom_special_remedy(const struct oom *oom)
{
	const char *category = oom->rule_category;

	if (oom->rule != OOM_LARGEST)
		return NULL;
	if (oom_out_of_turn(oom))
		return oom_out_of_turn(oom);
	if (oom->again.kind)
		return again_remedy(oom);
	if (*oom->library.owner)
		return library_remedy(oom->library.owner);
	if (oom->attempt)
		return !strcmp(category, mt_category_name(MT_CATEGORY_OPTIMIZER_STATE)) ? attempt_states_knob
											: attempt_knob;
	if (oom->twice)
		return twice_knob;
	if (oom->reload.bytes)
		return again_knob;
	if (oom->clone.bytes)
		return strcmp(oom->it->phase, mt_phase_name(MT_PHASE_WEIGHT_UPDATE)) ? uncopied_knob : unsent_knob;
	if (oom->frozen)
		return frozen_knob;
	if (oom->unsharded.bytes)
		return unsharded_knob;
	if (oom->buckets)
		return ddp_knob;
	if (oom->wider)
		return wider_knob;
	if (oom->whole && !oom->spare && oom->place && !strcmp(oom->place->function, "_broadcast_tensors"))
		return broadcast_knob;
	if (oom->whole && !oom->spare)
		return oom->moved                                     ? moved_knob
		       : oom->it->rank < 0 && oom->it->processes == 1 ? alone_whole_knob
								      : whole_knob;
	if (oom->inputs)
		return inputs_knob;
	if (oom->pile)
		return pile_knob;
	if (oom->starved)
		return oom->place && !strcmp(oom->place->category, mt_category_name(MT_CATEGORY_KV_CACHE))
			       ? starved_engine_knob
			       : starved_knob;
	if (oom->alone || oom->by_asker)
		return oom->by_asker ? oom->by_frame : alone_knob;
	if (oom->loaded_early)
		return oom->by_dict ? loaded_dict_knob : loaded_knob;
	if (oom->stale && oom->stale >= oom->it->requested / 4)
		return stale_knob;
	if (is_cache_of_training(oom))
		return cache_knob;
	if (oom->by_frame && oom->by_frame != sharded_knob)
		return oom->by_frame;
	if (oom->uneven)
		return uneven_knob;
	if (oom->outlier)
		return outlier_knob;
	if (oom->unneeded)
		return unneeded_knob;
	if (oom->infers)
		return is_pile(oom->place) ? infers_kept_knob : infers_knob;
	if (!strcmp(category, mt_category_name(MT_CATEGORY_ACTIVATIONS)) && is_without_backward(oom->place))
		return logprobs_knob;
	if (*oom_wakes(oom) && oom->asked_for)
		return "give the engine a smaller part of the GPU, or let what sleeps wake up later, when what is in use now has gone";
	/* Being taken over, or taken over and still there. */
	if (!strcmp(category, mt_category_name(MT_CATEGORY_STATE_DICT)) && oom->place &&
	    !strcmp(oom->place->phase, mt_phase_name(MT_PHASE_INIT)))
		return loading_remedy(oom);
	/* Copies for the engine, which are needed, but not all at once. */
	if (!strcmp(category, mt_category_name(MT_CATEGORY_STATE_DICT)) && oom->place &&
	    !strcmp(oom->place->phase, mt_phase_name(MT_PHASE_WEIGHT_UPDATE)))
		return oom_remedy(mt_category_name(MT_CATEGORY_WEIGHT_BUFFERS));
	if (oom->logits_gradient && oom->asked_for && !oom->logits.tokens)
		return gradient_knob;
	if (!strcmp(category, mt_category_name(MT_CATEGORY_LOGITS)) && pieces_at_once(oom) > PIECES_MANY)
		return "the logits come in pieces, but all pieces are there at once, kept for the backward, so smaller ones do not help: "
		       "put fewer tokens into a micro-batch, have each piece computed again in the backward (torch.utils.checkpoint "
		       "around it), or keep no graph of what the loss does not use (an entropy that counts for nothing)";
	if (reduces_all_at_once(oom))
		return buckets_knob;
	if (oom_has_whole_gradients(oom))
		return "the gradients are as large as the layers that are gathered, so nothing has been reduced and sharded: within no_sync() "
		       "that is so until the last micro-batch; reduce after each (accelerate's sync_each_batch), or accumulate "
		       "fewer";
	/* Of another process, which waits. */
	if (!strcmp(category, mt_category_name(MT_CATEGORY_GRADIENTS)) && oom->left_over)
		return oom->place && !strcmp(oom->place->phase, mt_phase_name(MT_PHASE_INIT)) ? buffers_knob
											      : zero_knob;
	if (!strcmp(category, mt_category_name(MT_CATEGORY_GRAPHS)) && !has_category(oom, MT_CATEGORY_KV_CACHE))
		return graphs_alone_knob;
	if (!oom->left_over)
		return NULL;
	if (!strcmp(category, mt_category_name(MT_CATEGORY_GATHER_BUFFERS)))
		return gathered_knob;
	if (!strcmp(category, mt_category_name(MT_CATEGORY_WEIGHT_BUFFERS)))
		return sent_knob;
	return oom->by_frame ? oom->by_frame : oom_remedy(category);
}

/* No log-probs of a training: an engine samples for all requests at once. */
int oom_samples_beside_cache(const struct oom *oom)
{
	return oom->evaluates && !strcmp(oom->rule_category, mt_category_name(MT_CATEGORY_LOGITS)) &&
	       oom_bytes_of(oom, oom->it->process, mt_category_name(MT_CATEGORY_KV_CACHE), -1) >= oom_missing(oom->it);
}

static const char engines_weights_knob[] =
	"spread the weights of that engine over more GPUs (its tensor parallel size), or let it sleep while it does not use them";
static const char others_weights_knob[] =
	"shard the weights of that process over more GPUs, or let it take them to the host while it does not use them";

const char *oom_others_remedy(const struct oom *oom)
{
	const char *weights = mt_category_name(MT_CATEGORY_WEIGHTS);

	if (strcmp(oom->rule_category, weights) || !oom_is_others(oom) ||
	    oom_bytes_of(oom, oom->it->process, weights, -1) > oom->rule_bytes / 3)
		return NULL;
	return oom->place_trains ? others_weights_knob : engines_weights_knob;
}

/* Who asks computes no log-probs: he copies or shifts what is there. */
static int is_copied(const struct oom *oom)
{
	const char *logits = mt_category_name(MT_CATEGORY_LOGITS);

	return oom->same.count && !strcmp(oom->rule_category, logits) && strcmp(oom->it->category, logits) != 0;
}

const char *oom_remedy_here(const struct oom *oom)
{
	const char *special = oom_special_remedy(oom);

	if (special)
		return special;
	if (oom->crowded)
		return "it has taken the room in which the engine computes what is asked of it: give the engine a smaller part of the GPU, "
		       "or let it compute less at a time (fewer tokens, fewer or smaller pictures)";
	if (oom_samples_beside_cache(oom))
		return sampler_knob;
	if (is_copied(oom))
		return strstr(oom->same.function, "gather") || strstr(oom->same.next, "gather") ? gathered_logits_knob
												: copied_knob;
	if (oom_others_remedy(oom))
		return oom_others_remedy(oom);
	if (oom->nobody_trains && !strcmp(oom->rule_category, mt_category_name(MT_CATEGORY_KV_CACHE)))
		return oom_is_others(oom) ? "give that engine a smaller part of the GPU"
					  : "give the engine a smaller part of the GPU";
	return oom_remedy(oom->rule_category);
}
