# memana top, info and verify on small traces: the documented fields, sums, tables and exit codes.
. "$SRC/tests/cli/lib.sh"
"$BUILD/tests/unit/test_query" --write .

check "top" status 0 "$memana" top small.zst
cp out top.txt
check "memana TRACE is the same" bash -c '"$0" small.zst | cmp - top.txt' "$memana"
check "the verdict" bash -c 'tr "\n" " " <top.txt | grep -qE "3 events of 27 are lost: the peak is at least 100.0 MiB held \([0-9.]+ MiB in tensors, 10.0 MiB slack[^)]*\) of 1.0 GiB \(9.8%\) at"'
check "the user's line" grep -q '46%  model.py:20  forward' top.txt
check "what was not recorded" grep -q '^Not recorded: nvtx (no library)' top.txt
check "what was lost" grep -q '^Lost: 3 events of pid 100: the ring was full' top.txt
lost_first() { # COMMAND
	"$memana" "$1" small.zst | head -n 1 | grep -q '^3 events of 27 are lost\. [A-Z0-9]' && "$memana" "$1" --json small.zst >lost.json &&
		json lost.json "d['traces'][0]['lost'] == 3 and all(v['verdict'].startswith('3 events of 27 are lost. ') for v in ([d] if 'verdict' in d else d['devices']))"
}
for command in growth steps phases retained; do check "$command: what is lost comes first, in text and JSON" lost_first $command; done
diff_lost() { status "$1" "$memana" diff "$2" "$3" && tr '\n' ' ' <out | grep -q "^$4"; }
check "diff: what B lost comes first" diff_lost 1 rank0.zst small.zst 'B: 3 events of 27 are lost\. B takes '
check "diff: what both lost" diff_lost 0 small.zst small.zst 'A: 3 events of 27 are lost\. B: 3 events of 27 are lost\. A and B are equal'
check "out of memory" bash -c 'tr "\n" " " <top.txt | grep -qE "Out of memory on GPU 0: 1.9 GiB asked for by [^.]*\..*, at most 956.0 MiB free\."'
check "what the driver refused before that is no error of its own" test "$(grep -c 'iB asked for' top.txt)" = 1
check "the next command" grep -q '^Next: memana top --by place small.zst' top.txt
check "no colour without a terminal" bash -c '! grep -q "$(printf "\033")" top.txt'
check "80 columns" awk 'length($0) > 80 { print; bad = 1 } END { exit bad }' top.txt

"$memana" top --json small.zst >top.json
check "JSON: as it was" diff "$SRC/tests/golden/top_small.json" top.json
check "JSON: all fields of the contract" json top.json '(
	set(d) >= {"version", "traces", "devices", "oom"}
	and all(set(t) >= {"file", "pid", "rank", "steps", "events", "lost", "complete"} for t in d["traces"])
	and all(set(v) >= {"id", "kind", "name", "total_bytes", "peak", "by_phase", "by_category", "by_owner", "sites",
		"phase_peaks", "slack_bytes", "unexplained_bytes", "context_bytes", "code_bytes", "graph_bytes", "pool_bytes",
		"other_processes_bytes", "process_bytes", "recorded_bytes", "sampled_at_ns"} for v in d["devices"])
	and d["devices"][0]["unexplained_bytes"] is None and d["host"] == {"processes": []}
	and all(set(v["peak"]) >= {"bytes", "time_ns", "step", "phase", "role", "pid"} for v in d["devices"])
	and all(set(s) >= {"bytes", "count", "phase", "category", "stack"} for v in d["devices"] for s in v["sites"])
	and all(set(f) >= {"function", "file", "line", "module"} for v in d["devices"] for s in v["sites"] for f in s["stack"])
	and all(set(p) >= {"phase", "bytes", "time_ns", "step"} for v in d["devices"] for p in v["phase_peaks"])
	and all(set(o) >= {"time_ns", "device", "requested_bytes", "free_bytes", "phase", "refusals", "stack"} for o in d["oom"]))'
"$memana" top --json rank0.zst rank1.zst >pair.json
check "the process of a peak has its rank" json pair.json "[(x['peak']['pid'], x['peak']['rank']) for x in d['devices']] == [(300, 1)]"
one_peak() { "$memana" steps rank0.zst rank1.zst >pair.txt && [ "$(grep -c '60\.0 MiB' pair.txt)" = 1 ] && grep -Eq '^ +GPU 0 +60.0 MiB +1 +rank 1$' pair.txt; }
check "steps: the peak of a GPU stands once, and not as one of a process" one_peak
"$memana" top --json cpu.zst >cpu.json
for file in top pair cpu; do
	for by in phase category owner process; do
		check "$file: by_$by adds up to the peak" json $file.json \
			"all(sum(p['bytes'] for p in v['by_$by']) == v['peak']['bytes'] > 0 for v in d['devices'])"
	done
