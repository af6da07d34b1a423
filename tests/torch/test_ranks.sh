# PyTorch's own ways to make processes: DataLoader workers, torchrun, torch.multiprocessing.
. "$SRC/tests/cli/lib.sh"
[ -n "$PYTHON" ] || skip "no python3 with torch"
torch=$SRC/tests/torch
traces() { echo $(ls -- *.zst 2>/dev/null); }
record() { # FILE COMMAND...: under memrec
	rm -f ./*.zst
	status 0 "$memrec" -o "$@"
}
verified() { # every trace is whole, and its totals are the allocator's
	"$memana" verify --json "$@" >verified.json &&
		json verified.json 'all(t["compared"] > 0 and t["differing"] == 0 for t in d["traces"])' &&
		"$memana" top --json "$@" >top.json && json top.json 'all(t["complete"] and not t["lost"] for t in d["traces"])'
}

# --- DataLoader
forked() {
	record fork.zst -- "$PYTHON" "$torch/loader.py" fork && [ "$(traces)" = fork.zst ] && grep -qx 'done' out &&
		verified fork.zst && json top.json 'd["traces"][0]["steps"] == 4'
}
check "DataLoader workers that are forked: one trace, of the trainer, with its steps" forked
spawned() {
	record spawn.zst -- "$PYTHON" "$torch/loader.py" spawn && [ "$(traces | wc -w)" = 3 ] && verified ./*.zst &&
		json top.json 'sorted(t["steps"] for t in d["traces"]) == [0, 0, 4]'
}
check "workers that are spawned: a trace of each" spawned

# --- ranks
ranks() { # the traces of two ranks, and what they say
	[ "$(traces)" = "ddp.rank0.zst ddp.rank1.zst" ] && verified ./*.zst &&
		json top.json '[(t["rank"], t["steps"]) for t in d["traces"]] == [(0, 3), (1, 3)]' &&
		[ "$(sort out)" = "$(printf 'rank %d of 2: done\n' 0 1)" ] && grep -q "^memrec: next: .* ddp.rank0.zst ddp.rank1.zst$" err || { cat out err; return 1; }
}
torchrun() { record ddp.zst -- "$PYTHON" -m torch.distributed.run --standalone --nproc_per_node 2 "$torch/ddp.py" && ranks; }
check "torchrun: a trace of each rank" torchrun
both() {
	"$memana" top ddp.rank0.zst ddp.rank1.zst >top.txt && grep -q 'rank 0, pid' top.txt && grep -q 'rank 1, pid' top.txt &&
		json top.json 'd["devices"][0]["peak"]["bytes"] == sum(p["bytes"] for p in d["devices"][0]["by_phase"])'
}
check "memana top joins them" both
spawn_ranks() { record ddp.zst -- "$PYTHON" "$torch/ddp.py" && ranks; }
check "torch.multiprocessing.spawn: a trace of each rank" spawn_ranks
as_printed() {
	local line
	line=$("$memrec" env --steps 2 -o ddp.zst torchrun | grep -v '^#')
	line=${line/torchrun --nproc_per_node 8 train.py/"$PYTHON" -m torch.distributed.run --standalone --nproc_per_node 2 "$torch/ddp.py"}
	rm -f ./*.zst && bash -c "$line" >out 2>err && verified ./*.zst && json top.json '[t["steps"] for t in d["traces"]] == [2, 2]'
}
check "what memrec env torchrun prints does what it says" as_printed
