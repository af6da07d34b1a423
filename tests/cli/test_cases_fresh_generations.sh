# Models that were trained before the newest and are there still (tests/cases): a search's trials, folds, a notebook's cells; and what looks
# like them and is none.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

# ---- a search ----

begin transformers-13019
says "how many models are there of before, what they have, and who made them" '4\.9 GiB is probably of 5 earlier models that are still there \(1\.2 GiB of weights, 1\.2 GiB of gradients, 2\.5 GiB of optimizer state\), made by convert \(module\.py:850\), called from _move_model_to_device \(trainer\.py:496\), as the newest was, and trained before that: let go of every name .* before the next one is made: del, gc\.collect\(\).* torch\.cuda\.empty_cache\(\)' oom
never "not pieces, though 892 MiB are idle, and no setting of the optimizer" 'memana frag|[Ee]xpandable|shard|offload' oom --brief
failure "the rule, and its bytes" "(n['rule'], n['bytes'], n['category']) == ('largest', 5 * 4 * 263632896, 'optimizer state')"
says "before any setting, and that it is enough" '^Before any setting: let go of every name that refers to an earlier model .* Up to 4\.9 GiB can come back so, and 104\.9 MiB is missing with what comes after the request: enough\. Out of memory .* 5 earlier models' advise
never "no pieces before it" 'Before any setting: PYTORCH' advise

without "of the second trial" 's/trial 1\.\.5/trial 1..1/; s/11.17GiB/6.95GiB/' second
says "the newest was trained, and tells whose the state is, though a model of other calls is as large" '1005\.7 MiB is probably of 1 earlier model that is still there' oom

case=transformers-13019
without "of nine trials and little in pieces" 's/trial 1\.\.5/trial 1..9/; s/72MiB/9MiB/; s/16\*12\*/2*12*/; s/96MiB/12MiB/; s/192MiB/24MiB/; s/16\*512/2*512/; s/t6-/t99-/; s/1\.\.5/1..4/; s/\(qkv\|probs\|dropped\|ffn\|gelu\)6/\15/' small
says "all nine" '8\.8 GiB is probably of 9 earlier models that are still there \(2\.2 GiB of weights, 2\.2 GiB of gradients, 4\.4 GiB of optimizer state\)' oom
never "no optimizer to shard" 'shard|offload' oom --brief
says "and in advise" '^Before any setting: let go of every name that refers to an earlier model .* Up to 8\.8 GiB can come back so' advise

# ---- folds ----

begin folds
says "models of before, and gradients that the newest has not now" '7\.2 GiB is probably of 2 earlier models that are still there \(1\.8 GiB of weights, 1\.8 GiB of gradients, 3\.6 GiB of optimizer state\), made by convert \(module\.py:1341\), called from train_fold' oom
says "and in advise" '^Before any setting: let go of every name that refers to an earlier model .* Up to 7\.2 GiB can come back so' advise

without "of another cell, in its first forward" 's/^stack forward main/stack cell\n\t<module> folds.py:75\n\ttrain_fold folds.py:31\nstack again cell\n\tbuild folds.py:12\n\tto torch\/nn\/modules\/module.py:1355\n\tconvert torch\/nn\/modules\/module.py:1341\n&/; s/^at model/at again/; s/13.8GiB/7.2GiB/; s/fold 1\.\.2/fold 1..1/; /^# its first step/,/^# its second/d' cell
says "one model of before, by all calls below the cell" '3\.6 GiB is probably of 1 earlier model that is still there' oom

case=folds
without "of one step each" '/^\tat main/,/^\tfree norm/d; s/fold 1\.\.2/fold 1..5/; s/f3-/f9-/; /^# its first step/,/^# its second/d; s/13.8GiB/23.75GiB/' steps
says "whose they are, and not that each step leaves some" '18\.1 GiB is probably of 5 earlier models' oom
never "no reference of a step" 'more with every step' oom

case=folds
without "while the newest is made" '/^\tat main/,/^\tfree norm/d; s/fold 1\.\.2/fold 1..5/; s/f3-/f9-/; s/13.8GiB/22GiB/; /^# the newest/,$c\at model\nalloc f9-embedding 160MiB\nfor layer 1..8\n\talloc f9-layer{layer} 64MiB\ndone\nalloc f9-layer9 64MiB fails' early
says "what it is, before it is whole" '64\.0 MiB asked for by convert .* 18\.1 GiB is probably of 5 earlier models' oom

