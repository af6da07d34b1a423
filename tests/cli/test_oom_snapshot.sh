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
