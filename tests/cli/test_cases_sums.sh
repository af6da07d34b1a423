# Sums of memana advise on tests/cases that have to come out: what is saved is there, "enough" is so for all that is known to come,
# and a row's figures are of the bytes that it is about.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

GiB="2**30"

# ---- the allocator's settings: no more than is idle at the request, and enough where the model finds room ----

begin diffusers-1441
advises "24.1 GiB do not fit into 22.7, however segments are cut" "not any(k['key'] == 'expandable_segments' for k in d['knobs'])"
begin verl-2828
row expandable_segments "r['saved_bytes']['high'] < 2.2 * $GiB and 'finds room for the 13.9 GiB' in r['evidence']" "no more than is idle then, and asked again"
begin pytorch-82218
row expandable_segments "r['saved_bytes']['high'] <= 936 * 2**20 and not r['fits']" "room for this one, and not for the eleven that come"

# ---- one request of a loop that goes on ----

begin ms-swift-7986
advises "a gather goes on to the last layer, though the weights are in one piece: the activations tell" \
	"(d['later']['from'], d['later']['count']) == ('layers', 6) and d['needed_bytes'] > 6 * $GiB"
says "on a page without a setting in its first sentence, too" '6\.2 GiB is missing: 84\.4 GiB would have been in use with the request and what comes after it, .* That counts the 6 more like it that come next: 57 of 64 were there\.' advise
begin transformers-23386
advises "pieces of several sizes, as far on as those of this one" "d['later']['from'] == 'layers' and 4.5 * $GiB < d['later']['bytes'] < 5.5 * $GiB"
row expandable_segments "not r['fits']" "one more of them is not enough"
begin trl-3133
advises "35 of 80" "(d['later']['from'], d['later']['count']) == ('layers', 44)"
begin fairscale-937
advises "files of ranks are no layers" "(d['later']['from'], d['later']['bytes']) == ('series', 0)"
says "and so nobody knows how many come" 'at least 2\.4 MiB is missing: enough\..* It is one of a series, and 215 were there: how many more come is not in the recording' advise
begin pytorch-179443
advises "two states of each weight, though they are as large as the weights" "(d['later']['from'], d['later']['count']) == ('layers', 88)"
begin unsloth-3302
advises "the same while they are loaded" "(d['later']['from'], d['later']['count']) == ('layers', 32)"
begin transformers-10952
advises "and none after the last" "d['later']['from'] == 'unknown'"
begin openrlhf-698
advises "the second of two that have it all" "(d['later']['from'], d['later']['count']) == ('layers', 1) and d['needed_bytes'] > 40 * $GiB"

# ---- no more goes than is there ----

begin speechbrain-841
row "checkpoint(function)" "r['saved_bytes']['high'] < 22.5 * $GiB" "where each layer begins stays: not all 22.8 GiB go"
begin loaded-model
row "checkpoint(function)" "r['saved_bytes']['high'] < 4.3 * $GiB" "a request many times as large as the layers' pieces is none of them"
begin nemo-rl-630
row colocated.enabled "r['saved_bytes']['high'] <= 8 * $GiB" "what the engine has goes elsewhere, and not what the trainer has"
begin trl-3128
says "what comes later is in the peak, too" 'then the peak is 74\.4 to 77\.9 GiB' advise

# ---- enough for what? ----

begin pytorch-1893
advises "a place that came once in earlier steps, and twice now: what they took after it comes still" \
	"d['later']['from'] == 'earlier-steps' and 4 * $GiB < d['later']['bytes'] < 5 * $GiB"
says "with that the peak" 'then the peak is 8\.[0-9] to 10\.[0-9] GiB, in backward' advise
begin ms-swift-10109
advises "weights that go on coming" "d['later']['from'] == 'series'"
says "no row is about that" 'At least 272\.8 MiB is missing: .* It is one of a series, and 62 were there: how many more come is not in the recording, and they are not counted\. The work that begins after the start is not counted' advise
begin sglang-23862
says "the start is not over" 'so that is enough for this request\. What comes after this request is not counted: the rest of the start, and then the work itself\.' advise
begin open-rl-99
says "the first of its kind" 'probably enough for this request; costs much time then the peak, so far, is 72\.3 to 72\.7 GiB' advise
case=transformers-10952
says "also where it is given back" 'is missing: enough for this request\. What comes after this request is not counted\.' advise

# ---- evidence of what the row is about ----

begin accelerate-2531
row sync_each_batch "r['evidence'].startswith('65.2 GiB with the failed request, ')" "the request is in the figure"
case=ms-swift-10109
row gpu_memory_utilization "'20.2 GiB at the failed request, kv cache' in r['evidence']" "and here it is not"
begin gradient-buffers
row actor.megatron.param_offload "'28.0 GiB at the failed request, gradients, and 14.0 GiB of weights' in r['evidence'] and r['saved_bytes']['low'] > 40 * $GiB" "of two kinds, where more goes than one has"
