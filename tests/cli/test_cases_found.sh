# Out-of-memory errors of public issues, each written down before memana was asked (tests/cases): the cause that was found
# in the end is said, with its bytes and its place, and what it was not is not.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

# ---- it was not PyTorch that asked ----

begin slime-1086
says "NCCL starves beside the cache" 'It was NCCL that asked the driver, and PyTorch.s allocator beside it keeps 31.2 GiB in empty segments, .* call torch.cuda.empty_cache\(\) before this, or let the allocator leave a margin' oom
never "no fragments: the segments are empty" '[Ee]xpandable|not in one piece|more GPUs' oom
failure "to the byte" "(n['rule'], n['asked_by'], f['idle_segment_bytes'] >> 20) == ('idle-cache', 'libnccl', 8 * 3994)"

# ---- others on the GPU ----

begin nemo-rl-2619
says "the sleeping engine grows" 'Process pid 4711 sleeps and holds 8.0 GiB more with every step, 20.1 GiB by now, 16.0 GiB of it allocated by process_weights_after_loading .*would have been enough' oom
never "no knob of the trainer" 'fewer tokens|recompute|empty_cache|[Ee]xpandable' oom
failure "whose, and by how much" "(n['rule'], n['pid'], n['growth']['sleeps'], n['growth']['bytes_each'] >> 30) == ('retained', 4711, True, 8)"

begin skyrl-1365
says "the engine sleeps, its weights do not" 'Process pid 4200 sleeps, but 14.0 GiB of it stays on the GPU, .*weights, 14.0 GiB by load_weights .*That would have been enough' oom
says "and what there is most of" 'activations has most, 54.0 GiB' oom
never "it does not grow" 'more with every|empty_cache|[Ee]xpandable' oom

begin nemo-rl-1159
says "the trainer's optimizer is awake" '33.0 GiB, 2 x 16.5 GiB, is kept by step \(adamw.py:243\), called from train .* of rank 0 \(pid 5100\)\. .*optimizer state, 33.0 GiB: the trainer does not train while the engine generates: let it take its states to the host' oom
never "the cache would not have been enough" 'empty_cache|keeps 1' oom

begin nemo-rl-630
says "buckets, twice" '32.5 GiB asked for by get_weights_ipc_handles .* in weight-update .*32.5 GiB, 26 x 1.2 GiB, is kept by .*weight-update buffers, 32.5 GiB: send the weights in smaller buckets' oom
never "the engine's weights are needed now" 'sleeps|empty_cache|[Ee]xpandable' oom

# ---- what there is too much of ----

begin nemo-rl-3697
says "two tensors of one place" '75.0 GiB in 2 pieces is kept by allocate_param_and_grad_buffer' oom
never "nobody else" 'empty_cache|[Ee]xpandable|Process' oom

begin trl-6684
says "the optimizer's first step" 'in optimizer of step 1 .*optimizer state, 29.4 GiB: shard or offload the optimizer state\. The optimizer makes it in its first step, and it stays' oom
never "190 MiB of slack are no cause" '[Ee]xpandable|not in one piece|empty_cache' oom

begin slime-1767
says "a sample that is too long" 'The request is 216,760 tokens x 75,968 words x 4 bytes, .*in the steps before: at most 9,216 tokens.*cap the tokens of a micro-batch and of one sample' oom
never "neither the engine nor fragments" '[Ee]xpandable|not in one piece|sleeps|empty_cache' oom

begin verl-2448
says "chunks that are kept, counted" '15.1 GiB, 13 x 1.2 GiB, is kept by ' oom
says "in the backward" 'in backward .*logits and log-probs, 38.8 GiB' oom
never "no fragments" '[Ee]xpandable|empty_cache' oom

begin open-rl-99
says "activations of all layers" '45.0 GiB, 35 x 1.3 GiB, is kept by forward \(modeling_qwen3.py:82\)\. Most of what is in use is probably activations, 71.8 GiB: recompute activations' oom
never "not the logits" 'log-probs|[Ee]xpandable' oom

