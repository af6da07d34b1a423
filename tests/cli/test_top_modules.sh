# memana top --by module: a tree whose rows add up, sisters in one row, one module alone; and the tables and the view
# of the database for it.
. "$SRC/tests/cli/lib.sh"
"$BUILD/tests/unit/test_module_bytes" --write . || { echo "not ok traces with modules"; exit 1; }

tree='def adds(m): return m["bytes"] == m["own_bytes"] + sum(adds(c) and c["bytes"] for c in m["modules"]) and (m["bytes"] or 1)
def find(ms, name): return next((f for m in ms for f in ([m] if m["name"] == name else []) + [find(m["modules"], name)] if f), None)
ms = next(x for x in d["devices"] if x["peak"]["bytes"])["modules"]'
top() { "$memana" top --by module --json "${@:3}" "$1" >out.json && python3 -IS -c "
import json, sys
d = json.load(open('out.json'))
$tree
assert $2, [(m['name'], m.get('outside'), m['bytes']) for m in ms]" ; }

check "the rows add up to the peak" top named.zst 'all(adds(m) for m in ms) and sum(m["bytes"] for m in ms) == d["devices"][0]["peak"]["bytes"]'
check "weights, gradients and states of a layer" top named.zst \
	'[(f["type"], f["weights_bytes"] >> 20, f["optimizer_state_bytes"] >> 20) for f in [find(ms, "layers.4"), find(ms, "layers.0")]] == [("Layer", 2, 2)] * 2'
check "gradients of a later step, by their order" top named.zst \
	'[find(ms, "layers.%d" % i)["gradients_bytes"] >> 20 for i in range(5)] == [0, 0, 1, 2, 2] and find(ms, "layers.2.fc2")["gradients_bytes"] >> 20 == 1'
check "activations of the layers that wait" top named.zst '[find(ms, "layers.%d" % i)["activations_bytes"] >> 20 for i in range(5)] == [3, 3, 3, 0, 0]'
check "what is in no module" top named.zst '[m["outside"] for m in ms if not m["name"]] == ["backward"]'
check "--depth" top named.zst 'find(ms, "layers") and find(ms, "layers")["modules"] == []' --depth 1
check "--module: one alone" top named.zst 'len(ms) == 1 and ms[0]["name"] == "layers.3" and len(ms[0]["modules"]) == 2' --module layers.3
check "modules without names: types and numbers" top nameless.zst \
	'[find(ms, "Net > Layer %d" % i)["activations_bytes"] >> 20 for i in (1, 2, 3)] == [3, 3, 3] and find(ms, "layers.3.fc1")["weights_bytes"] >> 20 == 1'
"$memana" load named.zst -o named.db >out
check "a database: the same" bash -c '"$0" top --by module --json named.zst >one; "$0" top --by module --json named.db >two; cmp one two' "$memana"

# PyTorch calls compiled code from this file. Then the module that runs has the activations of all modules inside.
check "no module is compiled" top named.zst 'not any(m["compiled"] for m in [find(ms, "layers.%d" % i) for i in range(5)])'
cp named.db compiled.db
python3 -IS -c '
import sqlite3
with sqlite3.connect("compiled.db") as db:
    assert db.execute("UPDATE frame SET file = ? WHERE file LIKE ?", ("/p/torch/_functorch/_aot_autograd/utils.py", "%layer.py")).rowcount'
check "the modules that were compiled" top compiled.db \
	'[find(ms, "layers.%d" % i)["compiled"] for i in range(5)] == [True] * 5 and not find(ms, "layers.0.fc1")["compiled"]'

# The peak is in step 3: the same bytes, told by the lives of all allocations.
same() { python3 -IS -c '
import json
def modules(name): return [x["modules"] for x in json.load(open(name))["devices"]]
assert modules("one") == modules("two")'; }
"$memana" top --by module --json named.zst >one && "$memana" top --by module --json --at step:3 named.zst >two
check "the same at another moment" same
"$memana" top --by module --json --at step:3 named.db >two
check "and of a database" same

text() { "$memana" top --by module "${@:2}" named.zst >out.txt; grep -qE -- "$1" out.txt || { cat out.txt; return 1; }; }
check "sisters are one row" text '^ +25.0 MiB .* layers\.\*$|layers\.\*$'
check "how many, and who differs" text '5 x .* Layer, least .* layers\.[0-9].*, most'
check "that can be opened" text ' layers\.4\.fc2$' --module 'layers.*' --depth 2
check "a module that is not there" status 2 "$memana" top --module layers.7 named.zst
check "no number of levels" status 2 "$memana" top --by module --depth many named.zst

check "modules that hold nothing at a moment were seen all the same" bash -c \
	'"$0" top --by module --at 0ns named.zst | tr "\n" " " | grep -q "Modules ran, and none"' "$memana"
check "without modules it says so" bash -c '"$0" top --by module "$1" | tr "\n" " " | grep -q "No module holds anything"' "$memana" "$SRC/tests/golden/v1-kinds.zst"
python3 "$SRC/tests/cli/import_make.py" history.pickle history 4
check "a snapshot has none" bash -c '"$0" top --by module history.pickle | tr "\n" " " | grep -q "snapshot has no modules and no classes"' "$memana"

# Places: the sites of one line are one, whichever layer they are of.
places() { "$memana" top "$2" >out.txt; tr '\n' ' ' <out.txt | grep -qE -- "$1" || { cat out.txt; return 1; }; }
check "a line inside of a module" places ' 9.0 MiB  [ .0-9]+%  layer.py:3 in layers\.\*  forward' named.zst
check "how many stacks" places '3 allocations +from 3 stacks' named.zst
check "without names" places 'layer.py:3 in Net > Layer \*' nameless.zst
check "the module of a site" top named.zst \
	'sorted(s["submodule"] for s in d["devices"][0]["sites"] if "submodule" in s) == ["layers.0", "layers.1", "layers.2"]'

# The functions that asked for the bytes of a place: of all layers together.
check "the functions of a place" top calls.zst \
	'(p := [p for p in d["devices"][0]["places"] if p["place"] == "layer.py:3 in layers.*"]) and sorted((f["function"], f["bytes"] >> 20, f["count"], f["stacks"]) for q in p for f in q["functions"]) == [("dropout", 6, 3, 3), ("forward", 9, 3, 3), ("softmax", 3, 3, 3)]'
check "they add up" top calls.zst \
	'all(sum(f[k] for f in p["functions"]) == p[k] for x in d["devices"] for p in x["places"] for k in ("bytes", "count", "stacks"))'
check "as rows of the text" places ' MiB +[.0-9]+%  dropout +[.0-9]+ MiB +[.0-9]+%  softmax' calls.zst
check "the stacks of a place" bash -c '"$0" top --by place --why calls.zst | tr "\n" " " | grep -qE "stack: +6.0 +MiB, +3 +allocations, +3 +stacks +alike: +dropout +\(torch/nn/functional.py:1252\)"' "$memana"

# Two runs: the layers together; nothing of a run without modules.
"$memana" diff --json named.zst longer.zst >out.json
check "diff: by module" json out.json \
	'[(r["name"], r["a_bytes"] >> 20, r["b_bytes"] >> 20, r["a_count"]) for r in d["by_module"] if r["change_bytes"]] == [("layers.*", 9, 15, 3)]'
check "diff: it adds up" json out.json 'all(sum(r[s] for r in d["by_module"]) == d["devices"][0][s] for s in ("a_bytes", "b_bytes"))'
"$memana" diff --json named.zst "$SRC/tests/golden/v1-kinds.zst" >out.json
check "diff: a run without modules" json out.json 'd["by_module"] == []'

# Growth: in which modules, the layers together.
"$memana" steps --json leak.zst >out.json
check "steps: the module that grows" json out.json \
	'[(g["submodule"], g["bytes"] >> 20) for g in d["growth"]["places"]] == [("layers.*", 42)]'
"$memana" retained --json leak.zst >out.json
check "retained: the same" json out.json '[g["submodule"] for g in d["per_step"]] == ["layers.*"]'
check "in words" bash -c '"$0" steps leak.zst | tr "\n" " " | grep -q "Growing: forward (layer.py:3) in layers\.\* keeps"' "$memana"

# A failed request: the layer that was running, and those that wait with their activations.
"$memana" oom --json oom.zst >out.json
check "oom: the module that was running" json out.json \
	'(f := d["failure"]) and (f["submodule"], f["layers"]) == ("layers.2", {"count": 2, "first": "layers.0", "last": "layers.1", "activations_bytes": 6 << 20})'
check "oom: in words" bash -c '"$0" oom oom.zst | tr "\n" " " | grep -q "layers.2 was running (Layer); layers.0 to layers.1 hold 6.0 MiB of  *activations"' "$memana"
check "the peak by module at that moment" top oom.zst 'all(adds(m) for m in ms) and find(ms, "layers.2")["activations_bytes"] >> 20 == 3' --at oom

rows() { [ "$("$memana" sql "$1" "$2" | tr '\t\n' ', ')" = "$3" ] || { "$memana" sql "$1" "$2"; return 1; }; }
check "the tables" rows named.db "SELECT (SELECT count(*) FROM module_instance), (SELECT count(*) FROM module_call), (SELECT count(*) FROM stack_node WHERE module_call IS NOT NULL), (SELECT count(*) FROM module_name)" "6,6,6,6 "
check "the view" rows named.db "SELECT module, category, sum(bytes) >> 20 FROM bytes_by_module WHERE module LIKE 'layers.0%' GROUP BY 1, 2 ORDER BY 1, 2" \
	"layers.0,activations,3 layers.0.fc1,optimizer state,1 layers.0.fc1,weights,1 layers.0.fc2,optimizer state,1 layers.0.fc2,weights,1 "

. "$SRC/tests/cli/schema_kit.sh"
print diff leak named.zst leak.zst
print top named --by module named.zst
print top leak --by module leak.zst
print oom oom oom.zst
print steps leak leak.zst
print retained leak leak.zst
all_valid top diff oom steps retained
