# memrec.sh - functions that tests of memrec share: a target that uses the stand-in GPU and counts its own calls.

calls() { python3 "$SRC/tests/cli/driver_calls.py" "$@"; }

# record [MEMREC OPTION...] -- [driver_calls.py OPTION...]: on the stand-in; the rings lie in ./rings.
record() {
	local options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	mkdir -p rings gpu
	STANDIN_STATE=$PWD/gpu LD_LIBRARY_PATH=$standin "$memrec" --ring-dir rings "${options[@]}" -- \
		python3 "$SRC/tests/cli/driver_calls.py" "$@"
}

# agrees TRACE ACCOUNT [more]: the trace has the counts of the target: allocations, peak, and bytes that were never freed.
agrees() {
	"$memana" verify "$1" || return 1
	"$memana" top --json "$1" >top.json || return 1
	"$memana" sql "$1" 'SELECT count(*), total(CASE WHEN free_seq IS NULL THEN bytes END) FROM allocation' >sql.out || return 1
	python3 - "$2" <<-'END'
		import json, sys
		account, top = json.load(open(sys.argv[1])), json.load(open("top.json"))
		taken, live = [int(float(word)) for word in open("sql.out").read().split()[-2:]]
		got = {"peak": max(d["peak"]["bytes"] for d in top["devices"]), "taken": taken, "live": live}
		want = {key: account[key] for key in got}
		print("trace:", got, "account:", want)
		sys.exit(got != want)
	END
}

# No ring, note or folder is left in DIR (default ./rings).
nothing_left() {
	[ -z "$(ls -A "${1:-rings}")" ] || { ls -lR "${1:-rings}"; return 1; }
}

# Waits until the process is gone: at most 20 s, and at once when it is.
wait_gone() {
	timeout 20 tail --pid="$1" -s 0.05 -f /dev/null
}
