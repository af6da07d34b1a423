# The recordings of a real GPU in samples/gpu: compares the figures of memana with those of the programs and of the
# driver.
. "$SRC/tests/cli/lib.sh"
samples=$SRC/samples/gpu
cp "$samples"/*.zst .
for trace in *.zst; do
	check "$trace: verify" "$memana" verify "$trace"
done

# ---- llama_oom: PyTorch said max_memory_allocated 7,750,450,176 after step 3, and its error had the figures below ----

"$memana" top --json llama_oom.zst >top.json
"$memana" steps --json llama_oom.zst >steps.json
"$memana" oom --json llama_oom.zst >oom.json
# The other libraries took their memory before step 2.
check "llama_oom: step 2 holds what PyTorch had reserved, and the rest" python3 - <<-'END'
	import json
	steps, top = json.load(open("steps.json")), json.load(open("top.json"))
	others = sum(o["bytes"] for o in top["devices"][0]["by_owner"] if o["owner"] != "pytorch")
	held = [s["held_bytes"] for s in steps["processes"][0]["steps"][1:3]]
	assert held == [8365539328 + others] * 2, (held, others)
END
check "llama_oom: the device has what the driver hands out" json top.json 'd["devices"][0]["total_bytes"] == 85017493504'
check "llama_oom: the failed request" json oom.json \
	'(d["failure"]["requested_bytes"], d["failure"]["free_bytes"] >> 20, d["failure"]["phase"]) == (576 << 20, 290, "forward")'
check "llama_oom: what PyTorch had allocated" json oom.json \
	'any(o["source"] == "tensor" for o in d["failures"]) and d["failure"]["refusals"] == 3'
check "llama_oom: NCCL's memory is NCCL's own" json top.json \
	'{c["category"]: c["bytes"] >> 20 for c in d["devices"][0]["by_category"]}["nccl"] == 388'
check "llama_oom: what PyTorch called reserved and unallocated: 1.78 GiB" json oom.json 'round(d["failure"]["slack_bytes"] / 2**30, 2) == 1.78'
check "llama_oom: most of the peak is activations of forward" json top.json \
	'{c["category"]: c["bytes"] >> 30 for c in d["devices"][0]["by_category"]}["activations"] == 67'

# ---- what the driver taught ----

for name in train oom sleep; do
	"$memana" top --json torch_$name.zst >torch_$name.json
done
check "torch_oom: out of memory once, and the allocator had tried again" json torch_oom.json \
	'sum(o["source"] == "tensor" for o in d["oom"]) == 1 and sum(o["refusals"] for o in d["oom"]) >= 1'
"$memana" steps --json torch_sleep.zst >sleep.json
check "torch_sleep: the pool that sleeps is alive and not resident" json sleep.json \
	'max(s["asleep_bytes"] for s in d["processes"][0]["steps"]) >> 20 == 600'
check "torch_train: nothing is lost" json torch_train.json 'sum(t["lost"] for t in d["traces"]) == 0'

# The place of a native stack is that of top, and no function of the allocator.
named() { "$memana" advise --json torch_sleep.zst >advise.json && json advise.json '"the largest part by sum_dim_IntList (an operation of PyTorch)" in d["knobs"][0]["evidence"]'; }
check "torch_sleep: the evidence of a setting names the place" named
later() { "$memana" advise --json llama_oom.zst >advise.json && json advise.json '[k["category"] for k in d["knobs"] if k["key"] == "cross_entropy(input)"] == ["logits and log-probs"]'; }
check "llama_oom: bytes that come later are not said to be there" later