case=folds
without "beside an actor that is trained all the time, late for the first time" 's/^stack forward main/stack actor main\n\tactor folds.py:8\n\tto torch\/nn\/modules\/module.py:1355\n\tconvert torch\/nn\/modules\/module.py:1341\n&/; s/^context 450MiB/&\nat actor\nalloc a-embedding 160MiB\nfor layer 1..12\n\talloc a-layer{layer} 64MiB\ndone/; s/^# the newest/at optimizer\nfor moment 1..2\n\talloc a-m{moment}-embedding 160MiB\n\tfor layer 1..12\n\t\talloc a-m{moment}-{layer} 64MiB\n\tdone\ndone\n&/; s/13.8GiB/16.63GiB/' actor
says "the actor's state, though it came in the turn of one of them, is not theirs" '7\.2 GiB is probably of 2 earlier models .* 3\.6 GiB of optimizer state\)' oom

case=folds
without "with more in pieces than they have" 's/^# the newest/at main\nfor hole 1..600\n\talloc wide{hole} 9MiB\n\talloc pin{hole} 1.5MiB\ndone\nfor hole 1..600\n\tfree wide{hole}\ndone\n&/; s/fold 1\.\.2/fold 1..1/; s/13.8GiB/14.9GiB/' pieces
says "the reason with more bytes" 'The allocator has 5\.7 GiB in reserve' oom

case=folds
without "that are gone" 's/^\twait 5s/\tfree f{fold}-embedding f{fold}-g3-embedding f{fold}-m1-embedding f{fold}-m2-embedding\n\tfor layer 1..12\n\t\tfree f{fold}-layer{layer} f{fold}-g3-{layer} f{fold}-m1-{layer} f{fold}-m2-{layer}\n\tdone/; /^# its second/,$s/180MiB/400MiB/; s/13.8GiB/7.1GiB/' gone
never "nobody is there of before" 'earlier model' oom

case=folds
without "of which the weights alone are kept" 's/^\twait 5s/\tfree f{fold}-g3-embedding f{fold}-m1-embedding f{fold}-m2-embedding\n\tfor layer 1..12\n\t\tfree f{fold}-g3-{layer} f{fold}-m1-{layer} f{fold}-m2-{layer}\n\tdone/; s/13.8GiB/7.25GiB/' kept
never "somebody has kept them on purpose, perhaps" 'earlier model' oom

case=folds
without "all made at the start" '/^\tat model/,/^\tdone/d; /^at model/,/^done/d; s/^context 450MiB/&\nat model\nfor fold 1..3\n\talloc f{fold}-embedding 160MiB\n\tfor layer 1..12\n\t\talloc f{fold}-layer{layer} 64MiB\n\tdone\ndone/; s/13.8GiB/13.35GiB/' start
never "several models of one run" 'earlier model' oom

case=folds
without "of adapters beside their base" 's/^stack forward main/stack base main\n\tload folds.py:8\n\tto torch\/nn\/modules\/module.py:1355\n\tconvert torch\/nn\/modules\/module.py:1341\n&/; s/^context 450MiB/&\nat base\nfor layer 1..12\n\talloc base{layer} 512MiB\ndone/; s/13.8GiB/19.8GiB/' adapters
never "an adapter that was added is no model" 'earlier model' oom

case=folds
without "still trained beside the newest" 's/^alloc f3-g1-embedding.*/&\nfor fold 1..2\n\tfree f{fold}-g3-embedding\n\talloc f{fold}-g4-embedding 160MiB\n\tfor layer 1..12\n\t\tfree f{fold}-g3-{layer}\n\t\talloc f{fold}-g4-{layer} 64MiB\n\tdone\ndone/' grown
never "the next backward made gradients of all" 'earlier model' oom

case=folds
without "the newest made by other calls" 's/^stack forward main/stack other main\n\tcopy folds.py:90\n\tto torch\/nn\/modules\/module.py:1355\n\tconvert torch\/nn\/modules\/module.py:1341\n&/; s/^at model/at other/; s/fold 1\.\.2/fold 1..1/; s/13.8GiB/9.4GiB/' other
never "what one call alone has made" 'earlier model' oom

# ---- copies ----

begin snapshots
never "copies of what is trained were not" 'earlier model' oom
without "by the calls that made the model" 's/^at model/at copy/' same
never "nor where the trained one is the first of them" 'earlier model' oom

case=snapshots
without "the second one just made" '/^for copy/,/^done/d; s/10.7GiB/7.0GiB/' making
never "the state may be of the model that is trained" 'earlier model' oom

case=snapshots
without "one, by the calls that made the model" 's/^at model/at copy/; s/for copy 1\.\.3/for copy 1..1/; /^# a copy at/,/^# its first/d; /^# the newest copy/,/^# a step/d; s/^alloc saved9 180MiB/alloc saved9 2000MiB/; s/10.7GiB/7.0GiB/' one
never "a step of the optimizer has ended since, and made no state" 'earlier model' oom