# ---- the host ----

begin verl-1335
says "Ray and the machine's memory" 'hardly a GPU out-of-memory: pid 2122 exited normally when 96% of the machine.s memory was in use, .*Ray ends workers from 95%' oom
says "whose bytes" 'Of 448.9 GiB in use there, the processes recorded here have 420.3 GiB\.' oom
says "how near the GPUs came" 'No request for GPU memory failed in this recording, and none came near: GPU 0 had its peak at 40.0 GiB of 80.0 GiB \(50%\), in critic' oom
told_of_none() { "$memana" oom --json "$case"/*.zst >none && json none "$1"; }
check "$case: for programs, too" told_of_none \
	"([h['verdict'] for h in d['host']], d['failure'], d['nearest']['peak_bytes']) == (['left', 'left'], None, 40 << 30)"

begin verl-3453
says "the machine, and somebody else" 'pid 5200 was gone without a normal exit, killed or crashed, when the machine.s memory was used up, .*Of 232.9 GiB in use there, this process has 8.4 GiB: most of it is somebody else.s' oom
never "offloading would make it worse" 'offload' oom

# ---- two runs ----

# compares TITLE WORDS A B: `memana diff` of two cases that were played says so; tells_apart: its JSON, as d.
differ() { "$memana" diff "${@:3}" "$1"/*.zst "$2"/*.zst >difference; [ $? = 1 ]; }
compares() { check "$3 and $4: $1" compared "$2" "$3" "$4"; }
compared() { differ "$2" "$3" && tr -s ' \n' ' ' <difference | grep -qE -- "$1" || { cat difference; return 1; }; }
compares_not() { check "$3 and $4: $1" not_compared "$2" "$3" "$4"; }
not_compared() { differ "$2" "$3" && ! { tr -s ' \n' ' ' <difference | grep -qE -- "$1"; } || { cat difference; return 1; }; }
causes() { differ "$2" "$3" --json && json difference "[c['cause'] for c in d['causes']] == ['$1']"; }

check "trl-6684-bf16: is true" play trl-6684-bf16
compares "the data type" 'It is the data type, probably: weights, and what is as large .* twice the bytes in as many allocations \(bf16 -> fp32.\)' trl-6684-bf16 trl-6684
compares "and back" 'half the bytes in as many allocations \(fp32 -> bf16.\)' trl-6684 trl-6684-bf16
compares_not "no step that did not end" 'step 2' trl-6684-bf16 trl-6684
check "the data type, for programs" causes dtype trl-6684-bf16 trl-6684

check "trl-2806: is true" play trl-2806
check "trl-2806-beta0: is true" play trl-2806-beta0
compares "one more copy" 'B has one more copy of the weights: 14.0 GiB in as many allocations as they have, by deepcopy \(copy.py:162\) in init' trl-2806-beta0 trl-2806
compares "or one fewer" 'A has one more copy of the weights' trl-2806 trl-2806-beta0
compares_not "not the data type" 'bf16|data type' trl-2806-beta0 trl-2806
check "one more copy, for programs" causes copy trl-2806-beta0 trl-2806

# The micro-batches of verl-6698 with two thirds more tokens, and fewer of them so that both go well.
shorter() { sed -e '/^alloc .*fails/,$d' -e 's/1\.\.11/1..4/' -e '/^done/q' -e "$2" "$SRC/tests/cases/verl-6698.case" >"$1.case" && mkdir "$1" && "$BUILD/cases/make_case" "$1.case" "$1"; }
check "with few tokens" shorter few 's/alloc hidden 8GiB/alloc hidden 16384*512KiB/'
check "with more" shorter more 's/alloc hidden 8GiB/alloc hidden 16384*512KiB/; s/16384/27307/'
compares "the tokens" 'It is the tokens of a micro-batch, probably: weights are the same, .* 1.67 times the bytes in as many allocations' few more
compares_not "not the data type" 'bf16|data type' few more
