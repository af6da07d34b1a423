# The census: exact, and nothing that the program would notice.
. "$SRC/tests/cli/lib.sh"
[ -n "$PYTHON" ] || skip "no python3 with torch"
guest=$SRC/tests/torch/census_guest.py

# The allocator's actions, without addresses, which differ, and without the recorder's own.
stream() { # TRACE
	"$memana" load "$1" -o stream.db >/dev/null 2>&1 && "$memana" sql stream.db \
		"SELECT memory, bytes, step, free_step, phase, function, line FROM allocation LEFT JOIN place USING (node)
		ORDER BY alloc_time, alloc_seq"
	rm -f stream.db
}
same() { # HOW: output and the order and sizes of all allocations, with the census and without
	status 0 "$memrec" --cpu -o with.zst -- "$PYTHON" "$guest" "$1" && cp out with.out && grep -vE '^(memrec:|W[0-9]{4} )' err >with.err
	status 0 "$memrec" --cpu --no-census -o without.zst -- "$PYTHON" "$guest" "$1" && cp out without.out && grep -vE '^(memrec:|W[0-9]{4} )' err >without.err
	cmp with.out without.out && cmp with.err without.err && stream with.zst >with.stream && stream without.zst >without.stream &&
		[ "$(wc -l <with.stream)" -gt 200 ] && cmp with.stream without.stream
}
rows() { "$memana" sql with.zst "SELECT count(*) FROM parameter $1"; }
has_rows() { [ "$(rows "$1")" -gt 0 ]; }

check "losses, output and every allocation are the same with the census and without" same plain
sums() { # the bytes that the model says of itself: 4 bytes an element
	local weights=$(((2048 * 64 + 4 * (64 * 256 + 256 + 256 * 64 + 64)) * 4))
	"$memana" sql with.zst "SELECT what, sum(bytes) FROM parameter WHERE newest AND NOT tied AND optimizer IS NOT NULL
		AND ifnull(state, '') <> 'step' GROUP BY what" >sums
	printf 'gradients\t%d\noptimizer state\t%d\nweights\t%d\n' $weights $((2 * weights)) $weights | cmp - sums || cat sums
}
check "weights, gradients and Adam's state to the byte" sums
check "a name for each" [ "$(rows "WHERE newest AND what = 'weights' AND name = 'up.3.weight' AND model LIKE 'Net#%'")" = 2 ]
check "tied weights by both names, counted once" [ "$(rows "WHERE newest AND what = 'weights' AND NOT tied AND name IN ('head.weight', 'embed.weight')")" = 2 ]
check "a model that nobody trains" has_rows "WHERE newest AND optimizer IS NULL AND name = 'embed.weight'"
check "buffers" has_rows "WHERE what = 'buffers' AND name = 'scale'"
twice() { [ "$("$memana" sql with.zst "SELECT group_concat(DISTINCT census) FROM parameter")" = 1,2 ]; }
check "after two steps, and not again" twice
known() {
	"$memana" top --json with.zst >top.json && json top.json 'all(s["known"] == "census" for s in d["devices"][0]["sites"] if s["category"] in ("weights", "optimizer state") and s["bytes"] > 10000)'
}
check "what it says is what top says" known
# The labels from lives and sizes are the census's labels.
compared() {
	local what bytes differs=0
	for what in with without; do "$memana" load "$what.zst" -o "$what.db" >/dev/null; done
	for what in weights gradients 'optimizer state'; do
		for bytes in with without; do
			"$memana" sql "$bytes.db" "SELECT sum(bytes) FROM allocation WHERE category = '$what' AND memory = 'tensor'" >"$bytes.sum"
		done
		printf '%-16s census %12s, without %12s\n' "$what" "$(cat with.sum)" "$(cat without.sum)"
		awk -v a="$(cat with.sum)" -v b="$(cat without.sum)" 'BEGIN { exit !(a > 0 && b >= a * 0.99 && b <= a * 1.01) }' || differs=1
	done
	rm -f with.db without.db
	return $differs
}
check "without it lives and sizes tell the same, within 1 %" compared
asked() { "$memana" info without.zst | grep -qE 'census +off.*--no-census' && [ "$("$memana" sql without.zst "SELECT count(*) FROM parameter")" = 0 ]; }
check "--no-census: none" asked

check "a thread that steps" same thread
check "and is asked" has_rows "WHERE what = 'gradients'"
check "a default device, which is a torch function mode" same default-device
check "with rows" has_rows "WHERE what = 'gradients'"
check "a program that traces itself sees a call, and no more" same traced
seen() { grep -qx 'traced \[\]' with.out; }
check "nor is anything asked then" seen
check "hooks of the program's own" same hooked
check "an optimizer that lets nobody look" same broken
check "a compiled step: as many graphs, as many breaks" same compiled

# -W error, -X dev, faulthandler.
strict() {
	status 0 "$memrec" --cpu -o with.zst -- "$PYTHON" -W error -X faulthandler "$guest" plain && cp out strict.out && cmp strict.out plain.out && has_rows ""
}
same plain >/dev/null && cp with.out plain.out
check "-W error and faulthandler" strict
# Models alone.
cat >engine.py <<'END'
import time, torch
model = torch.nn.Sequential(torch.nn.Embedding(4096, 32), torch.nn.Linear(32, 32))
end = time.time() + 5
with torch.no_grad():
    while time.time() < end:
        model(torch.randint(4096, (64,)))
END
engine() {
	MEMREC_OPTIONS="census-ms=500" status 0 "$memrec" --cpu -o with.zst -- "$PYTHON" engine.py
	[ "$(rows "WHERE what = 'weights' AND optimizer IS NULL")" -ge 3 ]
}
check "a process without optimizer: its models" engine
# The flight recorder lets go of what was said, and it is said again.
fork_one() {
	cat >forked.py <<'END'
import os, sys, torch
net = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(3):
    net(torch.randn(2, 8)).sum().backward(); optimizer.step()
    if i == 0:
        child = os.fork()
        if not child:
            for j in range(3):
                net(torch.randn(2, 8)).sum().backward(); optimizer.step()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
END
	status 0 "$memrec" --cpu -o with.zst -- "$PYTHON" forked.py && has_rows ""
}
check "a forked child that steps" fork_one
