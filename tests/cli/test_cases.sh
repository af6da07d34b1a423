# Out-of-memory errors that people met, played by tests/cases: compares the causes of memana oom with the expect:
# lines.
. "$SRC/tests/cli/lib.sh"

score() { python3 "$SRC/tests/cases/score.py" "$BUILD" --dir "$SRC/tests/cases/${1-}" >score; }
check "each case is true of itself, and has an answer" score

# The figures of the last line: first, three, ten, action, harm, in percent.
share() { awk -v at="$1" '/^percent/ { print $at }' score; }
at_least() { awk -v is="$(share "$1")" "BEGIN { exit !(is >= $2) }" || { cat score; return 1; }; }
check "the true cause is the first in 65 % of them" at_least 2 65
check "and among the first three in 85 %" at_least 3 85
at_most() { awk -v is="$(share "$1")" "BEGIN { exit !(is != \"\" && is <= $2) }" || { cat score; return 1; }; }
check "the first action harms in 6 % at most" at_most 6 6

# Threads whose hashes were committed before anybody asked (docs/oom.md has the first answers).
for least in unseen:70 unseen-2:70 unseen-3:70 unseen-4:70 unseen-5:70 unseen-6:80 unseen-7:70 unseen-8:70 unseen-9:80 unseen-10:60 unseen-11:70; do
	batch=${least%:*}
	frozen() { (cd "$SRC/tests/cases/$batch" && sha256sum -c --quiet SHA256SUMS); }
	check "$batch: the threads are as they were written" frozen
	check "$batch: each thread has an answer" score "$batch"
	check "$batch: the first cause, in 50 %" at_least 2 50
	check "$batch: one of the first three, in ${least#*:} %" at_least 3 "${least#*:}"
done

# Evidence that the figures above could lose unnoticed: the first cause of these cases.
for case in ace-1396 isaaclab-173 allennlp-3499 minimind-758 mochiwrapper-73 megatron-6314 diffusers-9546 ugatit-pytorch-23 \
	diffusers-8511 whisperx-89 cosmos-predict2-39 megatron-bridge-4936 prime-rl-2729 deepspeed-5143 fastai-2337 colette-83 \
	first-forward foreach search-r1-112 posttrainarena-29 accelerate-3482 \
	stanford_alpaca-65 trl-5542 esm-391 elk-231 verl-26 transformers-10952; do
	folder=$(dirname "$(find "$SRC/tests/cases" -name "$case.case")")
	first() { python3 "$SRC/tests/cases/score.py" "$BUILD" "$case" --dir "$folder" >score; grep -qE "^$case +first .*action" score; }
	check "$case: the first cause, and its action" first
done