done
check "processes on one GPU are added up at the same time" json pair.json \
	'len(d["devices"]) == 1 and d["devices"][0]["peak"]["bytes"] == 60 << 20 and d["devices"][0]["peak"]["time_ns"] == 6000'
check "the CPU is a device" json cpu.json '[v["kind"] for v in d["devices"]] == ["cpu"] and d["devices"][0]["total_bytes"] is None'

only() { status 0 "$memana" top --by "$1" small.zst && grep -q "$2" out && [ "$(grep -c '^At the peak\|^By \|^Places' out)" = 1 ]; }
check "--by phase" only phase '^  forward .*48.0 MiB'
check "--by category" only category '^  nccl .*32.0 MiB'
check "--by owner" only owner '^  libnccl .*32.0 MiB'
check "--by process" only process '^  pid 100 .*100.0 MiB'
check "--by place" only place 'train.py:30'
check "--by site is --by place" bash -c 'cmp <("$0" top --by site small.zst) <("$0" top --by place small.zst)' "$memana"
check "-n 1: one site" bash -c '[ "$("$0" top -n 1 small.zst | grep -c ", allocated in .* allocation")" = 1 ]' "$memana"
check "-n 1 --json: one site" bash -c '"$0" top -n 1 --json small.zst >one.json && python3 -c "import json; assert len(json.load(open(\"one.json\"))[\"devices\"][0][\"sites\"]) == 1"' "$memana"
check "--device 0" status 0 "$memana" top --device 0 small.zst
check "--device cpu" status 0 "$memana" top --device cpu cpu.zst

# On a terminal: colour, unless NO_COLOR is set.
if command -v script >/dev/null; then
	on_terminal() { env TERM=xterm "$@" script -qec "$memana ${report:-top} small.zst" /dev/null </dev/null >terminal; }
	escape=$(printf '\033\[')
	colourful() { on_terminal NO_COLOR= && grep -q "the peak is" terminal && grep -q "$escape" terminal; }
	plain() { on_terminal NO_COLOR=1 && grep -q "the peak is" terminal && ! grep -q "$escape" terminal; }
	check "colour on a terminal" colourful
	check "NO_COLOR" plain
	# A phase has one colour, also on the screen (test_tui_canvas); a terminal without colours has none, one that nobody knows eight.
	phase_in() { local report=$1 wanted=$2; shift 2; on_terminal "$@" && grep -qE "$escape${wanted}m ${escape}0m +forward" terminal; }
	no_phase() { local report=$1; shift; on_terminal "$@" && ! grep -qE "$escape[34][0-9]" terminal && grep -q ' forward' terminal; }
	direct=/nowhere # terminals of true colours are not in every terminfo
	command -v tic >/dev/null && printf 'direct-test|true colours,\n\tcolors#0x1000000, RGB, setaf=\\E[38;5;%%p1%%dm, use=xterm-256color,\n' >direct.ti && tic -x -o terminfo direct.ti 2>/dev/null && direct=$PWD/terminfo
	for report in top phases; do
		check "$report: a phase in 256 colours" phase_in $report '48;5;214' NO_COLOR= TERM=xterm-256color
		[ $direct = /nowhere ] || check "$report: in true colours" phase_in $report '48;5;214' NO_COLOR= TERM=direct-test TERMINFO=$direct
		check "$report: in 8" phase_in $report 43 NO_COLOR= TERM=xterm
		check "$report: in those of a terminal that nobody knows" phase_in $report 43 NO_COLOR= TERM=nonsense
		check "$report: not with NO_COLOR" no_phase $report NO_COLOR=1 TERM=xterm-256color
		check "$report: not without colours" eval "on_terminal NO_COLOR= TERM=vt100 && ! grep -qE '$escape[34][0-9];?5?;?[0-9]*m $escape' terminal"
	done
	unset report
fi

check "info" status 0 "$memana" info small.zst
check "info: events by kind" grep -qE '^ +driver-alloc +3$' out
check "info: losses" grep -q '3 events: the ring was full' out
check "info: sources" grep -qE 'nvtx +failed: no library' out
"$memana" info --json small.zst >info.json
check "info --json" json info.json \
	'd["traces"][0]["events_by_kind"]["tensor-alloc"] == 3 and d["traces"][0]["complete"] and d["traces"][0]["bytes_per_event"] > 1'

check "verify: fine" status 0 "$memana" verify small.zst cpu.zst
check "verify: how much was compared" grep -q 'compared at 4 events, 0 differ' out
check "verify: a wrong total is found" status 1 "$memana" verify wrong.zst
check "verify: where" grep -q 'compared at 3 events, 1 differ, first at event 2' out
check "verify --json" bash -c '"$0" verify --json wrong.zst >v.json; [ $? = 1 ] && grep -q "\"differing\": 1" v.json' "$memana"
