# Exports of one moment in the official reader of each format: pprof's messages, prometheus_client, DuckDB.
. "$SRC/tests/cli/lib.sh"
LD_LIBRARY_PATH=$standin "$memrec" -o run.zst -- "$BUILD/samples/rl_step" --steps 3 --quiet >/dev/null 2>&1
for rank in 0 1; do
	RANK=$rank STANDIN_MEM=80GiB LD_LIBRARY_PATH=$standin "$memrec" -o trace.zst -- "$BUILD/samples/rl_step" --steps 2 --quiet >/dev/null 2>&1
done
mkdir eight
for rank in 0 1 2 3 4 5 6 7; do
	RANK=$rank WORLD_SIZE=8 STANDIN_MEM=80GiB LD_LIBRARY_PATH=$standin "$memrec" -o 'eight/trace.rank%r.zst' -- \
		"$BUILD/samples/rl_step" --quiet --scale 0.1 --steps 1 >/dev/null 2>&1
done
for case in hostile devices windows; do python3 "$SRC/tests/cli/import_make.py" $case.pickle $case; done

reads() { # reads FORMAT [--at MOMENT] TRACE...
	"$memana" export --to "$@" -o out.export >said && "$memana" top --json "${@:2}" >top.json &&
		"$READERS" "$SRC/tests/export/readers.py" "$1" out.export top.json
}
for format in pprof openmetrics csv; do
	check "$format: the peak" reads $format run.zst
	check "$format: the peak of a step" reads $format --at step:2 run.zst
	check "$format: two processes" reads $format trace.rank0.zst trace.rank1.zst
	check "$format: 8 ranks" reads $format --all eight
	check "$format: a run of TRL" reads $format "$SRC/samples/trl_grpo.zst"
	check "$format: two devices" reads $format devices.pickle
	check "$format: hostile names" reads $format hostile.pickle
	check "$format: a snapshot of Windows" reads $format windows.pickle
done

allocations() {
	"$memana" export run.zst --to csv --table allocations -o run.csv >said && "$memana" sql run.zst "SELECT count(*), sum(bytes) FROM allocation" >rows &&
		[ "$("$READERS" -c 'import duckdb; print(*duckdb.sql("SELECT count(*), sum(bytes) FROM \"run.csv\"").fetchall()[0], sep="\t")')" = "$(cat rows)" ]
}
check "all allocations in DuckDB" allocations
