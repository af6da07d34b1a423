# memrec env: what it prints is what each launcher reads.
. "$SRC/tests/cli/lib.sh"

"$memrec" env --steps 3 -o '/shared/run 1/trace.zst' >general
check "without a name: the general text" grep -q "^$memrec -- python train.py$" general
for name in torchrun slurm ray verl areal relax; do
	text() { status 0 "$memrec" env "$name" && [ -s out ] && ! grep -q '@[A-Z]*@' out && [ ! -s err ]; }
	check "$name is known" text
	check "$name is named in the general text" grep -qw "$name" general
done
unknown() { status 2 "$memrec" env slrum && one_line err 'slrum: no such launcher \(.*slurm'; }
check "an unknown one is a usage error that names the others" unknown

# The agent reads back what was asked for; no launcher finds a character in it that means something to it.
value=$(sed -n "s/^export MEMREC_OPTIONS='\(.*\)'$/\1/p" general)
harmless() { [ -n "$value" ] && [[ $value =~ ^[A-Za-z0-9_./:+%-]+$ ]]; }
check "the options hold nothing that a shell, YAML or a split at = and , would touch" harmless
check "they say what was asked for" grep -qF 'steps:3' <<<"$value"
check "and a name of its own for each process" grep -qF 'output:/shared/run%201/trace.%25h.%25p.zst' <<<"$value"

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
check "relax: YAML" yaml relax env_vars
check "areal: YAML" yaml areal actor.scheduling_spec.0.env_vars
variables='{"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "MEMREC_OPTIONS"}'
relax_json() { "$memrec" env relax | sed -n "s/^--train-env-vars '\(.*\)'$/\1/p" >vars.json && json vars.json "set(d) == $variables"; }
check "relax: JSON for the trainer" relax_json
ray_json() { "$memrec" env ray | sed -n "s/.*--runtime-env-json '\(.*\)' -- .*/\1/p" >ray.json && json ray.json "set(d['env_vars']) == $variables"; }
check "ray: JSON for a job" ray_json
ray_python() { "$memrec" env ray | sed -n 's/^ray\.init(\(.*\))$/\1/p' >call && python3 -c "dict(eval('dict(' + open('call').read() + ')')['runtime_env']['env_vars'])['MEMREC_OPTIONS']"; }
check "ray: Python for ray.init" ray_python
verl_shell() {
	eval "set -- $("$memrec" env verl | sed 1d)" && [ $# = 3 ] &&
		[ "$1" = "+ray_kwargs.ray_init.runtime_env.env_vars.CUDA_INJECTION64_PATH=\"$BUILD/libmemrec.so\"" ]
}
check "verl: three overrides for the command line" verl_shell
