# memana check --save and --baseline, JUnit XML and annotations of GitHub. test_reports.sh checks the limits.
. "$SRC/tests/cli/lib.sh"
"$BUILD/tests/unit/test_query_reports" --write .

# ---- a baseline ----
saved() { status 0 "$memana" check grows.zst --save base.json && one_line out '^base\.json: [0-9]* figures saved'; }
check "--save" saved
figures() { json base.json '(lambda f: f["max-peak", "GPU 0"] >> 20 == 190 and f["growth", "GPU 0"] >> 20 == 2 and f["max-peak", "GPU 0 in init"] <= 100 << 20)(
	{(row["rule"], row["subject"]): row["bytes"] for row in d["figures"]})'; }
check "its figures are those of the run" figures
check "it is as its schema says" "$HOST_PYTHON" "$SRC/tests/cli/schema.py" "$SRC/docs/schema" base.json
check "the run itself holds" status 0 "$memana" check grows.zst --baseline base.json --tolerance 0
"$memana" load grows.zst -o grows.db >/dev/null
check "and so does its database" status 0 "$memana" check grows.db --baseline base.json --tolerance 0

# other RULE SUBJECT BYTES: other.json is the baseline with another figure
other() {
	python3 - "$@" <<-'END'
		import json, sys
		document = json.load(open("base.json"))
		for row in document["figures"]:
		    if (row["rule"], row["subject"]) == (sys.argv[1], sys.argv[2]):
		        row["bytes"] = int(sys.argv[3])
		json.dump(document, open("other.json", "w"))
	END
}
broken() { status 1 "$memana" check grows.zst --baseline other.json "$@"; }
other max-peak "GPU 0" $((180 << 20))
check "a higher peak" broken
check "is said with the figure before" grep -qx 'not ok  max-peak  GPU 0: 190.0 MiB, limit 181.8 MiB (baseline 180.0 MiB)' out
check "within the tolerance" status 0 "$memana" check grows.zst --baseline other.json --tolerance 6
check "and just out of it" broken --tolerance 5.5%
other max-peak "GPU 0" $((189 << 20))
check "1 MiB more is allowed in any case" status 0 "$memana" check grows.zst --baseline other.json --tolerance 0
other max-peak "GPU 0" $((400 << 20))
check "a lower peak holds" status 0 "$memana" check grows.zst --baseline other.json
other growth "GPU 0" 0
check "new growth" broken
check "is said with what grows" bash -c 'tr "\n" " " <out | grep -q "Growing: "'
check "limits beside a baseline" broken --max-peak 1GiB
check "have a line each" bash -c 'grep -qx "ok      max-peak  GPU 0: 190.0 MiB, limit 1.0 GiB" out && grep -q "(baseline" out'
sed -i 's/GPU 0 in init/GPU 7 in init/' other.json
check "a figure that the run does not have cannot hold" bash -c '"$0" check grows.zst --baseline other.json | tr -s "\n " " " | grep -q "GPU 7 in init: unknown: "' "$memana"
ranks() { "$memana" check rank0.zst rank1.zst --save ranks.json >out && json ranks.json '{"GPU 1", "GPU 2"} <= {row["subject"] for row in d["figures"]}'; }
check "several GPUs" ranks
check "too few steps: growth is no figure" bash -c '"$0" check short.zst --save short.json >/dev/null && ! grep -q growth short.json' "$memana"

as_json() { "$memana" check grows.zst --baseline base.json --json >check.json && json check.json \
	'd["ok"] and all(row["baseline_bytes"] == row["bytes"] for row in d["limits"]) and len(d["limits"]) > 3'; }
check "--json" as_json
check "--json is as the schema says" "$HOST_PYTHON" "$SRC/tests/cli/schema.py" "$SRC/docs/schema" check.json

