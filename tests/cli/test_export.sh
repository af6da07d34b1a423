# memana export, the formats of one moment: their bytes add up to memana top, they take names of any kind, and a file
# is complete or absent. tests/export checks formats that need a reader.
. "$SRC/tests/cli/lib.sh"
LD_LIBRARY_PATH=$standin "$memrec" -o run.zst -- "$BUILD/samples/rl_step" --steps 3 --quiet >/dev/null 2>&1
"$BUILD/tests/unit/test_query" --write .
python3 "$SRC/tests/cli/import_make.py" hostile.pickle hostile
python3 "$SRC/tests/cli/import_make.py" devices.pickle devices
python3 "$SRC/tests/cli/import_make.py" empty.pickle empty
"$memana" load run.zst -o run.db >/dev/null
mkdir eight

time=$("$memana" sql run.db "SELECT time FROM phase_peak WHERE phase = 'logprob' AND bytes")

for rank in 0 1 2 3 4 5 6 7; do
	RANK=$rank WORLD_SIZE=8 STANDIN_MEM=80GiB LD_LIBRARY_PATH=$standin "$memrec" -o 'eight/trace.rank%r.zst' -- \
		"$BUILD/samples/rl_step" --quiet --scale 0.1 --steps 1 >/dev/null 2>&1
done

# adds_up FORMAT [--at MOMENT] TRACE...
adds_up() {
	"$memana" export --to "$@" -o out.export >said && "$memana" top --json "${@:2}" >top.json || return 1
	python3 "$SRC/tests/cli/export_check.py" "$1" out.export top.json
}
for format in folded speedscope csv openmetrics; do
	check "$format: the peak" adds_up $format run.zst
	check "$format: the peak inside a step" adds_up $format --at step:2 run.zst
	check "$format: a time" adds_up $format --at "${time}ns" run.zst
	check "$format: an out-of-memory error" adds_up $format --at oom small.zst
	check "$format: two devices of a snapshot" adds_up $format devices.pickle
	check "$format: two processes" adds_up $format rank0.zst rank1.zst
	check "$format: hostile names" adds_up $format hostile.pickle
	check "$format: a run of TRL" adds_up $format "$SRC/samples/trl_grpo.zst"
	check "$format: 8 ranks" adds_up $format --all eight
	check "$format: a database" adds_up $format run.db
	check "$format: a database, another moment" adds_up $format --at step:3 run.db
done
same() { "$memana" export run.zst --to "$@" -o one >said && "$memana" export run.db --to "$@" -o two >said && cmp one two; }
for format in folded speedscope pprof; do check "$format: a trace and its database are the same" same $format; done
# Another moment than the peak is read without the rest of the run: the same as of a database with all of it.
moments() { # TRACE
	local when
	rm -f all.db && "$memana" load "$1" -o all.db >/dev/null || return 1
	for when in $("$memana" sql all.db "SELECT DISTINCT time || 'ns' FROM named_moment WHERE time > 0 ORDER BY time" | awk '{ a[NR] = $0 }
		END { for (i = 1; i <= 6; i++) print a[int((NR - 1) * i / 6) + 1] }') step:1 step:2; do
		for by in stack module; do
			"$memana" export "$1" --to csv --at "$when" --by $by -o one.csv >said && "$memana" export all.db --to csv --at "$when" --by $by -o two.csv >said &&
				[ "$(wc -l <one.csv)" -gt 1 ] && cmp one.csv two.csv || { echo "$when"; return 1; }
		done
	done
}
for trace in run "$SRC/samples/gpu/torch_sleep" "$SRC/samples/trl_grpo" ; do check "moments of $(basename $trace)" moments $trace.zst; done
LD_LIBRARY_PATH=$standin STANDIN_MEM=100GiB "$memrec" -o longer.zst -- "$BUILD/samples/rl_step" --steps 30 --quiet >/dev/null 2>&1
small() { (ulimit -f 2000 && "$memana" export longer.zst --to folded "$@" -o - >small.folded) && [ -s small.folded ]; }
check "no temporary file with all lives: a time" small --at "$("$memana" sql longer.zst "SELECT end_time FROM step WHERE step = 10")ns"
check "no temporary file with all lives: a step" small --at step:20
check "no temporary file with all lives: growth" small --steps 10..20
modules() {
	"$memana" export --to folded --by module run.zst -o modules.folded >said && "$memana" top --json run.zst >top.json &&
		python3 "$SRC/tests/cli/export_check.py" folded modules.folded top.json && grep -q '^outside any module;weights [0-9]*$' modules.folded
}
check "--by module" modules

# ---- what has grown ----
grown() { # grown A B: the bytes by phase that the run keeps between two times are those of the database
	"$memana" export --to csv run.zst --since "$1ns" --until "$2ns" -o grown.csv >said || return 1
	"$memana" sql run.db --json "WITH held AS (SELECT phase, sum(bytes * (alloc_time <= $2 AND (free_time IS NULL OR free_time > $2))) AS after,
		sum(bytes * (alloc_time <= $1 AND (free_time IS NULL OR free_time > $1))) AS before FROM allocation WHERE memory = 'device' GROUP BY site)
		SELECT phase, after - before AS bytes FROM held WHERE after > before ORDER BY 1, 2" >rows.json
	python3 - <<-'END'
		import csv, json
		rows = sorted((row["phase"], int(row["bytes"])) for row in csv.DictReader(open("grown.csv", newline="")))
		assert rows and rows == [tuple(row.values()) for row in json.load(open("rows.json"))], rows
	END
}
first=$("$memana" sql run.db "SELECT end_time FROM step WHERE step = 1") second=$("$memana" sql run.db "SELECT end_time FROM step WHERE step = 2")
check "what has grown between two times" grown "$first" "$second"
steps() { cmp <("$memana" export run.zst --to folded --steps 2 -o -) <("$memana" export run.zst --to folded --since "${first}ns" --until "${second}ns" -o -); }
check "--steps is the time of the steps" steps
leak() { [ "$("$memana" export run.zst --to folded --steps 2 -o - | sed 's/.* //' | paste -sd+ | bc)" = "$("$memana" sql run.db \
	"SELECT (SELECT held_bytes FROM step_device WHERE step = 2) - (SELECT held_bytes FROM step_device WHERE step = 1)")" ]; }
