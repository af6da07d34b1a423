# Processes that share a GPU: reports tell the same of it, and what a trainer and an engine know by construction.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/cases.sh"

# --- free bytes: a process that was told of them, and another one that takes memory before a request fails
free_bytes() { # ASKS HOW
	rm -rf ./*.zst state && mkdir state
	STANDIN_STATE=$PWD/state LD_LIBRARY_PATH=$standin status 0 "$memrec" -o t.zst -- python3 "$SRC/tests/cli/shared_gpu.py" "$1" &&
		"$memana" oom --json t.*.zst >oom.json &&
		python3 - "$2" <<-'END'
			import json, sys
			failure = json.load(open("oom.json"))["failure"]
			found = failure["free_by"], failure["free_bytes"], sum(p["held_bytes"] for p in failure["processes"])
			print(found)
			assert found == (sys.argv[1], (80 << 30) - 2 * (400 << 20) - (55 << 30), 55 << 30)
		END
}
check "free bytes that the driver told before another process took more" free_bytes before driver
check "free bytes that the driver tells after another process has freed" free_bytes after driver

# play_here NAME: a case from the standard input.
play_here() { mkdir "$1" && cat >"$1.case" && "$BUILD/cases/make_case" "$1.case" "$1"; }
# A check of the answer in JSON: NAME COMMAND EXPRESSION.
of() { "$memana" $2 --json "$1"/*.zst >answer.json && json answer.json "$3"; }

stacks='gpu GPU-1 80GiB
process trainer 4100 GPU-1 0
stack ray
	_resume_span ray/util/tracing/tracing_helper.py:463
	func verl/single_controller/ray/base.py:720
stack init ray
	init_model verl/workers/fsdp_workers.py:545
	_build_model_optimizer verl/workers/fsdp_workers.py:269
stack forward ray
	update_actor verl/workers/fsdp_workers.py:865
	_forward_micro_batch verl/workers/actor/dp_actor.py:94
stack backward ray
	update_actor verl/workers/fsdp_workers.py:865
	backward torch/_tensor.py:580
stack adam ray
	update_actor verl/workers/fsdp_workers.py:865
	_optimizer_step verl/workers/actor/dp_actor.py:250
	Adam.step torch/optim/adamw.py:220
process engine 4200 GPU-1
stack load
	load_model vllm/v1/worker/gpu_model_runner.py:1900
stack kv
	initialize_kv_cache vllm/v1/worker/gpu_model_runner.py:2600
stack wake
	wake_up vllm/v1/worker/gpu_worker.py:120
stack sleep
	sleep vllm/v1/worker/gpu_worker.py:100
stack generate
	execute_model vllm/v1/worker/gpu_model_runner.py:1200
of trainer
at init
alloc weights 15GiB
of engine
at load
pool engine-weights 15GiB
at kv'

# --- one failure, whoever asks: an allocator's that the engine survived, and the driver's that ended it
two() {
	play_here two <<-END
		$stacks
		alloc cache 60GiB fails
		pool kv-cache 40GiB
		at sleep
		sleep engine-weights kv-cache
		of trainer
		at forward
		alloc hidden 30GiB
		of engine
		at wake
		wake engine-weights
		wake kv-cache fails
	END
}
check "two failures: the case is true" two
check "oom shows the newest failure" of two oom "(d['failure']['source'], d['failure']['requested_bytes']) == ('driver', 40 << 30)"
check "top --at oom shows the same" of two "top --at oom" \
	"{p['pid']: p['bytes'] >> 30 for p in d['devices'][0]['by_process']} == {4100: 45, 4200: 15}"

# --- an engine that frees its cache and keeps its weights awake: it can sleep
part() {
	play_here part <<-END
		$stacks
		pool kv-cache 30GiB
		at sleep
		sleep kv-cache
		for step 1..2
			of engine
			at wake
			wake kv-cache
			at sleep
			sleep kv-cache
			of trainer
			at forward
			alloc hidden 30GiB
			at backward
			alloc gradients 15GiB
			free hidden
			at adam
			alloc norm 512
			free norm gradients
			empty-cache
		done
		at forward
		alloc more 40GiB
		at backward
		alloc gradients 15GiB fails
	END
}
check "an engine's weights are awake: the case is true" part
action() { of part oom "[c['action_id'] for c in d['causes'] if 'gpu_model_runner.py:1900' in c['place']['place']][0] == 'release-peer'"; }
check "they can sleep, too" action

# --- several kinds of bytes, below Ray's and verl's glue
mixed() {
	play_here mixed <<-END
		$stacks
		pool kv-cache 45GiB
		at sleep
		sleep engine-weights kv-cache
		of trainer
		at init
		alloc more-weights 10GiB
		at forward
		alloc hidden 30GiB
		at backward
		alloc gradients 15GiB
		free hidden
		empty-cache
		at adam
		alloc states 10GiB
		free gradients
		empty-cache
		of engine
		at wake
		wake engine-weights
		wake kv-cache fails
		sample
	END
}
case=mixed
check "a trainer with weights and states: the case is true" mixed
says "a cause of two kinds says so, and has the place of the larger one" \
	'holds 35.0 GiB, the largest part probably weights, made by _build_model_optimizer' oom
never "its weights are no second row" 'holds 25.0 GiB, probably weights, made by _build_model_optimizer' oom

# --- growth by step is the same in oom and growth, where the first step kept more
leak() {
	play_here leak <<-END
		$stacks
		at generate
		alloc first 3GiB
		for step 1..5
			of engine
			at generate
			alloc kept{step} 3GiB
			at sleep
			sleep engine-weights
			of trainer
			at forward
			alloc hidden 30GiB
			at backward
			alloc gradients 10GiB
			free hidden
			at adam
			alloc norm 512
			free norm gradients
			empty-cache
			of engine
			at wake
			wake engine-weights
		done
		of trainer
		at forward
		alloc hidden 40GiB fails
	END
}
check "an engine that leaks: the case is true" leak
check "growth: 3 GiB a step" of leak growth "'3.0 GiB more with every step' in d['verdict']"
check "oom: as much" of leak oom "(d['causes'][0]['id'], d['causes'][0]['facts']['rate']) == ('grows', 3 << 30)"
