# memana knobs: the settings that change memory, as text and JSON; and the script of make test-knobs, without a
# network.
. "$SRC/tests/cli/lib.sh"

says() { grep -qF -- "$1" out; }

check "all knobs" status 0 "$memana" knobs
check "a line for each row and each older key" test "$(($(wc -l <out) - 1))" = \
	"$(grep -cE '^ +- key: ' <(cat "$SRC"/formats/knobs/*.yaml))"
check "an older key says what one writes now" bash -c \
	'grep -E "rollout.update_weights_bucket_megabytes +512 +- +gone in 0.7.1: .*checkpoint_engine.update_weights_bucket_megabytes" out'
check "a key that went says what replaced it" bash -c 'grep -E "^trl .*max_prompt_length .*gone in" out'
check "what is believed and is not so" bash -c \
	'grep -E "fsdp_config.optimizer_offload .*optimizer state; rollout, logprob, ref, weight-update; trainer.* But: .*update_actor" out'

check "of one framework" status 0 "$memana" knobs trl
check ".. and of no other" bash -c '[ -z "$(sed 1d out | grep -v "^trl ")" ] && grep -q "^trl " out'
check "of two" status 0 "$memana" knobs vllm sglang
check ".. both" bash -c '[ "$(sed 1d out | cut -d" " -f1 | sort -u | tr "\n" " ")" = "sglang vllm " ]'
unknown() { status 2 "$memana" knobs verl frobnicate && one_line err 'nothing is known of frobnicate .one of: verl, ' && [ ! -s out ]; }
check "a framework that nobody knows" unknown

check "--json" status 0 "$memana" knobs --json
cat >check.py <<'PY'
import json
import sys

rows = json.load(open("out"))["knobs"]
by_key = {(row["framework"], row["key"]): row for row in rows}
bucket = by_key["verl", "actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes"]
assert bucket["older"][0]["gone"] == bucket["since"] == "0.7.1", bucket
assert bucket["defaults"] == [{"since": "0.4.1", "value": "2048"}] and bucket["copies"] == 2, bucket
budget = by_key["areal", "actor.mb_spec.max_tokens_per_mb"]
assert budget["constraint"][0]["at-least"] == "longest sample" and budget["method"] == "tokens", budget
for framework, key, category, saves in (
    ("pytorch", "--enable-tcmalloc", "host", "on"),
    ("pytorch", "--enable-jemalloc", "host", "on"),
    ("relax", "--enable-cuda-memory-check", "allocator slack", "none"),
):  # settings of guides that move no byte of the GPU: no saving is computed, and the row says so
    row = by_key[framework, key]
    assert (row["category"], row["saves"], row["method"]) == ([category], saves, "none") and row["not_so"], row
assert by_key["areal", "actor.weight_update_mode"]["older"][0]["key"] == "WeightUpdateMeta.from_disk(file_root)"
assert all(row["cost"] in ("free", "some time", "much time", "more GPUs", "changes results") for row in rows)
sys.exit(len(rows) < 400)
PY
check "the JSON has it all" python3 check.py

# The finder, on sources of our own: what make test-knobs rests on.
cat >finder_check.py <<'PY'
import sys

sys.path.insert(0, sys.argv[1])
import finder

FILES = {
    "a/conf.yaml": b"x:\n  y: ${oc.select:z,7}\n  w: ${z}\nz: 3\n",
    "a/args.py": b"p.add_argument('--n-b', type=int, default=2 * 1024**2)\np.add_argument('--on', action='store_true')\n",
    "a/cls.py": b"class In:\n    f: int = field(default=4)\n    g: int = Field(5, alias='h')\nclass Base:\n    inner: In = In()\n"
    b"class Top(Base):\n    k: int = In.f\n",
    "a/fun.py": b"@overload\ndef fun(q=...): ...\ndef fun(q=None, *, r=1): pass\nclass C:\n    def __init__(self, s=2): pass\n",
    "a/h.h": b"bool expandable_{false};\n",
    "a/broken.py": b"def (:\n",
}
sources = finder.Finder(FILES, FILES.__getitem__)
for source, key, want in (
    ("a/conf.yaml", "x.y", 3),
    ("a/conf.yaml", "x.w", 3),
    ("a/conf.yaml", "x.v", None),
    ("a/args.py --n-b", "--n-b", 2097152),
    ("a/args.py --on", "--on", False),
    ("a/args.py --o", "--o", None),
    ("a/cls.py Top.inner.f", "inner.f", 4),
    ("a/cls.py Top.inner.h", "inner.h", 5),
    ("a/cls.py Top.k", "k", 4),
    ("a/cls.py Top.inner.nothing", "inner.nothing", None),
    ("a/fun.py fun(r)", "fun(r)", 1),
    ("a/fun.py C(s)", "C(s)", 2),
    ("a/gone.py --on", "--on", False),
    ("a/gone.py No.k, a/cls.py Top.k", "k", 4),
):
    found = sources.find(source, key)
    assert (found.default if found else None) == want, (source, key, found)
assert sources.find("a/fun.py fun(q)", "fun(q)").default is None
assert sources.find('a/h.h "expandable"', "expandable").line == 1
assert sources.find('a/h.h "expand"', "expand") is None
assert sources.find("a/gone.py --on", "--on").moved and not sources.find("a/args.py --on", "--on").moved
PY
if "${HOST_PYTHON:-python3}" -c 'import yaml' 2>/dev/null; then
	check "keys and defaults are found in sources" "${HOST_PYTHON:-python3}" finder_check.py "$SRC/tests/knobs"
else
	skip "keys and defaults are found in sources" "no PyYAML"
fi
