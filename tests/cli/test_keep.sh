# memrec --keep: the newest events, the memory that was alive before them, and out-of-memory errors with the steps
# before them.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/memrec.sh"

# --- how much
refused() { status 2 "$memrec" --keep "$1" -- true && one_line err "$2"; }
check "less than 1 MiB is refused" refused 1023KiB 'must be 1MiB or more'
check "what is no size is refused" refused 12monkeys 'must be a size such as'
smallest() { status 0 record --keep 1MiB -o s.zst -- --calls 50 --account account && agrees s.zst account; }
check "a run that fits is kept whole" smallest
whole() { "$memana" info --json s.zst >info.json && json info.json 'd["traces"][0]["let_go"] == 0'; }
check "and says nothing of --keep" whole

# --- a smaller size than the command line takes keeps the test short
small="keep=65536 slot-bytes=8388608"

# within TRACE BYTES: the file is no larger.
within() { [ "$(stat -c %s "$1")" -le "$2" ] || { ls -l "$1"; return 1; }; }

# kept_live ACCOUNT: sql.out ends with the bytes alive at the end, and the program counts the same bytes.
kept_live() {
	python3 -c 'import json, sys
got, want = int(float(open("sql.out").read().split()[-1])), json.load(open(sys.argv[1]))["live"]
print("live:", got, "account:", want)
sys.exit(got != want)' "$1"
}

# kept TRACE ACCOUNT: some events are dropped, and the bytes alive at the end are those that the program counts.
kept() {
	"$memana" verify "$1" && "$memana" info --json "$1" >info.json && json info.json 'd["traces"][0]["let_go"] > 0' &&
		"$memana" sql "$1" 'SELECT total(bytes) FROM allocation WHERE free_seq IS NULL' >sql.out || return 1
	kept_live "$2"
}

rotates() {
	MEMREC_OPTIONS=$small status 0 record -o k.zst -- --live 100 --calls 30000 --account account &&
		grep -Eq '^memrec: k.zst: .* [0-9]+ events \([0-9]+ let go\), ' err && within k.zst 65536 && kept k.zst account &&
		nothing_left && [ ! -e k.zst.keep ]
}
check "a run that does not fit: the newest of it, with the right live set" rotates
says() {
	"$memana" top k.zst >top.out && tr '\n' ' ' <top.out | grep -Eq '[0-9,]+ earlier events removed by --keep' &&
		"$memana" info k.zst | grep -Eq '^  let go +[0-9,]+ events removed by --keep'
}
check "top and info say so" says

# --- bytes that are wrong in the middle: in a chunk of events, which most of the file is, but not every place of it
damaged() {
	local percent
	for percent in 50 55 60 45 40 65; do
		damaged_at $percent && return
	done
	return 1
}
damaged_at() {
	cp k.zst d.zst
	printf '\377\377\377\377' | dd of=d.zst bs=1 seek=$(($(stat -c %s k.zst) * $1 / 100)) conv=notrunc 2>/dev/null
	status 3 "$memana" verify d.zst && grep -Eq '^  damage .* at byte [0-9]+; 1 chunk unreadable, [0-9,]+ events known' out &&
		one_line err '^memana: d.zst: .* at byte [0-9]+ \([0-9,]+ events missing, everything else is good\)$' &&
		grep -q 'balances' out && "$memana" sql d.zst 'SELECT total(bytes) FROM allocation WHERE free_seq IS NULL' >sql.out 2>err
	"$memana" sql d.zst 'SELECT reason, events FROM lost_events' >loss.out 2>err
	grep -q 'the ring or the trace was damaged' loss.out && kept_live account
}
check "damage in the middle costs what is up to the next checkpoint, and is said" damaged
torn() {
	head -c $(($(stat -c %s k.zst) - 3000)) k.zst >t.zst
	status 3 "$memana" verify t.zst && one_line err "readable up to byte" && grep -Eq '^  torn end +the file ends inside a chunk' out && ! grep -q damage out
}
check "a torn end is told from damage" torn

