# memana oom on a PyTorch snapshot without a failed request: what fills the GPU, and what is not known of it.
. "$SRC/tests/cli/lib.sh"
make() { python3 "$SRC/tests/cli/import_make.py" "$1.pickle" "$1" >/dev/null && "$memana" oom --json "$1.pickle" >"$1.json"; }
cause() { json unruled.json "any(c['category'] == '$1' and $2 for c in d['causes'])"; }

check "a snapshot of functions that no rule knows" make unruled
check "what a backward frees are activations" cause activations 'c["bytes"] == 64 << 20'
check "bytes from before the history: record from the start" cause other 'c["action_id"] == "record" and c["bytes"] == 64 << 20'
check "temporary tensors of a backward grow with the tokens" cause workspace 'c["action_id"] == "fewer-tokens"'
check "equal sizes without an order are no second copy" json unruled.json 'all(c["id"] != "twice" for c in d["causes"])'
check "run_eval_code_obj is no evaluation" json unruled.json 'all(c["id"] != "unneeded" for c in d["causes"])'
check "a sixteenth of the bytes: the largest goes before a small cause" json unruled.json '[c["id"] for c in d["causes"] if c["id"] != "no_evidence"][0] == "largest"'

held() { json "$1.json" "{c['category']: c['bytes'] for c in d['devices'][0]['by_category']}.get('$2') == $3 << 20"; }
top() { python3 "$SRC/tests/cli/import_make.py" "$1.pickle" "$1" >/dev/null && "$memana" top --json "$1.pickle" >"$1.json"; }
check "a snapshot of an optimizer that replaces its tensors" top replaced
check "what the next optimizer frees is optimizer state" held replaced 'optimizer state' 16
check "a snapshot of a forward that replaces the outputs of the one before" top evaluated
check "weights are what stays of before the history" held evaluated weights 90
check "what the forward frees of it is no weight" held evaluated other 64
bare() { top two_bare && "$memana" phases two_bare.pickle | grep -c 'has no history' | grep -qx 1; }
check "two GPUs without a history: said once" bare

advice() { python3 "$SRC/tests/cli/import_make.py" "$1.pickle" "$1" >/dev/null && "$memana" advise --json "$1.pickle" >"$1.json"; }
grows() { advice "$1" && json "$1.json" "[(k['key'], k['saved_bytes']['high'] >> 20) for k in d['knobs']] == $2 and [i['why'] for i in d['idle'] if i['key'] == 'expandable_segments'] == $3"; }
check "idle bytes of a segment that cannot grow: let segments grow" grows fixed "[('expandable_segments', 32)]" "[]"
check "mapped segments: they grow already" grows mapped "[]" "['already on: the recorded segments are mapped']"
check "a snapshot has its settings: they grow already" grows configured "[]" "['already on (PYTORCH_CUDA_ALLOC_CONF)']"