check "a step grows by what it holds more at its end" leak

# ---- tables ----
allocations() {
	"$memana" export run.zst --to csv --table allocations >said && "$memana" sql run.db --json "SELECT id, bytes, alloc_time, free_time,
		phase, category FROM allocation ORDER BY id" >rows.json && python3 - <<-'END'
		import csv, json
		table = list(csv.DictReader(open("run.allocations.csv", newline="")))
		rows = json.load(open("rows.json"))
		assert [[int(row["id"]), int(row["bytes"]), int(row["alloc_ns"]), int(row["free_ns"]) if row["free_ns"] else None, row["phase"],
		         row["category"]] for row in table] == [list(row.values()) for row in rows]
		assert rows
	END
}
check "--table allocations: all of the database, in a file of its own name" allocations
streamed() { # written while the events are read; of a database, by a question
	local trace
	for trace in "$SRC"/tests/golden/v1-{kinds,kinds-more,census,keep,run,skip,nests}.zst "$SRC"/samples/gpu/*.zst "$SRC/samples/trl_grpo.zst" devices.pickle; do
		rm -f one.db && "$memana" load "$trace" -o one.db >/dev/null || return 1
		cmp <("$memana" export "$trace" --to csv --table allocations -o -) <("$memana" export one.db --to csv --table allocations -o -) || { echo "$trace"; return 1; }
	done
}
check "--table allocations: a trace and its database are the same" streamed
table_steps() {
	"$memana" export run.zst --to csv --table steps >said && "$memana" sql run.db --json "SELECT step, peak_bytes, held_bytes FROM step_device
		JOIN step USING (process, step) JOIN device ON device.id = device WHERE number IS NOT NULL ORDER BY step" >rows.json && python3 - <<-'END'
		import csv, json
		table = list(csv.DictReader(open("run.steps.csv", newline="")))
		assert [[int(row[key]) for key in ("step", "peak_bytes", "held_bytes")] for row in table] == [list(row.values()) for row in
			json.load(open("rows.json"))] and len(table) == 3
	END
}
check "--table steps" table_steps
part() { [ "$("$memana" export run.zst --to csv --table steps --steps 2..3 -o - | wc -l)" = 3 ]; }
check "--table steps of a part" part

# ---- hostile names ----
hostile() {
	"$memana" export hostile.pickle --to speedscope -o h.json >said && "$memana" export hostile.pickle --to folded -o h.folded >said &&
		"$memana" export hostile.pickle --to csv -o h.csv >said || return 1
	python3 - <<-'END'
		import csv, json
		text = open("h.json", encoding="utf-8").read()
		names = {frame["name"] for frame in json.loads(text)["shared"]["frames"]}
		assert "</" not in text and "<!" not in text
		assert {'say "hi"', "it's", "</script><script>alert(1)</script>", "two\nlines\r", "semi;colon", "=cmd()", "back\\slash", "lone ???"} <= names, names
		lines = open("h.folded", encoding="utf-8", newline="").read().split("\n")
		assert len(lines) == 20 and not any(c in text for c in "\r\0\x1b\u202e" for text in lines)
		assert any(line.startswith("<module> (train.py:1);semi:colon (") for line in lines)
		rows = list(csv.DictReader(open("h.csv", newline="", encoding="utf-8"), strict=True))
		assert len(rows) == 19 and any("comma,tab" in row["stack"] for row in rows)
	END
}
check "hostile names reach each reader as they are, or as '?'" hostile

# ---- --confidential ----
secrets() { # no path, no source file; functions stay
	"$memana" export run.zst --to "$1" --confidential "${@:3}" -o secret >said || return 1
	if [ "$1" = pprof ]; then gzip -dc secret >plain; else cp secret plain; fi
	! grep -qaE '\.c\b|rl_step\.|/home|/usr|/tmp|samples/' plain && grep -qa "$2" plain
}
check "--confidential: folded" secrets folded ffn_forward
check "--confidential: speedscope" secrets speedscope ffn_forward
check "--confidential: pprof" secrets pprof ffn_forward
check "--confidential: csv" secrets csv ffn_forward
check "--confidential: allocations" secrets csv ffn_forward --table allocations
python_secret() { "$memana" export hostile.pickle --to folded --confidential -o secret >said && ! grep -q 'train\.py\|code/' secret && grep -q '=cmd()' secret; }
check "--confidential: Python" python_secret

# ---- the file ----
named() { rm -f run.folded* && "$memana" export run.zst --to folded >said && [ -s run.folded ] && one_line said '^run\.folded: .* stacks$'; }
check "a file named after the trace" named
older() { echo mine >run.folded && "$memana" export run.zst --to folded >said && [ "$(cat run.folded.old)" = mine ] && [ "$(wc -l <run.folded)" -gt 5 ]; }
check "an older file is kept as FILE.old" older
mkdir ranks && cp rank0.zst ranks/trace.rank0.zst && cp rank1.zst ranks/trace.rank1.zst
check "a folder" bash -c '"$0" export ranks/ --to folded && [ -s ranks.folded ]' "$memana"
check "several ranks" bash -c '"$0" export ranks/*.zst --to folded && [ -s ranks/trace.folded ]' "$memana"
check "a snapshot" bash -c '"$0" export devices.pickle --to pprof && [ -s devices.pb.gz ]' "$memana"
check "standard output has nothing but the export" bash -c 'cmp run.folded <("$0" export run.zst --to folded -o -)' "$memana"
check "the same bytes each time" bash -c '"$0" export run.zst --to pprof -o a && "$0" export run.zst --to pprof -o b && cmp a b' "$memana"
mkdir part
full() { # a file that cannot grow: one line, status 4, no half file, and the older one stays
	echo mine >part/x.csv
	(ulimit -f 64 && status 4 "$memana" export run.zst --to csv --table allocations -o part/x.csv) || return 1
	one_line err 'export: part/x\.csv: File too large' && [ "$(ls part)" = x.csv ] && [ "$(cat part/x.csv)" = mine ]
}
check "no room for the file" full
check "standard output is full" bash -c '"$0" export run.zst --to folded -o - >/dev/full 2>err; [ $? = 4 ] && [ $(wc -l <err) = 1 ]' "$memana"
gone() { status 4 "$memana" export run.zst --to folded -o nowhere/x && one_line err 'export: nowhere/x: No such file or directory'; }
check "no such folder" gone
no_events() { status 3 "$memana" export empty.pickle --to "$1" -o none && one_line err 'export: empty.pickle: nothing was recorded' && [ ! -e none ]; }
for format in folded speedscope pprof csv; do check "$format: a trace without events" no_events $format; done

# ---- wrong ----
wrong() { status "$1" "$memana" export run.zst "${@:3}" -o wrong && one_line err "$2" && [ ! -e wrong ]; }
check "no such step" wrong 2 'export: --at step:9: the run has 3 steps$' --to folded --at step:9
check "no such error" wrong 2 'export: --at oom: no out-of-memory error was recorded$' --to folded --at oom
check "no such time" wrong 2 'the recording is over by then' --to csv --at 1000s
check "no such begin" wrong 2 'export: --since .*the recording is over by then' --to folded --since 1000s
check "no such steps" wrong 2 'export: --steps 7\.\.9: no such step ended$' --to speedscope --steps 7..9
check "no format" wrong 2 'export: no format named'
check "a format that is near" wrong 2 'did you mean folded' --to foldd
check "a table that is near" wrong 2 'did you mean steps' --to csv --table step
check "steps that are none" wrong 2 'export: --steps 3\.\.1: not a range of steps' --to csv --steps 3..1
check "a time that is none" wrong 2 'export: --since soon: not a time' --to csv --since soon
check "an option that the format does not take" wrong 2 'export: --table: nothing for --to folded' --to folded --table steps
check "a moment for a table of all moments" wrong 2 'export: --at: nothing for --to csv --table steps' --to csv --table steps --at peak
check "a range that goes back" wrong 2 'export: --until is before --since' --to folded --since 2ms --until 1ms
check "nothing has grown" wrong 1 'export: run.zst: nothing for --to folded in that part of the run: no site has grown$' --to folded --since "${second}ns" --until "${second}ns"
check "a moment and a range" wrong 2 'export: --at is one moment' --to folded --at peak --since 1s
check "the trace itself" bash -c '"$0" export run.zst --to folded -o run.zst 2>err; [ $? = 2 ] && grep -q "would replace what is read" err' "$memana"
