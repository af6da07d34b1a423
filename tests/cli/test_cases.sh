# Out-of-memory errors that people met, played again (tests/cases): what memana says of each must be what was found out
# in the end, with the bytes, the phase, the process and the line that matter.
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
says "oom: no knob, either" '4.6 GiB asked for by .*, 686.0 MiB free. 51.0 GiB of the 78.8 GiB that the process has in use is kept by forward_step \(transformer_impl.py:1530\), 4.6 GiB more with every micro-batch: no knob fixes this, drop the reference; see memana retained' oom
told_failure() { "$memana" oom --json "$case"/*.zst >failure && json failure "(lambda f: $1)(d['failure'])"; }
check "$case: oom: what is kept, to the byte" told_failure \
	"(n['rule'], n['bytes'], n['growth']['bytes_each'], n['growth']['each'], n['growth']['place']) == ('retained', 11 * 16384 * 151936 * 2, 16384 * 151936 * 2, 'micro-batch', 'transformer_impl.py:1530') if (n := f['next']) else 0"
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
says "in reserve, but in pieces" '3.8 GiB asked for by .*, 3.7 GiB free. The allocator has 57.9 GiB in reserve, but not in one piece: 16 segments .*; see memana frag [^ ]+ Expandable segments are not possible here: a pool that sleeps is in use\.' oom
says "the dispatcher's tensors are left" '6.0 GiB MoEAlltoAllTokenDispatcher.preprocess \(token_dispatcher.py:498\)' phases
says "the whole word" '114.0 GiB weight-update +56.0 GiB' steps
says "the step that did not end" 'The peak of GPU 0, 136.8 GiB, is in step 2, which did not end, in backward' steps

# ---- who shares the GPU ----

begin verl-6912
tells "the driver refused the engine" \
	"[(o['requested_bytes'], o['free_bytes'] >> 20, o['phase']) for o in d['oom']] == [(26 << 30, (80 << 10) - (63 << 10) - 1000, 'rollout')]" top
tells "the trainer's cache" "$(parts category)['allocator slack'] == 36 << 30 and gpu['by_process'][0]['pid'] == 4100" top
says "whose cache, and what to do" \
	'26.0 GiB asked for by .*, 16.0 GiB free. .*rank 0 \(pid 4100\) keeps 36.0 GiB in reserve that no tensor uses: let it give that back before this' oom
check "$case: the request, and the neighbour" told_failure \
	"(f['source'], f['requested_bytes'] >> 30, {p['pid']: p['slack_bytes'] >> 30 for p in f['processes']}) == ('driver', 26, {4100: 36, 4200: 0})"
check "$case: the weights that woke up are no empty segments" told_failure \
	"(f['idle_segment_bytes'], f['asleep_bytes'] >> 30, {c['category']: c['bytes'] >> 30 for c in f['by_category']}) == (0, 26, {'weights': 19, 'optimizer state': 8})"
says "the idle cache in words" '36.0 GiB \(57%\) is slack: the allocator holds it, no tensor uses it' top

says "and what to do if it cannot" 'the request fits\. If it cannot, let the engine that wakes up have a smaller part of the GPU\.' oom

begin verl-2820
tells "a GPU, in log-probs" "gpu['kind'] == 'cuda' and d['oom'][-1]['phase'] == 'logprob' and d['oom'][-1]['device'] == gpu['id']" top
says "not the host" 'The host.s memory was not short \(cgroup 60.0 GiB of 200.0 GiB' top
tells "what each process holds" "{p['pid']: p['bytes'] >> 30 for p in gpu['by_process']} == {4200: 43, 4100: 26}" top
says "the engine is awake" 'The largest part of what is in use is kv cache, 33.0 GiB: the engine is awake while the trainer works: see whether it is told to sleep, and by whom; else give it a smaller part' oom
says "how much others have" 'pid 4200 43.0 GiB .* rank 0, which asked 26.6 GiB .* other processes 300.0 MiB' oom
tells "KV cache and graphs told apart" \
	"($(parts category)['kv cache'], $(parts category)['cuda graphs']) == (33 << 30, 2 << 30)" top
says "what was not recorded" 'other processes 300.0 MiB' top

begin graphs-awake
tells "graphs at the trainer's peak" "gpu['peak']['pid'] == 4100 and $(parts category)['cuda graphs'] == 5 << 30" top
tells "the engine's weights and KV cache are not there" \
	"'kv cache' not in $(parts category) and {p['pid']: p['bytes'] >> 30 for p in gpu['by_process']} == {4100: 66, 4200: 5}" top
says "what sleeps at the end" 'is from init: 20.0 GiB, .* 45.0 GiB more is allocated, but asleep then' phases
says "whose bytes those at the ends of steps are" '^2 steps of rank 0 ended, the last one with 15.0 GiB in use: ' steps
says "nor is it retained" 'are alive 20.0 GiB since step 1 \(weights 15.0 GiB, cuda graphs 5.0 GiB\). 45.0 GiB more is allocated, but asleep then' retained
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
says "a micro-batch that is too long" 'The request is 102,738 tokens x 151,936 words x 4 bytes, as large as the logits of one micro-batch \(in the steps before: at most 9,216 tokens\): compute log-probs in chunks or fused, or cap the tokens of a micro-batch and of one sample' oom
says "what fills the GPU" '58.2 GiB asked for by .* Most of what is in use is logits and log-probs, 58.2 GiB' oom
check "$case: one failure, not three" told_failure "(f['refusals'], f['phase'], f['place']) == (2, 'forward', 'ppo_utils.py:718')"
says "tokens times words" 'logits and log-probs 58.2 GiB 77% #* largest: 102,738 tokens x 151,936 words x 4 bytes' top --why
tells "when memory ran out" "gpu['peak']['bytes'] >> 30 == 75 and $(parts category)['logits and log-probs'] == 102738 * 151936 * 4" top --at oom
tells "against 9216 tokens in a step before" "$(parts category)['logits and log-probs'] == 2 * 9216 * 151936 * 4" top --at step:2
says "nothing grows" '^Steady: .* The peak of GPU 0, 76.0 GiB, is in step 4, which did not end, in forward' steps
tells "after three steps that went well" "d['traces'][0]['steps'] == 3 and gpu['peak']['step'] == 4" top

begin nemo-rl-3005
tells "9.27 GiB are 4 x 4096 tokens" "d['oom'][-1]['requested_bytes'] == 4 * 4096 * 151936 * 4 and d['oom'][-1]['phase'] == 'logprob'" top
says "who asked" '9.3 GiB asked for by _compute_distributed_log_softmax \(model_utils.py:52\) in logprob .*, 8.7 GiB free' top
check "$case: to the byte" told_failure "(f['requested_bytes'], f['phase'], f['function']) == (4 * 4096 * 151936 * 4, 'logprob', '_compute_distributed_log_softmax')"
says "the request, and what to do" 'The request is 16,384 tokens x 151,936 words x 4 bytes, as large as the logits of one micro-batch: compute log-probs in chunks' oom
check "$case: its figures" told_failure \
	"f['next']['logits'] == {'tokens': 4 * 4096, 'words': 151936, 'element_bytes': 4, 'earlier_tokens': None}"
says "tokens times words" 'largest: 16,384 tokens x 151,936 words x 4 bytes' top --why
tells "the logits are there already, as large" "$(parts category)['logits and log-probs'] == 4 * 4096 * 151936 * 4" top

begin easyr1-9
tells "against 8192 tokens in the steps before" "$(parts category)['logits and log-probs'] == 8192 * 151936 * 4" top --at step:3
tells "the fifth step" "gpu['peak']['step'] == 5 and d['traces'][0]['steps'] == 4 and d['oom'][-1]['phase'] == 'backward'" top
says "not like the steps before" '^Steady: .* The peak of GPU 0, 66.9 GiB, is in step 5, which did not end, in backward' steps
says "oom: one long micro-batch" 'The request is 36,000 tokens x 151,936 words x 4 bytes, .*\(in the steps before: at most 8,192 tokens\)' oom
says "the rule's word for it, and the tokens" 'why: a rule says so of a function on its stack; 36,000 tokens x 151,936 words x 4 bytes' top --why
says "the logits and their gradient are most of it" 'Most of what is in use is (probably )?logits and log-probs, 40.8 GiB\.' oom
tells "one long micro-batch" "d['oom'][-1]['requested_bytes'] == 36000 * 151936 * 4" top

# ---- neither activations nor settings ----

begin host-oom
says "hardly the GPU" '^This was hardly a GPU out-of-memory: pid 4100 was gone .* its cgroup was full, and the GPU had room' top
says "oom says so, too" '^This was hardly a GPU out-of-memory: .* No request for GPU memory failed' oom
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
says "which GPU has what of another phase" 'from init in forward on GPU 0, .* from init in forward on GPU 1, ' retained
says "in which phase" 'forward 2 37.0 GiB 37.0 GiB 77.0 GiB \+108% rank 1' top

# ---- a whole program, with a pool that sleeps and no tensors ----

record() { LD_LIBRARY_PATH=$standin STANDIN_MEM=80GiB "$memrec" -o rl_step.zst -- "$BUILD/samples/rl_step" --steps 3 --quiet; }
check "rl_step is recorded" record
check "rl_step: all reports add up" adds_up rl_step.zst