# ---- files that are no baseline ----
refused() { status "$1" "$memana" check grows.zst --baseline "$2" && one_line err "check: --baseline $2: $3"; }
printf 'not JSON' >junk && echo '{"schema": "urn:memana:check:1", "figures": []}' >alien && echo '[]' >list
check "no JSON" refused 3 junk 'no JSON'
check "another document" refused 3 alien 'not a baseline of memana check --save'
check "a list" refused 3 list 'not a baseline'
check "no file" refused 4 nowhere 'No such file or directory'
for row in 1 '{}' '{"rule": "growth", "subject": "GPU 0"}' '{"rule": "growth", "subject": "GPU 0", "bytes": -1}' '{"rule": 1, "subject": "GPU 0", "bytes": 1}' \
	'{"rule": "growth", "subject": "GPU 0", "bytes": 9223372036854775807}' "{\"rule\": \"growth\", \"subject\": \"$(printf '%0200d' 7)\", \"bytes\": 1}"; do
	echo "{\"schema\": \"urn:memana:baseline:1\", \"figures\": [$row]}" >row
	check "a row that is none: ${row:0:60}" refused 3 row 'not a baseline'
done
printf '{"schema": "urn:memana:baseline:1", "figures": %0100000d' 0 | tr 0 '[' >deep
check "deep" refused 3 deep 'no JSON'
hostile='{"schema": "urn:memana:baseline:1", "figures": [{"rule": "x", "subject": "a\u001b[31m</testsuite>%\n::error::", "bytes": 1}]}'
echo "$hostile" >hostile.json
check "a hostile subject" bash -c '! "$0" check grows.zst --baseline hostile.json --junit h.xml >h.txt && ! grep -q "$(printf "\033")" h.txt h.xml' "$memana"
check "stays a text of XML" python3 -IS -c 'import xml.etree.ElementTree as t; assert len(t.parse("h.xml").getroot()[0]) == 1'
check "and one annotation" bash -c '"$0" check grows.zst --baseline hostile.json --github >h.txt; [ "$(wc -l <h.txt)" = 2 ] && ! grep -v "^::error title=memana check" h.txt && grep -q "%25" h.txt' "$memana"
check "a percentage that is none" status 2 "$memana" check grows.zst --baseline base.json --tolerance much
check "a baseline that would replace the trace" status 2 "$memana" check grows.zst --save grows.zst
full() { mkdir -p part && echo mine >part/base.json && (ulimit -f 0 && status 4 "$memana" check grows.zst --save part/base.json 2>/dev/null) >said; [ "$(cat part/base.json)" = mine ] && [ "$(ls part)" = base.json ]; }
check "no room: the older one stays" full

# ---- for CI ----
other max-peak "GPU 0" $((180 << 20))
junit() {
	status 1 "$memana" check grows.zst --baseline other.json --max-peak 1GiB --junit report.xml || return 1
	python3 -IS - <<-'END'
		import xml.etree.ElementTree as tree
		root = tree.parse("report.xml").getroot()
		suite = root[0]
		cases = suite.findall("testcase")
		failed = [case.get("name") for case in cases if case.find("failure") is not None]
		assert root.tag == "testsuites" and suite.tag == "testsuite"
		assert int(suite.get("tests")) == len(cases) > 4 and int(suite.get("failures")) == len(failed)
		assert "GPU 0" in failed and cases[0].get("classname") == "memana.check.max-peak"
		assert "limit 181.8 MiB" in [case.find("failure").get("message") for case in cases if case.find("failure") is not None][0]
	END
}
check "--junit: a test case for each limit" junit
check "--junit: the text is there, too" grep -q '^not ok' out
github() { status 1 "$memana" check grows.zst --baseline other.json --github && grep -qx '::error title=memana check max-peak::GPU 0: 190.0 MiB, limit 181.8 MiB (baseline 180.0 MiB)' out &&
	! grep -v '^::error' out; }
check "--github: an annotation for each that is broken" github
check "--github: a notice where all hold" bash -c '[ "$("$0" check grows.zst --max-peak 1GiB --github)" = "::notice title=memana check::1 limit: all hold." ]' "$memana"
check "--junit: no such folder" bash -c '"$0" check grows.zst --max-peak 1GiB --junit no/x.xml 2>err >out; [ $? = 4 ] && [ "$(wc -l <err)" = 1 ]' "$memana"
