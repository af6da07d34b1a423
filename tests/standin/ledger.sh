#!/bin/sh
# ledger.sh FILE - adds up a STANDIN_LEDGER: "call NAME COUNT" of the calls that succeeded, "failed COUNT", and for each
# device "peak DEVICE BYTES" and "live DEVICE BYTES" (all processes together; DEVICE is a number, or "host").
exec awk '
	NF != 8 { print "ledger.sh: line " NR ": not a ledger line: " $0 >"/dev/stderr"; bad = 1; exit 1 }
	$2 != "gone" { if ($3) failed++; else call[$2]++ }
	{ live[$4] += $8; if (live[$4] > peak[$4]) peak[$4] = live[$4] }
	END {
		if (bad) exit 1
		for (name in call) print "call", name, call[name] | "sort"
		close("sort")
		print "failed", failed + 0
		for (device in live) printf "peak %s %.0f\nlive %s %.0f\n", device, peak[device], device, live[device] | "sort"
	}' "$1"
