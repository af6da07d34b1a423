# Two out-of-memory threads that were told before memana was asked, of trainers and engines that take turns on a GPU: an engine that slept
# whenever the trainer had work, and is awake now; and a series of weights of which an earlier round tells how long it is.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

# ---- a checkpoint is saved beside an engine that is awake again ----

begin verl-5079
says "a save is no setting up" '245\.0 MiB asked for by save_checkpoint \(transformer_impl\.py:603\) of rank 0 outside any known phase of step 3' oom
says "that it slept before, and the size second" '49\.5 GiB of what is in use is kv cache: let it sleep here, as it did before .*; a smaller part of the GPU for the engine comes second\.' oom
says "when it slept, and which call it is awake beside" 'Before, that of pid 4200 slept whenever rank 0 \(pid 4100\) computed \(2 sleeps\); it woke up at 120\.0 s, and was awake beside ActorRolloutRefWorker\.save_checkpoint \(engine_workers\.py:547\)\.' oom
failure "the pool" "(n['slept']['pid'], n['slept']['times_computing'], n['slept']['times_in_call'], n['slept']['late_ns']) == (4200, 2, 0, None)"
never "nothing that is so already, or of no use" 'shard|offload|recompute|micro-batch|empty_cache|[Ee]xpandable|too late' oom --brief
says "and in advise, the size second" '^Before any setting: let the engine \(pid 4200\), or its cache at least, sleep before ActorRolloutRefWorker\.save_checkpoint .* whenever rank 0 computed .*Up to 49\.5 GiB can come back so, and 4\.5 GiB is missing with what comes after the request: enough\. Or try actor_rollout_ref\.rollout\.gpu_memory_utilization lower by 0\.07' advise
# 64 pieces each time before, by load_fsdp2_model_to_gpu of other calls.
advises "an earlier round tells how many come" "(d['later']['from'], d['later']['count'], d['later']['bytes']) == ('earlier-round', 18, 18 * 245 << 20)"
says "so many" 'That counts the 18 more like it that come next, as in an earlier round: 45 of 64 were there\.' advise
row rollout.gpu_memory_utilization "r['fits'] and r['saved_bytes']['low'] > 4500 << 20" "with all of them"

without "with a trainer that computed beside it once" '0,/^\talloc batch 700MiB/s//\tof worker\n\tat logforward\n\talloc probe 64MiB\n\tfree probe\n\tof engine\n\tat generate\n&/' beside-once
never "an engine that did not always sleep" 'as it did before|slept whenever' oom
says "the size, or its sleep" 'kv cache, 49\.5 GiB: give the engine a smaller part of the GPU, or let it sleep while the trainer works' oom

case=verl-5079
without "with pieces of another size" 's/^for layer 1\.\.45$/for layer 1..44/; s/alloc back\(.*\) 245MiB/alloc back\1 250MiB/' other-pieces
advises "another size is another series" "d['later']['from'] != 'earlier-round'"

# One of the earlier rounds was shorter: what all of them had is sure.
case=verl-5079
without "with a round that ended before" '/^\tfor layer 1\.\.64$/{N;/ xl-/s/1\.\.64/1..50/;}' short-round
advises "the least is sure" "(d['later']['from'], d['later']['count']) == ('earlier-round', 4)"
says "and said to be the least" 'That counts at least 4 more like it' advise

# States that are made anew by a load, as often as before it: two of each of 40 parts.
begin megatron-bridge-4936
advises "an earlier round of states, too" "(d['later']['from'], d['later']['count']) == ('earlier-round', 7)"
says "and what is not counted" '2\.0 GiB is missing with what comes after the request: enough\. That counts the 7 more like it that come next, as in an earlier round: 72 of 80 were there\. The work that begins after the start is not counted' advise

# ---- an engine whose pages go a second after it has answered ----

begin slime-579
says "that it came too late" '47\.7 GiB of what is in use is kv cache: its release came too late, so wait until that is through before this \(a barrier of all ranks after it, .*free memory.*; no size has to change\.' oom
says "by how much" 'Before, that of pid 6200 slept whenever FSDPTrainRayActor\.wake_up \(actor\.py:190\) ran \(2 sleeps\), and whenever rank 0 \(pid 6100\) computed \(1 sleep\); it woke up at 81\.0 s\. 63\.0 GiB of pid 6200 went 1\.0 s after this request\.' oom
failure "the release" "n['slept']['late_bytes'] > 62 << 30 and 1e9 < n['slept']['late_ns'] < 1.1e9"
never "no size, and no offload" 'smaller part|shard|offload|recompute|micro-batch|[Ee]xpandable' oom --brief
says "and in advise" '^Before any setting: wait before FSDPTrainRayActor\.wake_up \(actor\.py:190\) until the release of pid 6200 is through .* 63\.0 GiB went 1\.0 s after the request; no size has to change\. Up to 63\.0 GiB can come back so' advise
never "no size in the answer" 'Or try|^Try' advise

without "without the release" '$d' awake
says "an engine that slept at earlier calls" 'let it sleep here, as it did before .*comes second\. Before, that of pid 6200 slept whenever FSDPTrainRayActor\.wake_up \(actor\.py:190\) ran \(2 sleeps\)' oom
never "and did not go" 'too late|after this request' oom
says "and in advise, with the size" '^Before any setting: let the engine \(pid 6200\), or its cache at least, sleep before FSDPTrainRayActor\.wake_up \(actor\.py:190\), as it did before, whenever that ran .* Or try --sglang-mem-fraction-static lower by 0\.17' advise

case=slime-579
without "with a release long after" 's/^wait 1s$/wait 20s/' long-after
never "what goes much later was not late" 'too late|after this request' oom

# It was never told to sleep: that it should is another thing, which nobody knows.
case=slime-579
without "with an engine that never sleeps" '/^sleep kv-cache/d; /^wake engine-weights/d; /^wake kv-cache/d; s/79\.2GiB/115GiB/; s/^wake optimizer fails/wake optimizer\nalloc more 60GiB fails/' never-slept
never "an engine that never slept" 'as it did before|slept whenever|too late' oom

# The same with a first sleep that comes a second later.
case=slime-579
without "with an engine that sleeps for the first time" '1,/^# the second$/{/^sleep kv-cache/d;/^wake engine-weights/d;/^wake kv-cache/d}; s/79\.2GiB/115GiB/; s/^wake optimizer fails/wake optimizer\nalloc more 40GiB fails/' first-sleep
says "too late all the same" 'its release came too late.* 63\.0 GiB of pid 6200 went 1\.0 s after this request' oom
never "and nothing of before" 'slept whenever|as it did before' oom
