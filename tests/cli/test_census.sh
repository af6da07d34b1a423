# The census with a small fake torch, in every Python of the machine: failures of the census, which the program must
# not notice.
. "$SRC/tests/cli/lib.sh"
export LD_LIBRARY_PATH=$standin STANDIN_MEM=80GiB
record() { # PYTHON HOW [OPTION...]
	local python=$1 how=$2
	shift 2
	rm -f census.zst
	status 0 "$memrec" -o census.zst "$@" -- "$python" -W error -X dev "$SRC/tests/cli/census_fake.py" "$how" && grep -qx 'done' out &&
		! grep -v '^memrec:' err | grep .
}
count() { "$memana" sql census.zst "SELECT count(*) FROM parameter WHERE $1"; }
source_is() { # STATE: and why
	"$memana" sql census.zst "SELECT state || ': ' || why FROM source WHERE name = 'census'" | grep -qE "$1" ||
		{ "$memana" sql census.zst "SELECT * FROM source"; return 1; }
}
pythons() { # "3.11 PATH", one of each version
	local p
	for p in python3 /usr/bin/python3 ~/.pyenv/versions/*/bin/python3 "$BUILD"/pythons/*/usr/bin/python3.*; do
		"$p" -c 'import sys, ctypes; v = sys.version_info[:2]; (3, 9) <= v <= (3, 14) and print("%d.%d" % v, sys.executable)' 2>/dev/null
	done | sort -u -k 1,1
}
told() { # PYTHON: two parameters, their gradients and states, twice
	record "$1" plain && [ "$(count "newest AND what = 'weights' AND name IN ('first.weight', 'second.weight') AND optimizer LIKE 'Optimizer#%'")" = 2 ] &&
		[ "$(count "newest AND what = 'gradients'")" = 2 ] && [ "$(count "newest AND state = 'exp_avg' AND bytes IN (32768, 8192)")" = 2 ] &&
		[ "$(count "block_seq IS NULL")" = 0 ] && source_is '^on'
}
# named PYTHON HOW [OPTION]: the names of modules in the agent's ring.
named() {
	rm -rf rings
	mkdir rings
	RINGS=$PWD/rings LIB=$BUILD/libmemrec.so OPTIONS=${3:-} \
		MEMREC_OPTIONS="run-dir=$PWD/rings output=$PWD/trace.zst collector=$(type -P true) names-ms=0 ${3:-}" \
		"$1" "$SRC/tests/cli/census_names.py" "$2"
}
# again PYTHON: a program that starts a second interpreter ends as it does without the recorder.
again() {
	local library status want
	library=$("$1" -c 'import os, sysconfig as s; print(os.path.join(s.get_config_var("LIBDIR"), s.get_config_var("INSTSONAME")))')
	[[ $library == *.so* && -e $library ]] || return 0
	rm -rf rings
	mkdir rings
	export PYTHONPATH=$SRC/tests/cli/census_fake
	./embed "$library" "$(<"$SRC/tests/cli/census_again.py")" >out 2>err
	want=$?
	LD_PRELOAD=$BUILD/libmemrec.so MEMREC_OPTIONS="run-dir=$PWD/rings output=$PWD/trace.zst collector=$(type -P true) names-ms=0 census-ms=0" \
		./embed "$library" "$(<"$SRC/tests/cli/census_again.py")" >out.with 2>err.with
	status=$?
	unset PYTHONPATH
	[ $status = $want ] && cmp out out.with && cmp err err.with || { cat err.with; return 1; }
}
names() { # PYTHON
	named "$1" plain && named "$1" worst
}
${CC:-cc} -O1 -o embed "$SRC/tests/cli/agent_embed.c" -ldl
while read -r version python; do
	check "Python $version: it tells" told "$python"
	check "Python $version: it names modules, and runs nothing of theirs" names "$python"
	check "Python $version: a second interpreter" again "$python"
done < <(pythons)

python=$(type -P python3)
off() { record "$python" plain --no-census && source_is 'off: not asked for' && [ "$(count 1)" = 0 ]; }
check "--no-census" off
old() { record "$python" old && source_is 'off: PyTorch 2.0.0\+fake does not tell'; }
check "a PyTorch without the hook is named" old
blocked() { record "$python" blocked && source_is "off: Python's main thread has not run the census yet" && [ "$(count 1)" = 0 ]; }
check "a main thread that does not come back: named, and nothing waits" blocked
thread() { record "$python" thread && [ "$(count "what = 'gradients'")" -ge 2 ]; }
check "another thread steps" thread
broken() { record "$python" broken && [ "$(count "what = 'gradients'")" -ge 2 ]; }
check "optimizers and tensors unlike any other" broken
minutes() { # --keep lets go of early answers, so a long training answers every minute
	record "$python" "$1" --keep 256MiB && [ "$("$memana" sql census.zst "SELECT count(DISTINCT census) FROM parameter")" -ge 30 ]
}
check "--keep: told every minute" minutes minutes
check "--keep: the same where parameters come in each step" minutes changes
wrapped() { # as accelerate's: an optimizer by its class, with nothing of its own
	MEMREC_OPTIONS="census-ms=500" record "$python" wrapped && [ "$(count "what = 'weights' AND optimizer IS NOT NULL")" -ge 2 ] &&
		source_is '^on'
}
check "an optimizer that stands before another one" wrapped
signals() { record "$python" signal && grep -qx 'caught 300' out; }
check "exceptions of signal handlers reach the program, every one" signals
forked() { record "$python" fork && grep -qx 'child 0' out && [ "$(count "what = 'gradients'")" -ge 2 ]; }
check "a forked child steps, too" forked
late() { record "$python" late && [ "$(count "what = 'gradients'")" -ge 2 ]; }
check "steps while the interpreter ends" late
deep() { record "$python" deep; }
check "steps where no call has room" deep

for how in more strays many steps oom wrapped shared recycled; do check "names of modules: $how" named "$python" $how; done
check "--no-modules: no names" named "$python" plain no-modules=1
check "--no-census: no names" named "$python" plain no-census=1
