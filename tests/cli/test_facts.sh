# Facts in a trace (include/memtrace/facts.h) give the same answers as the events of the trace.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

# --- a recording of more than a million events, made by the collector
export LD_LIBRARY_PATH=$standin STANDIN_MEM=90GiB
recorded() { status 1 "$memrec" -o long.zst -- "$BUILD/samples/rl_step" --steps 1000; }
check "a long run is recorded, up to its end by a failed request" recorded
# kinds TRACE: the kinds of its chunks, by the index.
kinds() {
	python3 - "$1" <<-'END'
		import struct, sys
		data = open(sys.argv[1], "rb").read()
		count, size = struct.unpack("<II", data[-24:-16])
		first = len(data) - 24 - count * size
		print(*[struct.unpack_from("<I", data, first + i * size)[0] for i in range(count)])
	END
}
check "its last chunk has facts" eval 'kinds long.zst | grep -q " 6$"'
short() { "$memrec" -o short.zst -- "$BUILD/samples/rl_step" >/dev/null 2>&1 && ! kinds short.zst | grep -qw 6; }
check "a short one has none" short

# ask OUT ARGUMENT...: text, JSON, messages and exit status.
ask() {
	local out=$1 got=0
	"$memana" "${@:2}" >"$out" 2>"$out.err" || got=$?
	echo "exit status $got" >>"$out"
	cat "$out.err" >>"$out"
}
# same TRACE...: the answers with and without --full.
all_forms=("top --why --json" top "growth --json" "steps --json" "phases --json" "retained --json" "oom --json" "oom --why" "advise --json -n 0" "check --json --growth 1MiB" "diff --json short.zst")
forms=("${all_forms[@]}")
same() {
	local form
	for form in "${forms[@]}"; do
		# shellcheck disable=SC2086
		ask answer $form "$@" && ask full $form --full "$@"
		cmp answer full || { echo "$form"; return 1; }
	done
}
# as_long FOLDER: the answers about its long.zst are those of the events of ./long.zst, which are read once for each form.
as_long() {
	local form
	for form in "${forms[@]}"; do
		# shellcheck disable=SC2086
		[ -e "of $form" ] || ask "of $form" $form --full long.zst
		# shellcheck disable=SC2086
		(cd "$1" && ask answer $form long.zst)
		cmp "$1/answer" "of $form" || { echo "$form"; return 1; }
	done
}
check "the answer is that of the events" as_long .
# The moment of its facts is the failed request: the answers above are not both from the events.
moment() { "$BUILD/tests/unit/test_facts" --write "$1"; }
failed() { [ "$("$memana" sql long.zst "SELECT max(seq) FROM oom WHERE NOT had" | tail -1)" = "$(moment long.zst)" ]; }
check "its facts have the failed request" failed
# One step of a thousand, the first and the newest ones.
course() { local moves; moves=$("$BUILD/tests/unit/test_facts" --write course:long.zst) && [ "$moves" -gt 5000 ] && [ "$moves" -lt 40000 ]; }
check "they have the moves of a few steps for advise" course
agree() { "$memana" verify long.zst | grep -q "^  facts       agree" && "$memana" verify --json short.zst | grep -q '"facts": "none"'; }
check "verify makes them from the events" agree
untrue() { cp long.zst u.zst && "$BUILD/tests/unit/test_facts" --write untrue:u.zst && status 3 "$memana" verify u.zst && grep -q 'u.zst: its facts differ' err; }
check "untrue facts are damage" untrue

# --- room for fewer lives: sums between begins of micro-batches, ends of steps, or none. Reports of finer ones read the events.
small() { # BYTES DETAIL
	mkdir -p small && cp long.zst small && [ "$("$BUILD/tests/unit/test_facts" --write "room:$1:small/long.zst")" = "$2" ] && as_long small
}
forms=("growth --json" "steps --json" "retained --json" "retained --from forward --to backward --json" "retained --step 7 --json" "phases --json")
check "sums of micro-batches" small 200000 2
forms=("growth --json" "steps --json" "phases --json" "retained --json")
check "sums of steps" small 80000 1
forms=("growth --json" "retained --json")
check "no sums of lives" small 1 0
# Room for 1,500 rows: too few between begins of micro-batches, and eight times as many are enough between ends of steps.
rows() {
	STANDIN_MEM=400GiB status 0 "$memrec" -o rows.zst -- "$BUILD/samples/rl_step" --steps 300 &&
		[ "$("$BUILD/tests/unit/test_facts" --write rows:1500:rows.zst)" = 1 ] && same rows.zst
}
forms=("growth --json" "steps --json")
check "more rows between ends of steps" rows

