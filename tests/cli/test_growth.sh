# Whether a run grows, where and by how much: the same numbers in every report.
. "$SRC/tests/cli/lib.sh"
"$BUILD/tests/unit/test_growth" --write . || { echo "not ok traces for growth"; exit 1; }

# The object "growth" of each report of these traces, one a line.
told() { # NAME
	local command
	for command in top steps phases retained "check --growth 0"; do
		"$memana" $command --json "$1".[0-9].zst
	done | python3 -c '
import json, sys
decoder, text = json.JSONDecoder(), sys.stdin.read().lstrip()
while text:
    document, end = decoder.raw_decode(text)
    print(json.dumps(document["growth"], sort_keys=True))
    text = text[end:].lstrip()'
}
agree() { # NAME STATE BYTES
	told "$1" >told && [ "$(wc -l <told)" = 5 ] && [ "$(sort -u told | wc -l)" = 1 ] &&
		head -n 1 told | json /dev/stdin "(d['state'], d['bytes'], len(d['places'])) == ('$2', $3, $(($3 > 0)))" || { cat told; return 1; }
}
# advise names what keeps it before any setting, exactly where something grows.
advised() { # NAME STATE
	"$memana" advise --json "$1".[0-9].zst >advice.json &&
		json advice.json "any(r['reason'] == 'retention' for r in d['refusals']) == ('$2' == 'growing')"
}
while read -r name state bytes; do
	check "$name: all reports agree" agree "$name" "$state" "$bytes"
	check "$name: so does advise" advised "$name" "$state"
done <kinds.txt

check "check: a leak breaks a limit" status 1 "$memana" check --growth 1MiB step.0.zst
check "check: an output that is replaced does not" status 0 "$memana" check --growth 0 output.0.zst
check "one place with its ranks" bash -c '"$0" steps --json all-ranks.?.zst >all.json' "$memana"
check "each of them once" json all.json \
	'[(p["ranks"], p["processes"], p["bytes_per_step"] >> 20) for p in d["growth"]["places"]] == [(list(range(8)), 8, 16)]'
check "the GPU grows by the sum" json all.json '[(g["bytes_per_step"] >> 20, g["processes"]) for g in d["growth"]["devices"]] == [(16, 8)]'
