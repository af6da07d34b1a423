# The categories of programs whose bytes are known by construction: compares all bytes exactly.
. "$SRC/tests/cli/lib.sh"
sums() { "$memana" sql "$1" "SELECT category || '=' || sum(bytes) FROM peak_part GROUP BY category" | sort; }
of() { sed -n "s/^$2=//p" "$1"; }

# samples/rl_step has a model of 7,615,483,904 parameters. At its peak, it holds all gradients and the state of an eighth
# of Adam. It holds the logits of 5,120 tokens (twice in fp32, their gradient in bf16), and the hidden states that it
# forgets to free.
LD_LIBRARY_PATH=$standin "$memrec" -o rl.zst -- "$BUILD/samples/rl_step" --steps 3 --scale 1 --quiet >/dev/null 2>&1
"$memana" load rl.zst -o rl.db >/dev/null
sums rl.db >rl
parameters=7615483904
check "rl_step: weights" test "$(of rl weights)" = $((parameters * 2))
check "rl_step: gradients" test "$(of rl gradients)" = $((parameters * 2))
close() { [ $(($1 - $2)) -ge 0 ] && [ $(($1 - $2)) -lt "$3" ] || { echo "$1 is not $2"; return 1; }; }
check "rl_step: optimizer state, each part rounded up to 512 bytes" close "$(of rl 'optimizer state')" $((parameters / 8 * 12)) $((3 * 142 * 512))
check "rl_step: logits" test "$(of rl 'logits and log-probs')" = $((5120 * 152064 * (4 + 4 + 2)))
check "rl_step: what is kept for the metrics is nothing known" test "$(of rl other)" = $(((2 * 14336 + 11264) * 3584 * 2))
evidence() { "$memana" sql rl.db "SELECT DISTINCT evidence FROM site WHERE category = '$1'" | grep -qx "$2"; }
check "rl_step: the evidence of logits" evidence "logits and log-probs" "5,120 tokens x 152,064 words x 4 bytes"
check "rl_step: the evidence of what is kept" evidence other ".* of .* allocated in forward were still alive two steps later"
temporary() { test "$("$memana" sql rl.db "SELECT count(*) FROM allocation WHERE phase = 'optimizer' AND category = 'workspace'")" = $((3 * 142)); }
check "rl_step: what comes and goes in the optimizer is workspace" temporary
agree() { "$memana" sql rl.db "SELECT count(*) FROM allocation JOIN site ON site = site.id WHERE NOT allocation.tensors_inside AND allocation.category <> site.category" | grep -qx 0; }
check "rl_step: allocations have the categories of their sites" agree

# samples/train.py: the parameters are counted by PyTorch itself. 448 tokens give no activation the size of a weight.
if [ -n "$PYTHON" ] && "$memrec" --cpu -o train.zst -- "$PYTHON" "$SRC/samples/train.py" --steps 3 --batch 7 >out 2>err; then
	"$memana" load train.zst -o train.db >/dev/null
	sums train.db >train
	bytes=$("$PYTHON" - <<-END
		import sys
		sys.path.insert(0, "$SRC/samples")
		import train
		print(sum(p.numel() for p in train.Model().parameters()) * 4)
	END
	)
	check "train.py: weights" test "$(of train weights)" = "$bytes"
	# Two moments for each parameter, and a count of steps.
	check "train.py: optimizer state" test "$(of train 'optimizer state')" = $((bytes * 2 + 27 * 4))
	gradients() {
		local step=$1 sum
		sum=$("$memana" sql train.db "SELECT sum(bytes) FROM allocation WHERE category = 'gradients' AND step = $step")
		close "$sum" "$bytes" $((bytes / 100))
	}
	for step in 1 2 3; do check "train.py: gradients of step $step" gradients $step; done
	head() {
		"$memana" sql train.db "SELECT evidence FROM peak_part JOIN site ON site = site.id JOIN place USING (node)
			WHERE place.place = 'train.py:32' AND peak_part.category = 'logits and log-probs'" |
			grep -qxE "448 tokens x 1,024 words x 4 bytes(; the words are those of PyTorch's census)?"
	}
	check "train.py: the head's output is logits" head
	mlp() { test "$("$memana" sql train.db "SELECT count(*) FROM site JOIN place USING (node) WHERE place.place = 'train.py:18' AND site.phase = 'forward' AND category NOT IN ('activations', 'workspace')")" = 0; }
	check "train.py: those of other layers are not" mlp
else
	echo "skip train.py: no python3 with torch"
fi