# --- a flight recorder: the pass begins anew when older events go
kept() {
	STANDIN_MEM=400GiB status 0 "$memrec" --keep 4MiB -o kept.zst -- "$BUILD/samples/rl_step" --steps 400 && kinds kept.zst | grep -q " 6$" &&
		"$memana" info kept.zst | grep -q "let go" && same kept.zst
}
forms=(top "growth --json" "phases --json" "retained --json") # those whose sums begin anew
check "a flight recorder's file has facts of what it holds" kept

# --- any damage: the events are read, and the damage is told
damaged() {
	cp long.zst d.zst
	printf '\377\377\377' | dd of=d.zst bs=1 seek=$(($(stat -c %s long.zst) * 3 / 5)) conv=notrunc 2>/dev/null
	status 3 "$memana" top d.zst && same d.zst
}
forms=(top "retained --json")
check "damage is told as without facts" damaged
forms=("steps --json" "phases --json")
torn() { head -c $(($(stat -c %s long.zst) - 1000)) long.zst >t.zst && same t.zst; }
check "a torn end, too" torn
forms=("oom --json")
check "rules of the command line are asked" eval 'echo "rules: []" >r.yaml; same --rules r.yaml long.zst'

forms=("${all_forms[@]}")

# --- several processes, with facts that a test has put in
# ranks FOLDER RANK=GPU...: a process for each rank.
ranks() {
	local folder=$1 rank
	shift
	mkdir "$folder"
	for rank; do
		RANK=${rank%=*} WORLD_SIZE=$# STANDIN_GPUS=8 CUDA_VISIBLE_DEVICES=${rank#*=} "$memrec" -o "$folder/rank%r.zst" -- \
			"$BUILD/samples/rl_step" --steps $((2 + ${rank%=*} % 3)) >/dev/null 2>&1 || return 1
	done
	[ "$("$BUILD/tests/unit/test_facts" --write "$folder" | wc -l)" = $# ]
}
eight() { ranks eight 0=0 1=1 2=2 3=3 4=4 5=5 6=6 7=7 && same --all eight; }
check "eight ranks with a GPU each" eight
# The last one comes nearest to the limit of its GPU: it is compared with eight of the others.
twelve() {
	local rank
	mkdir twelve
	for rank in {0..11}; do
		RANK=$rank WORLD_SIZE=12 STANDIN_GPUS=12 STANDIN_MEM=$((rank < 11 ? 90 : 40))GiB CUDA_VISIBLE_DEVICES=$rank "$memrec" -o "twelve/rank%r.zst" -- \
			"$BUILD/samples/rl_step" --steps $((2 + rank % 3)) >/dev/null 2>&1 || return 1
	done
	[ "$("$BUILD/tests/unit/test_facts" --write twelve | wc -l)" = 12 ] && same --all twelve || return 1
	"$memana" oom --all twelve >page && grep -q "GPU 11" page
}
check "twelve ranks, of which one is fullest" twelve
shared() { ranks shared 0=3 1=3 && same --all shared; }
check "two ranks on one GPU" shared
# Each process is over when the next one begins.
pairs() { ranks pairs 0=3 1=3 2=5 3=5 4=6 && same --all pairs && "$memana" top --all pairs | grep -q "^All 3 GPUs"; }
check "two ranks on each of two GPUs, and one by itself" pairs

# --- cases, with facts that a test has put in
forms=("${all_forms[@]}")
for case in easyr1-50 verl-6698 nemo-rl-2319 sglang-32915 trl-2806 torchtune-1046; do
	sealed() {
		play "$case" && "$BUILD/tests/unit/test_facts" --write "$case" >sealed && [ "$(wc -l <sealed)" -ge 1 ] || return 1
		local trace
		for trace in "$case"/*.zst; do
			same "$trace" || return 1
		done
		same "$case"
	}
	check "$case: the same from facts" sealed
done

# Both processes have verl's two frames, one has three more of slime: facts have equal frames of processes once.
cat >frames.case <<'END'
expect: largest
gpu GPU-1 80GiB
process actor 100 GPU-1 0
stack worker
	run verl/single_controller/base/worker.py:10
	call verl/single_controller/base/decorator.py:20
stack train worker
	train slime/backends/megatron_utils/model.py:30
	one slime/backends/megatron_utils/model.py:40
	two slime/backends/megatron_utils/model.py:50
context 500MiB
at train
alloc weights 40GiB
process engine 200 GPU-1
stack worker
	run verl/single_controller/base/worker.py:10
	call verl/single_controller/base/decorator.py:20
context 500MiB
at worker
alloc cache 20GiB
of actor
at train
alloc more 30GiB fails
END
frames() { mkdir frames && "$BUILD/cases/make_case" frames.case frames && "$BUILD/tests/unit/test_facts" --write frames >/dev/null && same frames && "$memana" advise --json frames >a && grep -q '"framework": "slime"' a; }
forms=("advise --json -n 0" advise "oom --json")
check "frames that processes share count once for the framework" frames
