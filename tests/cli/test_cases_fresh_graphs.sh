# Threads that were looked at when memana was done with those before (tests/cases): what CUDA graphs keep, and what only passes through.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

graphs='capture fewer modules \(Megatron-LM: --cuda-graph-modules\) or none \(--cuda-graph-impl none\), or take a later version of Transformer Engine'

begin transformerengine-3427
says "what grows, of the places that truly do, and what it is for" '51\.1 GiB of the 183\.1 GiB that the process has in use is kept by forward \(transformer_layer\.py:610\) and grad \(__init__\.py:503\), 144\.0 MiB more with every micro-batch, while make_graphed_callables \(graph\.py:990\) captures CUDA graphs, which have 110\.8 GiB in all: '"$graphs" oom
never "a ring of one piece for each that goes does not grow" 'kept by forward \(layernorm_mlp|105\.0 GiB|728' oom
never "no setting of the training, and no knob that there is not" 'no knob fixes|recompute|shard|[Ee]xpandable' oom --brief
failure "to the byte" "(n['rule'], n['growth']['bytes'], n['growth']['places']) == ('retained', (92 + 363 + 363) * 4096 * 8192 * 2, 2) and 2 * 4096 * 8192 * 2 <= n['growth']['bytes_each'] <= n['growth']['bytes'] // 363"
says "all that they have is of them, whatever ran inside" 'cuda graphs +110\.8 GiB +61%' oom
says "and in advise, first" '^Capture fewer modules .*Up to 110\.8 GiB can come back so, .*: enough for this request\. Try --cuda-graph-impl = none, now on \(by the recording\): it saves 107\.4 to 110\.8 GiB' advise
row --cuda-graph-impl "r['fits'] and r['proposed'] == 'none'" "what makes them can be left out"
never "not first: settings of the training" '^(Before any setting: )?(Try|[A-Za-z ]*recompute|No setting)' advise
says "what a pipeline has in flight is not retained" '^forward \(transformer_layer\.py:610\) and 1 other place keep 144\.0 MiB more .* of step 4; so in 1 of 4 steps\), 51\.1 GiB when the last one begins, while CUDA graphs are captured: capture fewer' retained
never "nor what the warm-up lets go of" 'transformer_layer\.py:480\): 600|157\.7' retained

told_now() { "$memana" advise --now "$1" "$case"/*.zst >now && tr -s ' \n' ' ' <now | grep -qE -- "$2" || { cat now; return 1; }; }
check "$case: which of them makes the graphs" told_now --cuda-graph-impl=local 'Try --cuda-graph-impl = none, now local \(--now\)'
check "$case: by the key of before" told_now --external-cuda-graph=true '--cuda-graph-impl = none, now true \(--now\)'

without "without a frame that captures" 's#_*make_graphed_callables transformer_engine/pytorch/graph#warm_up transformer_engine/pytorch/warm#; s#megatron/core/transformer/cuda_graphs#megatron/core/transformer/prepare#; s/create_cudagraphs/prepare/' uncaptured
says "who keeps it is to let go of it" '51\.1 GiB of .*144\.0 MiB more with every micro-batch: no knob fixes this, drop the reference' oom
never "nothing tells of graphs" '[Gg]raph' oom
says "and in advise" '^No setting fixes this: drop the reference that keeps what forward \(transformer_layer\.py:610\) and grad' advise

case=transformerengine-3427
without "the ring alone" '/alloc dgrad{round}/d; /alloc dgrad4-{pass}/d; /alloc output/d; s/600MiB/1168MiB/; s/alloc dgrad4-88 .* fails/alloc dgrad4-88 2GiB fails/' ring
says "there is most of the graphs" 'Most of what is in use is cuda graphs, 110\.7 GiB: '"$graphs" oom
never "nothing grows" 'more with every|drop the reference|no knob' oom
never "in retained, either" 'more with every' retained
says "and in advise" '^Capture fewer modules .*Try --cuda-graph-impl = none' advise

# As on a GPU: the backward runs on autograd's own thread, without a frame of who called it.
case=transformerengine-3427
without "its backward on another thread" '/^stack warm-backward/,/^$/{s/ graphs$//; /graph\.py/d; s#grad torch.*#backward transformer_engine/pytorch/module/linear.py:700#}; s/^\(\t*\)at warm-backward/\1backward begins\n\1thread pt_autograd_0\n&/; /^for round/,$s/^\(\t*\)at warm-layer/\1thread main\n\1backward ends\n&/' threads
says "what a capture's backward makes is of the graphs, too" 'kept by forward \(transformer_layer\.py:610\) and backward \(linear\.py:700\), 144\.0 MiB more .* captures CUDA graphs, which have 110\.8 GiB in all' oom

# A line's working memory is not the memory it keeps.
case=verl-6698
without "little kept, and much in flight" 's/alloc output{mb} .*/alloc output{mb} 64MiB/; s/^alloc output12 .* fails/for piece 1..50\n\talloc work{piece} 1GiB\ndone\n&/' flight
never "it is no growth" 'more with every|drop the reference|no knob' oom