# The name of the script says nothing about its functions: the causes and their actions are as before.
causes_of() { # SCRIPT
	mkdir "$1" && sed "s/ train\.py:/ $1:/" "$SRC/tests/cases/nanogpt-236.case" >"$1.case" &&
		"$BUILD/cases/make_case" "$1.case" "$1" && "$memana" oom --json "$1"/*.zst |
		python3 -c 'import json, sys; print([(c["id"], c["action_id"], c["bytes"]) for c in json.load(sys.stdin)["causes"]])'
}
script_names() {
	causes_of train.py >told && [ -s told ] && causes_of train_ref.py | diff told - && causes_of my_ema.py | diff told -
}
check "the script's name is no evidence" script_names

# The logits of one loss are made in two places here. One action is one row.
one_loss() {
	LD_LIBRARY_PATH=$standin "$memrec" -q -o loss.zst -- "$BUILD/samples/rl_step" --quiet >/dev/null && "$memana" oom --json loss.zst >loss.json &&
		json loss.json '[c["id"] for c in d["causes"]].count("logits") == 1' &&
		"$memana" oom --why loss.zst | tr -s ' \n' ' ' | grep -q 'logits: backward (rl_step.c:209) makes 1.5 GiB of logits. In row 2.' || { "$memana" oom --why loss.zst; return 1; }
}
check "logits of one loss are one row" one_loss
first_row() { mkdir -p "f.$1" && "$BUILD/cases/make_case" "$SRC/tests/cases/$1.case" "f.$1" && "$memana" oom --json "f.$1"/*.zst >first.json && json first.json "$2"; }
check "nothing failed: no evidence, then the first row of the text" first_row nccl-lazy \
	"[c['id'] for c in d['causes'][:2]] == ['no_evidence', 'largest'] and d['causes'][1]['place']['function'] + ' (dp_actor.py:94) holds 20.0 GiB' in d['verdict']"
check "nothing failed, and the ranks differ: that is evidence" first_row two-ranks "d['failure'] is None and d['causes'][0]['id'] == 'uneven'"
check "a KV cache that wakes up is needed" first_row unseen-11/easyr1-1 "not [c for c in d['causes'] if c['id'] == 'unneeded' and c['category'] == 'kv cache']"
ranking() { "$memana" "$@" --why loss.zst | sed -n '/^All candidates/,$p'; }
same_ranking() { ranking oom >of.oom && [ "$(wc -l <of.oom)" -gt 5 ] && ranking advise | cmp - of.oom; }
check "advise --why: the ranking of oom" same_ranking

lists() { mkdir lists && "$BUILD/cases/make_case" "$SRC/tests/cases/alone/lists.case" lists && "$memana" oom --json lists/*.zst >lists.json && json lists.json "$1"; }
check "outputs in lists grow, and are kept for no backward" lists \
	"(d['causes'][0]['id'], d['causes'][0]['facts']['pieces']) == ('grows', 80) and all(c['action_id'] != 'no-grad' for c in d['causes'])"

# first CASE CAUSE...: of the first cause of alone/CASE: id, bytes in MiB, action, pid, place
first() {
	mkdir "of.$1" && "$BUILD/cases/make_case" "$SRC/tests/cases/alone/$1.case" "of.$1" && "$memana" oom --json "of.$1"/*.zst >of.json &&
		json of.json "[(c['id'], c['bytes'] >> 20, c['action_id'], c['pid'], c['place']['place']) for c in d['causes']][0] == $2"
}
check "outputs that a trainer keeps outside of its steps grow" first kept-outputs "('grows', 20400, 'drop-reference', 4100, 'functional.py:1900')"
check "cuBLAS's workspace is no smaller batch" first workspace "('largest', 20000, 'checkpoint', 4100, 'net.py:24')"
layers() { first layers "('logits', 6144, 'chunk-logits', 4100, 'net.py:60')" && json of.json "[(c['bytes'] >> 20, c['place']['place'], c['facts']['pieces']) for c in d['causes'][1:2]] == [(9200, 'net.py:24', 8)]"; }
check "the layers of one line are one row" layers
check "an attempt that failed holds its tensors in the next one" first retry "('unneeded', 8300, 'release-own', 4100, 'net.py:24')"
check "compiled code: one row at the line that calls it" first compiled "('no_backward', 16800, 'no-grad', 4100, 'run.py:30')"
training_cache() { first training-cache "('outlier', 14400, 'fewer-tokens', 4100, 'modeling_llama.py:175')" && json of.json "all(c['id'] != 'unneeded' for c in d['causes'])"; }
check "the KV cache of a training forward is no waste" training_cache
check "a process with most of the GPU goes before the one that asks" first peer "('peer_awake', 61440, 'release-peer', 5000, 'serve.py:6')"

buffer() { mkdir buffer && "$BUILD/cases/make_case" "$SRC/tests/cases/alone/own-buffer.case" buffer && "$memana" oom buffer/*.zst | tr -s ' \n' ' ' >buffer.words; }
check "a buffer of the program's own" buffer
check "what nobody loaded is made on the CPU, not loaded there" bash -c 'grep -q "Buffer.__init__ (replay.py:7) holds 17.6 GiB of unknown kind (18 x 1000.0 MiB).*Do: Make these bytes fewer" buffer.words && ! grep -qi "do: [^.]*load" buffer.words'

# Bytes that the same function took by several calls below it are one row.
one_place() {
	mkdir place && "$BUILD/cases/make_case" "$SRC/tests/cases/unseen-8/unsloth-1326.case" place && "$memana" oom --json place/*.zst >place.json && json place.json \
		'[c["bytes"] for c in d["causes"] if (c["place"] or {}).get("function") == "Qwen2VLVisionBlock.forward"] == [22014950400]'
}
check "one place is one row" one_place

# The part that a person reads before the details. tests/golden/pages has some of them: UPDATE_PAGES=1 writes those anew.
page_of() {
	mkdir "$1" && "$BUILD/cases/make_case" "$SRC/tests/cases/$1.case" "$1" && "$memana" oom "$1"/*.zst | sed '/^More: /,$d' >"$1.page" &&
		rm -r "$1"
}
make_pages() {
	local file
	for file in "$SRC"/tests/cases/*.case; do
		page_of "$(basename "$file" .case)" || return 1
	done
}
check "each case has a page" make_pages
short_pages() {
	local page wrong=0
	for page in *.page; do
		[ "$(wc -w <"$page")" -le 120 ] && ! grep -qE '.{81}' "$page" && ! tr '\n' ' ' <"$page" | grep -qE 'probably[^.]*probably' ||
			{ wrong=1; echo "$page"; cat "$page"; }
	done
	return $wrong
}
check "at most 120 words at 80 columns, and one guess a sentence" short_pages
for golden in "$SRC"/tests/golden/pages/*.txt; do
	case=$(basename "$golden" .txt)
	[ -z "${UPDATE_PAGES-}" ] || cp "$case.page" "$golden"
	check "$case: the page" diff "$golden" "$case.page"
done
