# All reports have the same bytes alive, in use and idle at a moment, also if several events have the same nanosecond.
. "$SRC/tests/cli/lib.sh"
"$BUILD/tests/unit/test_meaning" --write . || { echo "not ok traces of moments"; exit 1; }

# says COMMAND EXPRESSION TRACE...: true of the document d of `memana COMMAND --json`.
says() { "$memana" $1 --json "${@:3}" >out.json && json out.json "$2"; }
mib='lambda b: b >> 20'

check "the largest hole is one stretch, in expandable segments too" says oom \
	"(lambda m, f: (m(f['largest_hole_bytes']), m(f['idle_segment_bytes']), m(f['slack_bytes'])))($mib, d['failure']) == (30, 20, 120)" pieces.zst
check "frag says the same" says "frag --at oom" \
	"(lambda m, g: (m(g['largest_hole_bytes']), m(g['empty_cache_bytes']), m(g['idle_bytes'])))($mib, d['devices'][0]) == (30, 20, 120)" pieces.zst

check "what another process does at the same time comes after" says oom \
	"[(p['pid'], p['held_bytes'] >> 20, p['slack_bytes'] >> 20) for p in d['failure']['processes']] == [(200, 200, 190), (100, 100, 40)]" first.zst second.zst
check "for frag, too" says "frag --at oom" \
	"(lambda g: (g['reserved_bytes'] >> 20, g['idle_bytes'] >> 20))(d['devices'][0]) == (300, 230)" first.zst second.zst
check "and before, when it is the first that does" says "frag --at oom" \
	"(lambda g: (g['reserved_bytes'] >> 20, g['idle_bytes'] >> 20))(d['devices'][0]) == (350, 280)" second.zst first.zst
check "as for top" says "top --at oom" "d['devices'][0]['peak']['bytes'] >> 20 == 350" second.zst first.zst

check "the peak of a phase is before what follows at once" says frag \
	"[(p['phase'], p['allocated_bytes'] >> 20) for p in d['devices'][0]['phases']] == [('init', 20), ('forward', 90)]" instant.zst
check "what crosses to it was there" says "retained --from init --to forward" \
	"[(p['from'], p['to'], p['bytes'] >> 20) for p in d['phases']] == [('init', 'forward', 20)]" instant.zst

# Time does not go back: who is late is as late as who was not.
at() {
	"$memana" top --json --at "$1" late.zst >top.json && "$memana" frag --json --at "$1" late.zst >frag.json && python3 - "$2" <<-'END'
		import json, sys
		top, frag = (json.load(open(name))["devices"][0] for name in ("top.json", "frag.json"))
		print(top["slack_bytes"], frag["idle_bytes"])
		assert top["slack_bytes"] == frag["idle_bytes"] and top["peak"]["bytes"] == frag["reserved_bytes"]
		assert frag["allocated_bytes"] >> 20 == int(sys.argv[1])
	END
}
check "an event that is late: before it" at 7us 20
check "an event that is late: after it" at 10us 90
