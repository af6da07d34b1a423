# memana export --to html: the page in a headless Chromium. Its numbers are those of memana top, names are shown as
# text, and the page sends nothing.
. "$SRC/tests/cli/lib.sh"
"$HOST_PYTHON" -c 'import sys; sys.path.insert(0, sys.argv[1]); import chromium; sys.exit(not chromium.program())' "$SRC/tests/cli" || skip "no Chromium here"
LD_LIBRARY_PATH=$standin "$memrec" -o run.zst -- "$BUILD/samples/rl_step" --steps 3 --quiet >/dev/null 2>&1
"$BUILD/tests/unit/test_query" --write .
for name in hostile devices empty; do python3 "$SRC/tests/cli/import_make.py" $name.pickle $name; done
"$memana" load run.zst -o run.db >/dev/null

page() { "$HOST_PYTHON" "$SRC/tests/cli/html_page.py" "$@"; }

# adds_up FILE [TIME]: the page of a run, at its peak or at a time in ns, has the bytes and allocations of memana top
adds_up() {
	"$memana" export "$1" --to html -o adds.html >said && "$memana" top --json ${2:+--at "$2ns"} "$1" >top.json && page sums adds.html top.json "${@:2}"
}
check "the peak" adds_up run.zst
check "a time" adds_up run.zst "$("$memana" sql run.db "SELECT time FROM phase_peak WHERE phase = 'logprob' AND bytes")"
check "a database" adds_up run.db
check "a real recording, with slack" adds_up "$SRC/samples/gpu/torch_oom.zst"
check "memory that sleeps" adds_up "$SRC/samples/gpu/torch_sleep.zst"
check "two devices of a snapshot" adds_up devices.pickle
mkdir ranks eight && cp rank0.zst rank1.zst ranks
check "two processes" adds_up ranks
for rank in 0 1 2 3 4 5 6 7; do
	RANK=$rank WORLD_SIZE=8 STANDIN_MEM=80GiB LD_LIBRARY_PATH=$standin "$memrec" -o 'eight/trace.rank%r.zst' -- \
		"$BUILD/samples/rl_step" --quiet --scale 0.1 --steps 1 >/dev/null 2>&1
done
eight() {
	"$memana" export --all eight --to html -o eight.html >said && "$memana" top --json --all eight >top.json && page sums eight.html top.json &&
		page ranks eight.html 8
}
check "8 ranks" eight
check "a run of TRL" adds_up "$SRC/samples/trl_grpo.zst"
same() { "$memana" export run.db --to html -o two.html >said && "$memana" export run.zst --to html -o one.html >said && cmp one.html two.html; }
check "a trace and its database are the same" same

"$memana" export run.zst --to html >said
check "it is a file named after the trace" one_line said '^run\.html: .* changes$'
check "mouse, keys, colours, theme, search, stacks, steps" page use run.html
check "a phone" page phone run.html
check "a dark theme, and paper" page dark run.html
check "the policy refuses other scripts and all requests" page policy run.html
"$memana" sql run.zst --json "SELECT step, peak_bytes, held_bytes FROM step_device AS it JOIN device ON device.id = it.device
	WHERE number IS NOT NULL ORDER BY it.process, step" >steps.json
check "the table of steps" page steps run.html steps.json
real=$SRC/samples/gpu/llama_oom.zst
"$memana" export "$real" --to html -o real.html >said
modules() { "$memana" top --json --by module "$real" >modules.json && page modules real.html modules.json; }
check "the tree of modules" modules
segments() { "$memana" frag --json --at peak -n 0 "$real" >frag.json && page segments real.html frag.json; }
check "the map of segments" segments
causes() { "$memana" oom --json "$real" >oom.json && page causes real.html oom.json; }
check "the causes" causes

# ---- names ----
hostile() {
	echo '["say \"hi\"", "</script><script>alert(1)</script>", "<!-- <b>", "two?lines?", "semi;colon", "=cmd()", "right ? left"]' >names.json
	"$memana" export hostile.pickle --to html -o hostile.html >said && page hostile hostile.html names.json
}
check "hostile names are text" hostile
secret() { "$memana" export run.zst --to html --confidential -o secret.html >said && page secret secret.html ffn_forward rl_step.c .c: "$PWD" samples/ run.zst; }
check "--confidential: no path and no source, but functions" secret
python_secret() { "$memana" export "$SRC/samples/trl_grpo.zst" --to html --confidential -o secret.html >said && page secret secret.html _compute_loss .py; }
check "--confidential: Python" python_secret

# ---- a range, and moments outside of the run ----
part() { # the range begins with what was there: bytes at a time are those of memana top
	first=$("$memana" sql run.db "SELECT end_time FROM step WHERE step = 1") last=$("$memana" sql run.db "SELECT end_time FROM step WHERE step = 2")
	"$memana" export run.zst --to html --steps 2 -o part.html >said && "$memana" top --json --at "${first}ns" run.zst >top.json &&
		page sums part.html top.json "$first" && "$memana" top --json --at "${last}ns" run.zst >top.json && page sums part.html top.json "$last"
}
check "a part of the run" part
none() { status 3 "$memana" export empty.pickle --to html -o none && one_line err 'export: empty.pickle: nothing was recorded' && [ ! -e none ]; }
check "a trace without events" none
wrong() { status 2 "$memana" export run.zst --to html "${@:2}" -o wrong && one_line err "$1" && [ ! -e wrong ]; }
check "no such step" wrong 'export: --at step:9: the run has 3 steps$' --at step:9
check "no such error" wrong 'export: --at oom: no out-of-memory error was recorded$' --at oom
check "no such time" wrong 'the recording is over by then' --at 1000s
check "no such begin" wrong 'export: --since .*the recording is over by then' --since 1000s
at() { "$memana" export run.zst --to html --at "$1" -o at.html >said && "$memana" top --json --at "$1" run.zst >top.json && page at at.html top.json; }
check "--at step:2" at step:2
check "--at TIME" at 1ms
check "the page of the samples" page use "$SRC/samples/demo.html"
full() { (ulimit -f 8 && status 4 "$memana" export run.zst --to html -o full.html) && one_line err 'full\.html: File too large' && [ ! -e full.html ]; }
check "no room for the file" full
