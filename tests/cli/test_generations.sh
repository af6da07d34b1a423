# Processes that follow one another on one GPU: in all reports, an ended process holds nothing, for any kind of end.
. "$SRC/tests/cli/lib.sh"

# truth EXPRESSION: of what the processes held, as t
truth() { python3 -IS -c 'import json, sys; t = json.load(open("truth.json")); print(eval(sys.argv[1]))' "$1"; }
peak_of() { "$memana" top --json "$@" >top.json && json top.json "[d['peak']['bytes'] for d in d['devices']] == [$(truth 't["peak"]')]"; }

# The database, asked for who was alive whenever one more came, and for all that reports say of it.
lives() {
	"$memana" load "$@" -o run.db || return 1
	"$memana" sql run.db "SELECT max((SELECT sum(bytes) FROM allocation AS a JOIN process AS p ON p.id = a.process WHERE
		a.alloc_time <= born.alloc_time AND (over_time IS NULL OR over_time > born.alloc_time))) FROM allocation AS born" >most &&
		grep -qx "$(truth 't["peak"]')" most && "$memana" top --json run.db >again.json &&
		json again.json "d['devices'][0]['peak']['bytes'] == $(truth 't["peak"]')" &&
		python3 "$SRC/tests/cli/adds_up.py" "$memana" run.db
}
everywhere() {
	local peak last
	peak=$(truth 't["peak"]') last=$(truth 't["held"][-1]')
	"$memana" phases --json "$@" >p.json &&
		json p.json "[(max(p['peak_bytes'] or 0 for p in d['phases']), sum(p['left_at_end_bytes'] for p in d['phases'])) for d in d['devices']] == [($peak, $last)]" &&
		status 0 "$memana" check --max-peak "$peak" "$@" && status 1 "$memana" check --max-peak $((peak - 1)) "$@" &&
		"$memana" diff --json run.db run.db >d.json && json d.json "[(x['a_bytes'], x['b_bytes']) for x in d['devices']] == [($peak, $peak)]"
}
for seed in ${SEEDS:-1 2}; do
	mkdir -p "$seed/gpu" && cd "$seed" || exit
	STANDIN_STATE=$PWD/gpu STANDIN_CONTEXT=0 LD_LIBRARY_PATH=$standin "$memrec" -o t.zst -- python3 \
		"$SRC/tests/cli/generations.py" "$seed" . >out 2>err
	check "seed $seed: the driver of the stand-in gives the memory of the dead back" truth 't["used"] == t["held"] or 1 / 0'
	check "seed $seed: top" peak_of ./*.zst
	check "seed $seed: the database" lives ./*.zst
	check "seed $seed: phases, check, diff" everywhere ./*.zst
	cd ..
done
mkdir -p cpu && cd cpu || exit
"$memrec" --cpu -o t.zst -- python3 "$SRC/tests/cli/generations.py" 3 . cpu >out 2>err
check "CPU tensors: top" peak_of ./*.zst
check "CPU tensors: the database" lives ./*.zst
check "CPU tensors: phases, check, diff" everywhere ./*.zst
cd ..

# --- several runs
left_out() { # WANT: how many of the folder `1` are left out of the answer in top.json
	json top.json "sorted(d.get('left_out', [])) == sorted(__import__('glob').glob('1/*.zst'))[:$1] and len(d.get('left_out', [])) == $1"
}
files=$(ls 1/*.zst | wc -l)
two_runs() {
	"$memana" top --json 1/*.zst 2/*.zst >top.json 2>err && left_out "$files" && one_line err 'left out' &&
		json top.json "[d['peak']['bytes'] for d in d['devices']] == [$(cd 2 && truth 't["peak"]')]"
}
check "of two runs the newest is answered, and the other one is named" two_runs
all_runs() { "$memana" top --all --json 1/*.zst 2/*.zst >top.json 2>err && left_out 0 && [ ! -s err ] && json top.json "len(d['traces']) == $(ls 1/*.zst 2/*.zst | wc -l)"; }
check "--all takes them all" all_runs
alone() {
	local one
	one=$(ls 1/*.zst | head -n 1)
	"$memana" top --json "$one" >top.json 2>err && left_out 0 && [ ! -s err ] && "$memana" info --json 1/*.zst 2/*.zst >info.json &&
		json info.json "len(d['traces']) == $(ls 1/*.zst 2/*.zst | wc -l)"
}
check "a trace that is named alone is answered, and info tells of every file" alone
take() { LD_LIBRARY_PATH=$standin "$memrec" -o "job/$1.zst" -- python3 -c "import sys; sys.path.insert(0, '$SRC/tests/cli'); from gpu_driver import Driver; Driver().take(1 << 20)"; }
one_job() {
	mkdir job
	SLURM_JOB_ID=7 SLURM_STEP_ID=0 take a && SLURM_JOB_ID=7 SLURM_STEP_ID=0 TORCHELASTIC_RUN_ID=none take b && SLURM_JOB_ID=7 SLURM_STEP_ID=1 take c &&
		"$memana" top --json job/a.zst job/b.zst >top.json && json top.json "len(d['traces']) == 2 and 'left_out' not in d" &&
		"$memana" top --json job >top.json && json top.json "d['left_out'] == ['job/a.zst', 'job/b.zst']"
}
check "launches of one step of a Slurm job are one run" one_job