# A model from before the recording without training: no gradient and no optimizer state shows weights, but its layers do.
# A far larger tensor in each layer may be a cache. If a model is trained, layers alone do not show weights.
weights_of() {
	python3 "$SRC/tests/cli/import_make.py" "$1.pickle" "$1" && "$memana" load "$1.pickle" -o "$1.db" >/dev/null && sums "$1.db" >"$1.sums" &&
		echo "$(of "$1.sums" weights)/$(of "$1.sums" other)"
}
model=$(((8 << 20) + 12 * ((12 << 20) + 4096)))
check "layers: a model that only computes" test "$(weights_of layers)" = "$model/"
check "layers: a cache beside it is not known" test "$(weights_of layers_with_cache)" = "$model/$((12 * 64 << 20))"
check "layers: adapters are trained, and they are not" test "$(weights_of layers_frozen)" = "$model/"
check "layers: what is trained tells more" test "$(weights_of layers_trained)" = "/$model"

# A snapshot of a real training step: the parameters were there before its history began, without a stack.
snapshot=$SRC/../shared/data/snapshots/torch2.6-ctx128-fullstep.pickle
if [ -r "$snapshot" ]; then
	"$memana" import "$snapshot" -o real.zst >/dev/null
	sums real.zst >real
	check "snapshot: weights that nobody saw being made" test "$(of real weights)" = $(((96 * 104857600) + (128 * 26214400) + (2 * 102400000) + (65 * 10240)))
	check "snapshot: as many gradients, and nothing else" close "$(of real gradients)" "$(of real weights)" $((64 << 20))
	check "snapshot: two moments each" close "$(of real 'optimizer state')" $(($(of real weights) * 2 - 2 * 204800000)) $((512 << 20))
	named() { "$memana" top --json real.zst | grep -q '"user": true'; "$memana" top --by place -n 0 real.zst >sites; ! grep -qE '  (c10|at|torch::unwind)::|0x0' sites; }
	check "snapshot: no place is named after the allocator" named

	# A fine-tuning in a notebook, of quantized weights: 32,000 words, of which no size tells; the loss is of 999 of 1,000 tokens.
	"$memana" import "${snapshot%/*}/torch2.1-no-timestamps.pickle" -o cell.zst >/dev/null
	"$memana" load cell.zst -o cell.db >/dev/null
	sums cell.db >cell
	check "snapshot: logits are those of the loss, and their gradients" test "$(of cell 'logits and log-probs')" = $((2 * 1000 * 32000 * 4 + 999 * 32000 * 4 + 4))
	layers() { test "$("$memana" sql cell.db "SELECT count(*) FROM allocation JOIN place USING (node) WHERE category LIKE 'logits%' AND
		place NOT IN ('autograd', 'cell 3105878423:21 > transformers/.../modeling_llama.py:1183', 'cell 3105878423:21 > transformers/.../modeling_llama.py:1197',
		'cell 3105878423:21 > transformers/.../modeling_llama.py:1193')")" = 0; }
	check "snapshot: no layer's output is" layers
	check "snapshot: dequantized weights are workspace, by a rule" test "$("$memana" sql cell.db "SELECT DISTINCT category || known FROM site
		JOIN place USING (node) WHERE function = 'dequantize_4bit'")" = workspacerule

	# Another one, whose optimizer makes its state anew in each step and frees the old.
	"$memana" import "${snapshot%/*}/torch2.11-medium512-training.pickle" -o anew.zst >/dev/null
	"$memana" load anew.zst -o anew.db >/dev/null
	sums anew.db >anew
	weights=$((2 * 40960000 + 72 * 16777216 + 96 * 4194304 + 49 * 4096))
	check "snapshot: weights, and the optimizer state that was replaced" \
		test "$(of anew weights) $(of anew 'optimizer state')" = "$weights $((2 * weights))"
	rows() { "$memana" sql anew.db "SELECT sum(bytes), count(*) FROM allocation WHERE category = '$1' AND phase = 'before' AND node IS NULL"; }
	check "snapshot: the allocations say the same" test "$(rows weights; rows 'optimizer state')" = "$(printf '%s\n' "$weights	219" "$((2 * weights))	438")"
	check "snapshot: and why" test "$("$memana" sql anew.db "SELECT evidence FROM site JOIN peak_part ON site.id = site
		WHERE site.category = 'optimizer state' ORDER BY bytes DESC LIMIT 1")" = \
		"present from the start: the optimizer freed 144 of this size and allocated as many"
else
	echo "skip snapshot: the real snapshots are not here"
fi
