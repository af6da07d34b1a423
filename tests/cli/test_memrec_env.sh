# memrec env: each launcher can read the printed settings.
. "$SRC/tests/cli/lib.sh"

"$memrec" env --steps 3 -o '/shared/run 1/trace.zst' >general
check "without a name: the general text" grep -qF "$memrec --steps 3 -o '/shared/run 1/trace.zst' -- python train.py" general
for name in torchrun slurm ray verl areal relax slime openrlhf nemo-rl trl; do
	text() { status 0 "$memrec" env "$name" && [ -s out ] && ! grep -q '@[A-Z]*@' out && [ ! -s err ]; }
	check "$name is known" text
	check "$name is named in the general text" grep -qw "$name" general
done
unknown() { status 2 "$memrec" env slrum && one_line err 'slrum: no such launcher \(.*slurm'; }
check "an unknown one is a usage error that names the others" unknown

# The agent reads the same options back. No character in them has a meaning for a launcher.
value=$(sed -n "s/^export MEMREC_OPTIONS='\(.*\)'$/\1/p" general)
harmless() { [ -n "$value" ] && [[ $value =~ ^[A-Za-z0-9_./:+%-]+$ ]]; }
check "the options hold nothing that a shell, YAML or a split at = and , would touch" harmless
check "they say what was asked for" grep -qF 'steps:3' <<<"$value"
check "and a name of its own for each process" grep -qF 'output:/shared/run%201/trace.%25h.%25p.zst' <<<"$value"


# The text names the place of the files of other machines.
where() { [ "$("$memrec" env "$@" | sed -n 's/^# Each process writes \(.*\) on its own machine.*/\1/p')" = "$want" ]; }
want=$PWD/trace.HOST.PID.zst
for name in ray verl areal relax slime openrlhf nemo-rl slurm; do check "$name: the place of the files" where "$name"; done
want='/shared/100%/RANK-HOST/PID.zst'
check "letters of a name, each as a word" where -o '/shared/100%%/%r-%h/%p.zst' verl
check "the percent sign is explained where it stands" bash -c '"$0" env verl | grep -q "^# %25h below is %h" && ! "$0" env slurm | grep -q %25h' "$memrec"
check "below one launcher of this machine there is nothing to explain" bash -c '! "$0" env torchrun | grep -q "own machine"' "$memrec"

# The texts are read by what would read them.
yaml() {
	"$memrec" env "$1" | sed '/^# or/,$d' >text.yaml
	python3 - "$2" <<'END'
import sys
try:
    import yaml
except ImportError:  # then at least its shape: keys, indented by blanks
    import re
    sys.exit(not all(re.fullmatch(r"#.*|( *(- )?\w+:)( \"[^\"]*\")?", line.rstrip("\n")) for line in open("text.yaml")))
found = yaml.safe_load(open("text.yaml"))
for key in sys.argv[1].split("."):
    found = found[int(key) if key.isdigit() else key]
assert set(found) == {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "MEMREC_OPTIONS"}, found
END
}
syntax() { # NAME: what is shell in it, is; MODEL and the rest are words
	"$memrec" env --step-mark "it's" "$1" >text.sh && bash -n text.sh && sh -n text.sh
}
for name in torchrun slurm slime openrlhf nemo-rl trl verl; do
	check "$name: a shell reads it" syntax "$name"
done
check "relax: YAML" yaml relax env_vars
check "areal: YAML" yaml areal actor.scheduling_spec.0.env_vars
variables='{"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "MEMREC_OPTIONS"}'
for name in slime openrlhf; do
	job_json() { "$memrec" env $name | sed -n "s/.*--runtime-env-json '\(.*\)' -- .*/\1/p" >job.json && json job.json "set(d['env_vars']) == $variables"; }
	check "$name: JSON for a job" job_json
