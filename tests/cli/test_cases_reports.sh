# The answers of top, frag, growth, retained, steps, phases and diff on tests/cases: bytes, phases, processes and
# lines. test_cases.sh checks the causes.
. "$SRC/tests/cli/lib.sh"

. "$SRC/tests/cli/cases.sh"

# ---- what grows and what is in pieces ----

begin verl-6698
says "the phase and the line at the peak" 'Peak 78.8 GiB held \(78.8 GiB in tensors, [^)]* slack\) of 80.0 GiB .* in forward. 81% of it is .*allocated in forward, most of it by forward_step \(transformer_impl.py:1530\)' top
tells "the retained output, to the byte" \
	"[(s['bytes'], s['count']) for s in gpu['sites'] if s['stack'][0]['line'] == 1530] == [(11 * 16384 * 151936 * 2, 11)]" top
tells "the failed request" "d['oom'][-1]['requested_bytes'] == 16384 * 151936 * 2 and d['oom'][-1]['phase'] == 'forward'" top

says "no knob" 'forward_step \(transformer_impl.py:1530\) keeps 4.6 GiB more with every micro-batch .* 51.0 GiB .*: no knob fixes this' retained
told_growth() { "$memana" retained --json "$case"/*.zst >growth && json growth "$1"; }
check "$case: what each micro-batch keeps" told_growth \
	"[(g['bytes_each'], g['parts'], g['phase'], g['line']) for g in d['per_micro_batch']] == [(16384 * 151936 * 2, 11, 'forward', 1530)]"
says "what stays" 'Most of what stays to the end is from forward: 63.6 GiB, 51.0 GiB of it .*by forward_step \(transformer_impl.py:1530\)' phases

begin nemo-rl-2319
tells "the second step's backward" "d['oom'][-1]['phase'] == 'backward' and gpu['peak']['step'] == 2 and d['traces'][0]['steps'] == 1" top
tells "what the dispatcher keeps" \
	"sum(s['bytes'] for s in gpu['sites'] if s['stack'][0]['function'].startswith('MoEAlltoAll')) == 16 * (384 << 20)" top
tells "what is pinned, and by whom" \
	"(gpu['pinned_segments'], gpu['pinned_idle_bytes'] >> 30, gpu['pinned'][0]['line'], gpu['largest_hole_bytes']) == (16, 57, 498, 7 << 29)" frag
says "what is allocated in log-probs and in training has one name" '128.0 MiB +0.1% model.py:210 forward .*called from .*train \(dtensor_policy_worker_v2.py:420\)' top --by site -n 0
says "the same in words" '16 segments with 57.9 GiB idle are pinned by 6.1 GiB of tensors, most by MoEAlltoAllTokenDispatcher.preprocess \(token_dispatcher.py:498\)' frag
says "why not expandable segments" 'Expandable segments are not possible here: a pool that sleeps is in use' frag
says "what the cache would give back, and who has to let go" 'empty_cache\(\) would give back nothing: free the tensors that pin the segments first, or do not keep them: those of MoEAlltoAllTokenDispatcher.preprocess \(token_dispatcher.py:498\)' frag
says "what outlived the only step" '^1 step ended, and 6.0 GiB that no later step should need outlived it, all of it activations from forward by MoEAlltoAllTokenDispatcher.preprocess \(token_dispatcher.py:498\): record four or more steps to see' retained
says "the dispatcher's tensors are left" '6.0 GiB MoEAlltoAllTokenDispatcher.preprocess \(token_dispatcher.py:498\)' phases
says "the whole word" '114.0 GiB weight-update +56.0 GiB' steps
says "the step that did not end" 'The peak of GPU 0, 136.8 GiB, is in step 2, which did not end, in backward' steps

# ---- who shares the GPU ----

begin verl-6912
tells "the driver refused the engine" \
	"[(o['requested_bytes'], o['free_bytes'] >> 20, o['phase']) for o in d['oom']] == [(26 << 30, (80 << 10) - (63 << 10) - 1000, 'rollout')]" top
tells "the trainer's cache" "$(parts category)['allocator slack'] == 36 << 30 and gpu['by_process'][0]['pid'] == 4100" top
says "the idle cache in words" '36.0 GiB \(57%\) is slack: the allocator holds it, no tensor uses it' top

begin verl-2820
tells "a GPU, in log-probs" "gpu['kind'] == 'cuda' and d['oom'][-1]['phase'] == 'logprob' and d['oom'][-1]['device'] == gpu['id']" top
says "not the host" 'The host.s memory was not short \(cgroup 60.0 GiB of 200.0 GiB' top
tells "what each process holds" "{p['pid']: p['bytes'] >> 30 for p in gpu['by_process']} == {4200: 43, 4100: 26}" top
tells "KV cache and graphs told apart" \
	"($(parts category)['kv cache'], $(parts category)['cuda graphs']) == (33 << 30, 2 << 30)" top
says "what was not recorded" 'other processes 300.0 MiB' top

begin graphs-awake
tells "graphs at the trainer's peak" "gpu['peak']['pid'] == 4100 and $(parts category)['cuda graphs'] == 5 << 30" top
tells "the engine's weights and KV cache are not there" \
	"'kv cache' not in $(parts category) and {p['pid']: p['bytes'] >> 30 for p in gpu['by_process']} == {4100: 66, 4200: 5}" top
says "what sleeps at the end" 'is from init: 20.0 GiB, .* 45.0 GiB more is in sleeping pools, without memory then' phases
says "whose bytes those at the ends of steps are" '^2 steps of rank 0 ended, the last one with 15.0 GiB in use: ' steps
says "nor is it retained" 'Alive at the end of the last step: 20.0 GiB since step 1 \(weights 15.0 GiB, cuda graphs 5.0 GiB\). 45.0 GiB more is in sleeping pools, without memory then' retained
tells "steps of both" "{t['pid']: t['steps'] for t in d['traces']} == {4100: 2, 4200: 2}" top

begin trainer-asleep
tells "the engine's peak, with no byte of the trainer's but NCCL" \
	"(gpu['peak']['pid'], {p['pid']: p['bytes'] >> 30 for p in gpu['by_process']}) == (6200, {6200: 62, 6100: 1})" top
tells "the trainer, which waits in init, has no part in how high that went" \
	"max(p['bytes'] >> 30 for p in gpu['phase_peaks'] if p['phase'] == 'init') < 62" top
tells "and it is NCCL" "$(parts category) == {'kv cache': 45 << 30, 'weights': 15 << 30, 'nccl': 1 << 30, 'logits and log-probs': 2 << 30}" top
says "nothing is unexplained" 'recorded then 63.0 GiB context 1000.0 MiB unexplained 0 B these processes 64.0 GiB in use on the GPU 64.0 GiB' top

# ---- sizes that say what they are ----

begin slime-1951
tells "58.15 GiB are 102738 tokens" "d['oom'][-1]['requested_bytes'] == 102738 * 151936 * 4 and d['oom'][-1]['phase'] == 'forward'" top
says "who asked" '58.2 GiB asked for by calculate_log_probs_and_entropy \(ppo_utils.py:718\)' top
tells "one error, not three" "[(o['source'], o['refusals']) for o in d['oom']] == [('tensor', 2)]" top
tells "most of the peak is the logits of that sample" "$(parts category)['logits and log-probs'] == 102738 * 151936 * 4" top
says "tokens times words" 'logits and log-probs 58.2 GiB 77% #* largest: 102,738 tokens x 151,936 words x 4 bytes' top --why
tells "against 9216 tokens in a step before" "$(parts category)['logits and log-probs'] == 2 * 9216 * 151936 * 4" top --at step:2
says "nothing grows" '^Steady: .* The peak of GPU 0, 76.0 GiB, is in step 4, which did not end, in forward' steps
tells "after three steps that went well" "d['traces'][0]['steps'] == 3 and gpu['peak']['step'] == 4" top

begin nemo-rl-3005
tells "9.27 GiB are 4 x 4096 tokens" "d['oom'][-1]['requested_bytes'] == 4 * 4096 * 151936 * 4 and d['oom'][-1]['phase'] == 'logprob'" top
says "who asked" '9.3 GiB asked for by _compute_distributed_log_softmax \(model_utils.py:52\) in logprob .*, 8.7 GiB free' top
says "tokens times words" 'largest: 16,384 tokens x 151,936 words x 4 bytes' top --why
tells "the logits are there already, as large" "$(parts category)['logits and log-probs'] == 4 * 4096 * 151936 * 4" top

begin easyr1-9
tells "against 8192 tokens in the steps before" "$(parts category)['logits and log-probs'] == 8192 * 151936 * 4" top --at step:3
tells "the fifth step" "gpu['peak']['step'] == 5 and d['traces'][0]['steps'] == 4 and d['oom'][-1]['phase'] == 'backward'" top
says "not like the steps before" '^Steady: .* The peak of GPU 0, 66.9 GiB, is in step 5, which did not end, in backward' steps
says "the rule's word for it, and the tokens" 'why: by a rule for a function on its stack; 36,000 tokens x 151,936 words x 4 bytes' top --why
tells "one long micro-batch" "d['oom'][-1]['requested_bytes'] == 36000 * 151936 * 4" top

# ---- neither activations nor settings ----

begin host-oom
says "hardly the GPU" '^This was hardly a GPU out-of-memory: pid 4100 was gone .* its cgroup was full, and the GPU had room' top
says "no idle byte is no fragmentation" 'Fragmentation is no problem here: nothing of 16.0 GiB reserved is idle at the peak' frag
tells "no error of the GPU" "d['oom'] == [] and d['host']['processes'][0]['cgroup_limit_bytes'] == 128 << 30" top

begin nccl-lazy
tells "NCCL beside the allocator" "$(parts category)['nccl'] == 3 << 30 == $(parts owner)['libnccl']" top
tells "taken where it was first used" \
	"{s['phase']: s['bytes'] >> 30 for s in gpu['sites'] if s['category'] == 'nccl'} == {'logprob': 1, 'backward': 2}" top

begin two-ranks
tells "each GPU has its own peak" "[v['peak']['bytes'] >> 30 for v in d['devices']] == [37, 77]" top
says "which rank, and how far from the other" '^Steady: .* Ranks: rank 1 peaks highest, 40.0 GiB above rank 0' steps
says "one hole has nothing to be joined with" '2.0 GiB of 37.0 GiB reserved \(5.4%\) is idle .*, in one hole. torch.cuda.empty_cache\(\) would give back 2.0 GiB. The allocator' frag
says "which GPU has what of another phase" 'from init, alive in forward on GPU 0, .* from init, alive in forward on GPU 1, ' retained
says "in which phase" 'forward 2 37.0 GiB 37.0 GiB 77.0 GiB \+108% rank 1' top

# ---- places that are retained, or are not ----

begin transformerengine-3427
says "what a pipeline has in flight is not retained" '^forward \(transformer_layer\.py:610\) and 1 other place keep 144\.0 MiB more .* of step 4; so in 1 of 4 steps\), 51\.1 GiB when the last one begins, while CUDA graphs are captured: capture fewer' retained
never "nor what the warm-up lets go of" 'transformer_layer\.py:480\): 600|157\.7' retained
begin torchmetrics-1094
says "each place" 'forward \(model.py:71\): 210\.0 MiB each' retained

# ---- what a category is known by ----

begin torchtune-389
tells "the state is what _init_group made" "$(parts category)['optimizer state'] == 2 * (2 * (32000 * 4096 * 2) + 32 * (386 << 20))" top
begin loaded-model
tells "what was loaded is the model itself" "$(parts category)['weights'] == 24 * (192 << 20) and 'state dicts' not in $(parts category)" top
says "probably so, and why" 'loaded in init \(24 of this size\), where no other weights have this size' top --why
begin nemo-rl-2775
says "how it is known" '28 of this size: as many as were freed before \(28\)' top --at oom --why
begin slime-1767
says "why" '216,760 tokens x 75,968 words x 2 bytes, like the request that failed' top --why
begin nemo-rl-3697
says "why" 'half the size of a gradient buffer' top --why

# ---- requests that were refused ----

begin maniskill-1157
never "a refusal before it is none of its own" 'of step 21 at' top
without "without the end" '/saved5 300MiB fails/d' had
says "in top" '^A request was refused on GPU 0: .*; a later try got the memory within a second\.' top
never "no failure in top" 'Out of memory on' top
begin skyrl-1768
says "the pool of one process is in frag" 'would join the holes.*in this process alone: pid 4200' frag

# ---- two runs ----

# compares TITLE WORDS A B: `memana diff` of two cases that were played says so.
differ() { "$memana" diff "${@:3}" "$1"/*.zst "$2"/*.zst >difference; [ $? = 1 ]; }
compares() { check "$3 and $4: $1" compared "$2" "$3" "$4"; }
compared() { differ "$2" "$3" && tr -s ' \n' ' ' <difference | grep -qE -- "$1" || { cat difference; return 1; }; }
compares_not() { check "$3 and $4: $1" not_compared "$2" "$3" "$4"; }
not_compared() { differ "$2" "$3" && ! { tr -s ' \n' ' ' <difference | grep -qE -- "$1"; } || { cat difference; return 1; }; }
causes() { differ "$2" "$3" --json && json difference "[c['cause'] for c in d['causes']] == ['$1']"; }

check "trl-6684: is true" play trl-6684
check "trl-6684-bf16: is true" play trl-6684-bf16
compares "the data type" 'Probably the data type: weights and tensors of their size have twice the bytes in as many allocations \(bf16 -> fp32.\)' trl-6684-bf16 trl-6684
compares "and back" 'half the bytes in as many allocations \(fp32 -> bf16.\)' trl-6684 trl-6684-bf16
compares_not "no step that did not end" 'step 2' trl-6684-bf16 trl-6684
check "the data type, for programs" causes dtype trl-6684-bf16 trl-6684

check "trl-2806: is true" play trl-2806
check "trl-2806-beta0: is true" play trl-2806-beta0
compares "one more copy" 'B has one more copy of the weights, 14.0 GiB in as many allocations as the weights, by deepcopy \(copy.py:162\) in init' trl-2806-beta0 trl-2806
compares "or one fewer" 'A has one more copy of the weights' trl-2806 trl-2806-beta0
compares_not "not the data type" 'bf16|data type' trl-2806-beta0 trl-2806
check "one more copy, for programs" causes copy trl-2806-beta0 trl-2806

# The micro-batches of verl-6698 with two thirds more tokens, and fewer of them so that both go well.
shorter() { sed -e '/^alloc .*fails/,$d' -e 's/1\.\.11/1..4/' -e '/^done/q' -e "$2" "$SRC/tests/cases/verl-6698.case" >"$1.case" && mkdir "$1" && "$BUILD/cases/make_case" "$1.case" "$1"; }
check "with few tokens" shorter few 's/alloc hidden 8GiB/alloc hidden 16384*512KiB/'
check "with more" shorter more 's/alloc hidden 8GiB/alloc hidden 16384*512KiB/; s/16384/27307/'
compares "the tokens" 'Probably the tokens of a micro-batch: weights are equal, .* 1.67 times the bytes in as many allocations' few more
compares_not "not the data type" 'bf16|data type' few more

# ---- a whole program, with a pool that sleeps and no tensors ----

record() { LD_LIBRARY_PATH=$standin STANDIN_MEM=80GiB "$memrec" -o rl_step.zst -- "$BUILD/samples/rl_step" --steps 3 --quiet; }
check "rl_step is recorded" record
check "rl_step: all reports add up" adds_up rl_step.zst

# ---- a trace of one process where another one was there, too ----

stranger() {
	mkdir stranger && "$BUILD/cases/make_case" "$SRC/tests/cases/alone/stranger-returns.case" stranger && "$memana" oom --json stranger/trainer.zst >stranger.json &&
		json stranger.json "[(c['id'], c['expected_bytes'] < 15 << 30, c['fits']) for c in d['causes'][:1]] == [('outside', True, True)]"
}
check "bytes of a stranger: a sample is older than the trainer's own peak, which had their room" stranger

# ---- two devices, and nothing failed ----

near() {
	mkdir near && "$BUILD/cases/make_case" "$SRC/tests/cases/alone/nearest.case" near && "$memana" oom --json near/*.zst >near.json &&
		json near.json "{c['pid'] for c in d['causes']} == {2}"
}
check "the causes are of the device that the verdict names" near
