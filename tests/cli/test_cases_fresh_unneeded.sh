# Three more out-of-memory threads, told before memana was asked: what is there though nothing of it is needed, or not here: graphs that no
# backward walks, weights that were gathered and not let go of, a second copy of what is trained.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

# ---- graphs of an evaluation ----

begin pytorch-5210
says "graphs that no backward walks, and whose" '1\.2 GiB in 246 pieces of what is in use is of the 3 forwards before this one, for which no backward has come, most by forward \(conv\.py:282\), called from evaluate \(models\.py:316\): run the evaluation within torch\.no_grad\(\), and add up numbers \(loss\.item\(\)' oom
never "nothing costs anything here" 'recompute|micro-batch|optimizer state:|[Ee]xpandable' oom --brief
says "and in advise" '^Before any setting: run the evaluation within torch\.no_grad\(\)' advise
says "how much comes back" 'Up to 1\.2 GiB can come back so' advise
never "a smaller batch would only put it off" 'Or try|^Try' advise
advises "to compute it again is no row" "not any('checkpoint' in k['key'] for k in d['knobs'])"
without "with frames as PyTorch has them today" 's|__call__ torch|_call_impl torch|' today
says "where the input counts as of the forward, too" 'of the 3 forwards before this one' oom


case=pytorch-5210
without "by a function of no such name" 's/evaluate/run_epoch/' nameless
says "a condition, and what to do else" 'called from run_epoch \(models\.py:316\): if no backward is to come for these \(an evaluation\), run them within torch\.no_grad\(\).* if one is to come for all of them, let it come after each' oom

# Losses of two forwards are added up before their backward, and these lines go on so.
twice='/^for step/,/^done/{s/^\talloc loss 4/&\n\tat input\n\talloc picture2 4*3*224*224*4\n\tat forward\n\tfor layer 1..40\n\t\talloc convB{layer} 5MiB\n\t\talloc normB{layer} 5MiB\n\tdone\n\tat loss\n\talloc loss2 4/;s/free g/& convB{layer} normB{layer}/;s/free tmp/& picture2 loss2/}'
case=pytorch-5210
without "by a training that has one backward for two forwards" "s/at einput/at input/;s/at eforward/at forward/;s/at enorm/at forward/;s/at eloss/at loss/;$twice" accumulated
never "graphs that a backward walks later" 'no backward has come|no_grad' oom
