# The commands of docs/guides. memrec and memana run as they are. Small programs replace the launchers, and pass on the
# same things.
. "$SRC/tests/cli/lib.sh"
mkdir bin
for launcher in python torchrun srun accelerate ray vllm trl; do
	printf '#!/bin/sh\nexec -a %s "%s" "%s" "$@"\n' "$launcher" "$HOST_PYTHON" "$SRC/tests/cli/guides_launcher.py" >bin/$launcher
	sed -i 's/exec -a [a-z]* \("[^"]*"\) \("[^"]*"\)/exec \1 -c "import sys; sys.argv[0] = sys.argv.pop(1); exec(compile(open(sys.argv.pop(1)).read(), sys.argv[0], \x27exec\x27))" '"$launcher"' \2/' bin/$launcher
done
chmod +x bin/*
export PATH=$PWD/bin:$BUILD:$PATH LD_LIBRARY_PATH=$standin BUILD

for page in "$SRC"/docs/guides/*.md; do
	name=$(basename "$page" .md)
	[ "$name" != README ] || continue
	mkdir -p "$name" && ln -s "$SRC/samples" "$name" && ln -s "$BUILD" "$name/build"
	printf 'actor:\n  scheduling_spec: []\n' >"$name/areal.yaml"
	printf 'trainer: {}\n' >"$name/config.yaml"
	python3 "$SRC/tests/cli/guides.py" "$page" "$PWD/$name"
	check "$name.md has at most 80 lines" test "$(wc -l <"$page")" -le 80
	[ "$name" = failures ] || check "$name.md: a trace was written" bash -c 'ls "$0"/*.zst' "$name"
done

# Ranks, jobs and hosts are in the names and in the traces.
check "torchrun: a trace for each rank" bash -c 'ls pytorch/trace.rank0.zst pytorch/trace.rank1.zst'
check "Slurm: host and process in the name" bash -c 'ls slurm/trace.$(uname -n).*.zst'
check "Slurm: the job in the trace" bash -c 'zstd -dcq slurm/trace.*.zst | grep -qa "slurm=7\.0"'
for job in ray openrlhf relax-slime verl areal; do check "$job: the job's own environment was enough" bash -c 'ls "$0"/trace.$(uname -n).*.zst' $job; done