# --- steps, and an error early in the run
steps() {
	mkdir -p rings
	MEMREC_OPTIONS=$small LD_LIBRARY_PATH=$standin status 0 "$memrec" -o o.zst --ring-dir rings -- \
		python3 "$SRC/tests/cli/keep_steps.py" 60 500 4 && within o.zst 65536 && "$memana" verify o.zst
}
check "60 steps with an out-of-memory error in the fourth" steps
counted() { grep -Eq '^memrec: o.zst: .*, 60 steps, 1 OOM, [0-9]+ events \([0-9]+ let go\)' err; }
check "the summary tells of all steps" counted
in_it() {
	"$memana" sql o.zst 'SELECT count(*) FROM oom' >sql.out && [ "$(tail -n 1 sql.out)" = 1 ] &&
		"$memana" sql o.zst 'SELECT step FROM step ORDER BY step' >sql.out &&
		python3 -c '
steps = [int(line) for line in open("sql.out").read().split() if line.isdigit()]
print(steps)
raise SystemExit(not {2, 3, 4, 59, 60} <= set(steps) or 30 in steps)'
}
check "the error is in it with the two steps before it, and so are the newest" in_it
no_gap() {
	"$memana" growth --json o.zst >growth.json && "$memana" verify o.zst >out && grep -Eq 'records +[1-9][0-9]* steps compared, 0 differ' out &&
		json growth.json '(p := d["processes"][0], gone := p["let_go"], sum(row["steps"] for row in gone) > 30 and
			set(range(1, 61)) == {s["step"] for s in p["steps"] if s["ended"]} |
			{step for row in gone for step in range(row["step"] - row["steps"] + 1, row["step"] + 1)})[-1]'
}
check "growth knows all 60 steps, by notes where their events went" no_gap
live() {
	"$memana" sql o.zst 'SELECT total(bytes) FROM allocation WHERE free_seq IS NULL' >sql.out &&
		[ "$(tail -n 1 sql.out | sed 's/\..*//;s/,//g')" = "$(sed -n 's/ bytes live$//p' out)" ]
}
steps >/dev/null 2>&1
check "and the live set is right at the end" live

# --- kill -9
both_killed() {
	MEMREC_OPTIONS=$small status 137 record -o b.zst -- --live 100 --calls 30000 --seed "$1" --account account --end kill-both &&
		grep -Eq '^memrec: the collector of process [0-9]+ died; what it left is folded in$' err && within b.zst 65536 &&
		kept b.zst account && nothing_left && [ ! -e b.zst.keep ]
}
check "kill -9 of target and collector" both_killed 7
middle() {
	MEMREC_OPTIONS=$small status 0 record -o m.zst -- --live 100 --calls 30000 --account account --after kill-collector &&
		kept m.zst account && within m.zst 65536
}
check "kill -9 of the collector in the middle" middle
all_killed() {
	rm -rf rings
	mkdir rings
	LD_LIBRARY_PATH=$standin MEMREC_OPTIONS=$small "$memrec" -o a.zst --ring-dir rings -- \
		python3 "$SRC/tests/cli/driver_calls.py" --live 100 --calls 30000 --account account --end kill-all >/dev/null 2>&1
	: >a.zst.keep # as if it had died while it made a new file
	ls rings/*/*.ring >/dev/null && "$memana" top a.zst >/dev/null && status 0 "$memrec" recover a.zst && kept a.zst account &&
		nothing_left && [ ! -e a.zst.keep ]
}
check "kill -9 of everything: the trace opens, and memrec recover makes it whole" all_killed

# --- a disk with room for the file, and none for a new one beside it
# tight NAME OPTIONS: a run on such a disk. Then the disk gets room, and memrec recover folds the events of the ring.
tight() {
	mount -o remount,size=72k tiny && rm -f tiny/*
	MEMREC_OPTIONS="keep=65536 $2" status 0 record -o "tiny/$1" -- --live 100 --calls 30000 --account account &&
		grep -q "^memrec: disk full: tiny/$1 ends early (free some space, then: memrec recover tiny/$1)\$" err &&
		grep -q "^memrec: tiny/$1: is larger than --keep: " err && "$memana" top "tiny/$1" >/dev/null &&
		[ "$(ls tiny)" = "$1" ] && mount -o remount,size=10m tiny && "$memrec" recover "tiny/$1" && within "tiny/$1" 65536
}
waits() { tight w.zst slot-bytes=8388608 && kept tiny/w.zst account && "$memana" info tiny/w.zst | grep -Eq '^  lost +nothing'; }
drops() {
	tight d.zst slot-bytes=65536 && "$memana" info --json tiny/d.zst >info.json &&
		json info.json '[l["reason"] for l in d["traces"][0]["losses"]] == ["the trace could not be written"]'
}
mkdir -p tiny
if ! mount -t tmpfs -o size=72k tmpfs tiny 2>/dev/null; then
	echo "skip no room for the new file: mount is not permitted"
else
	trap 'umount tiny' EXIT
	check "no room for the new file: the old one stays, and nothing is lost once there is room" waits
	check "what the ring could not hold meanwhile is counted, and why is said" drops
fi