done
slime_json() { "$memrec" env slime | sed -n "s/^--train-env-vars '\(.*\)'$/\1/p" >vars.json && json vars.json "set(d) == $variables"; }
check "slime: JSON for the trainer" slime_json
relax_json() { "$memrec" env relax | sed -n "s/^--train-env-vars '\(.*\)'$/\1/p" >vars.json && json vars.json "set(d) == $variables"; }
check "relax: JSON for the trainer" relax_json
ray_json() { "$memrec" env ray | sed -n "s/.*--runtime-env-json '\(.*\)' -- .*/\1/p" >ray.json && json ray.json "set(d['env_vars']) == $variables"; }
check "ray: JSON for a job" ray_json
ray_python() { "$memrec" env ray | sed -n 's/^ray\.init(\(.*\))$/\1/p' >call && python3 -c "dict(eval('dict(' + open('call').read() + ')')['runtime_env']['env_vars'])['MEMREC_OPTIONS']"; }
check "ray: Python for ray.init" ray_python
verl_shell() {
	eval "set -- $("$memrec" env verl | grep -v '^#')" && [ $# = 3 ] &&
		[ "$1" = "+ray_kwargs.ray_init.runtime_env.env_vars.CUDA_INJECTION64_PATH=\"$BUILD/libmemrec.so\"" ]
}
check "verl: three overrides for the command line" verl_shell
# Hydra's grammar: a quoted value ends at its quote, \ escapes, ${ interpolates; nothing else means anything in it.
verl_hydra() {
	eval "set -- $("$memrec" env --step-mark '${x}\"' verl | grep -v '^#')"
	for override in "$@"; do
		[[ $override =~ ^\+[a-z_]+(\.[A-Za-z_][A-Za-z0-9_]*)+=\"[^\"\\\$]*\"$ ]] || { echo "$override"; return 1; }
	done
}
check "verl: Hydra reads them as they are" verl_hydra
# AReaL makes "k=v,k=v" of the variables and splits it again.
areal_split() {
	"$memrec" env --step-mark 'a=b,c d' areal | sed -n 's/^ *\([A-Z_0-9]*\): "\(.*\)"$/\1=\2/p' | paste -sd, >joined
	python3 -c '
line = open("joined").read().strip()
pairs = dict(pair.split("=") for pair in line.split(","))
assert len(pairs) == 3 and "step-mark:a%3Db%2Cc%20d" in pairs["MEMREC_OPTIONS"].split("+"), pairs'
}
check "areal: splitting at , and = changes nothing" areal_split

# Wherever the options stand, they reach the text.
anywhere() {
	"$memrec" env --steps 3 --depth 8 "$1" >after && "$memrec" --steps 3 --depth 8 env "$1" >before &&
		"$memrec" --steps 3 env --depth 8 "$1" >both && cmp after before && cmp after both &&
		{ grep -qE '(--steps 3 --depth 8|[:"]depth:8\+steps:3|.depth:8\+steps:3)' after || { cat after; return 1; }; }
}
for name in torchrun slurm ray verl areal relax slime openrlhf nemo-rl trl; do
	check "$name: options before and after the word env" anywhere $name
done
keep() { "$memrec" --steps 3 --keep 256MiB env "$1" >text && grep -qE -- "$2" text || { cat text; return 1; }; }
check "--keep reaches verl" keep verl 'MEMREC_OPTIONS="steps:3\+keep:268435456\+'
check "--keep reaches torchrun" keep torchrun 'memrec --steps 3 --keep 256MiB -- torchrun'
a_command() { "$memrec" --depth 3 -- env FOO=bar 2>/dev/null | grep -qx 'FOO=bar'; }
check "after -- env is a command" a_command
ring_dir() { status 0 "$memrec" env --ring-dir . ray && one_line err '^memrec: env: --ring-dir goes with memrec in front only'; }
check "--ring-dir is refused where it cannot be handed on" ring_dir
misread() {
	mkdir 'a=b' && cp "$memrec" "$BUILD/libmemrec.so" 'a=b' && status 4 'a=b/memrec' env areal && one_line err 'launchers would misread this path'
}
check "a path that launchers would split is refused" misread

# Runs the launchers that need no cluster: they pass on their environment.
. "$SRC/tests/cli/memrec.sh"
trees=$SRC/tests/cli/process_trees.py
as_printed() { # NAME FROM TO OPTION...: the line with FROM replaced by TO, run
	local line
	line=$("$memrec" env "${@:4}" "$1" | grep -v '^#' | head -n 1)
	[[ $line == *"$2"* ]] || { echo "no '$2' in: $line"; return 1; }
	LD_LIBRARY_PATH=$standin bash -c "${line/"$2"/$3}" >out 2>err || { cat out err; return 1; }
}
torchrun() {
	as_printed torchrun 'torchrun --nproc_per_node 8 train.py' "python3 '$trees' launcher" --depth 3 &&
		[ "$(echo trace.*)" = "trace.rank0.zst trace.rank1.zst" ] && "$memana" info trace.rank0.zst | grep -q .
}
check "torchrun: the line does what it says" torchrun
rm -f busy account.*
slurm() { # every task is a memrec of its own
	printf '#!/bin/bash\nfor i in 0 1; do SLURM_PROCID=$i "$@" & done\nwait\n' >srun && chmod +x srun
	PATH=$PWD:$PATH as_printed slurm 'python train.py' "python3 '$trees' work" &&
		[ "$(ls account.* | wc -l)" = 2 ] && [ "$(ls "trace.$(uname -n)".*.zst | wc -l)" = 2 ]
}
check "slurm: the line does what it says" slurm
