# The rules for CUPTI: which libcupti the agent takes, the number of subscribers, another tool that wants CUPTI, and
# calls that the agent must not make.
. "$SRC/tests/cli/lib.sh"
agent=$BUILD/libmemrec.so
run=$SRC/tests/cli/cupti_run.py
export RINGS=$PWD/rings

# The driver alone in one folder, so that libcupti is found only where a test puts it.
mkdir driver
cp "$standin/libcuda.so.1" driver
both=$standin

# by DOOR LIBRARIES OPTIONS ACT...: runs cupti_run.py with the agent loaded by DOOR. Its output is in ./out.
by() {
	local door=$1 libraries=$2 options=$3
	shift 3
	rm -rf rings cupti.log
	mkdir rings
	case $door in
	preload) door="LD_PRELOAD=$agent CUDA_INJECTION64_PATH=$agent" ;;
	cuda) door="CUDA_INJECTION64_PATH=$agent" ;;
	esac
	# shellcheck disable=SC2086
	env $door LD_LIBRARY_PATH="$libraries" STANDIN_CUPTI_LOG="$PWD/cupti.log" \
		MEMREC_OPTIONS="run-dir=$RINGS output=$PWD/trace.zst collector=$(type -P true) $options" \
		python3 "$run" "$@" >out 2>err || { cat out err; return 1; }
	[ ! -s err ] || { cat err; return 1; }
}

# ---- Which libcupti ----

# uses FILE ACT...: the subscription is made with that file, and no other one was asked.
uses() {
	local want=$1
	shift
	by cuda "${libraries:-$PWD/driver}" "" "$@" init alloc source || return
	grep -qx 'source 1 ' out || { cat out; return 1; }
	[ "$(awk '{ print $4 }' cupti.log | xargs -r realpath | sort -u)" = "$(realpath "$want")" ] || { cat cupti.log; return 1; }
}
put() { mkdir -p "$(dirname "$1")" && cp "$standin/libcupti.so.13" "$1"; }
empty_library() { mkdir -p "$(dirname "$1")" && : | ${CC:-cc} -shared -x c -o "$1" -; }

put packed/libcupti-1a2b3c4d.so.12
put system/libcupti.so.13
libraries=$PWD/driver:$PWD/system
check "cupti: what is loaded is used, under whatever name" \
	uses packed/libcupti-1a2b3c4d.so.12 load "$PWD/packed/libcupti-1a2b3c4d.so.12"
empty_library libcupti-tools/libother.so
check "cupti: a folder of that name is no libcupti" uses system/libcupti.so.13 load "$PWD/libcupti-tools/libother.so"
empty_library packed/libcuptitools.so
check "cupti: nor is a library that only begins like it" uses system/libcupti.so.13 load "$PWD/packed/libcuptitools.so"

cat >refuses.c <<'C'
int cuptiGetVersion(unsigned *version) { *version = 18; return 0; }
int cuptiSubscribe(void) { return 15; }
int cuptiUnsubscribe(void) { return 15; }
int cuptiEnableCallback(void) { return 15; }
int cuptiSubscribe_v2(void) { return 15; }
int cuptiFinalize(void) { return 15; }
C
${CC:-cc} -shared -fPIC -o packed/libcupti-old.so.11.2 refuses.c
check "cupti: of several that are loaded, one that works" uses packed/libcupti-1a2b3c4d.so.12 \
	load "$PWD/packed/libcupti-old.so.11.2" load "$PWD/packed/libcupti-1a2b3c4d.so.12"

libraries=$PWD/driver
empty_library wheels/nvidia/cuda_runtime/lib/libcudart.so.12
put wheels/nvidia/cuda_cupti/lib/libcupti.so.12
check "cupti: beside the runtime of the wheels of CUDA 12" uses wheels/nvidia/cuda_cupti/lib/libcupti.so.12 \
	load "$PWD/wheels/nvidia/cuda_runtime/lib/libcudart.so.12"
empty_library wheels13/nvidia/cu13/lib/libcudart.so.13
put wheels13/nvidia/cu13/lib/libcupti.so.13
check "cupti: beside the runtime of the wheels of CUDA 13" uses wheels13/nvidia/cu13/lib/libcupti.so.13 \
	load "$PWD/wheels13/nvidia/cu13/lib/libcudart.so.13"
empty_library toolkit/targets/x86_64-linux/lib/libcudart-99.so.11.0
put toolkit/extras/CUPTI/lib64/libcupti.so.11.8
check "cupti: in the toolkit of the runtime" uses toolkit/extras/CUPTI/lib64/libcupti.so.11.8 \
	load "$PWD/toolkit/targets/x86_64-linux/lib/libcudart-99.so.11.0"
with() { env "$1" bash -c ". $SRC/tests/cli/lib.sh; $(declare -f by uses); agent=$agent run=$run libraries=$PWD/driver; uses $2"; }
check "cupti: in CUDA_HOME" with CUDA_HOME="$PWD/toolkit" toolkit/extras/CUPTI/lib64/libcupti.so.11.8
check "cupti: in CUDA_PATH" with CUDA_PATH="$PWD/toolkit" toolkit/extras/CUPTI/lib64/libcupti.so.11.8
mkdir -p toolkit/bin bin
printf '#!/bin/sh\n' >toolkit/bin/nvcc
chmod +x toolkit/bin/nvcc
ln -s "$PWD/toolkit/bin/nvcc" bin/nvcc
check "cupti: in the toolkit of nvcc" with PATH="$PWD/bin:$PATH" toolkit/extras/CUPTI/lib64/libcupti.so.11.8
for name in libcupti.so.12 libcupti.so.11.8 libcupti.so.11.3 libcupti.so; do
	put "names/$name/$name"
	libraries=$PWD/driver:$PWD/names/$name
	check "cupti: where the loader looks, as $name" uses "names/$name/$name"
done
# The driver's major version first, then the older ones, then the newer ones; in each place.
put several/libcupti.so.12 && put several/libcupti.so.13 && put several/libcupti.so.11.8
version() { STANDIN_DRIVER=$1 uses "several/$2"; }
libraries=$PWD/driver:$PWD/several
check "cupti: of several versions that of the driver (12.2)" version 12020 libcupti.so.12
check "cupti: of several versions that of the driver (13.0)" version 13000 libcupti.so.13
check "cupti: of several versions that of the driver (11.4)" version 11040 libcupti.so.11.8
rm several/libcupti.so.12
check "cupti: else an older one" version 12020 libcupti.so.11.8
rm several/libcupti.so.11.8
check "cupti: else a newer one" version 12020 libcupti.so.13
put home/lib64/libcupti.so.12 && put beside/libcupti.so.13
libraries=$PWD/driver:$PWD/beside
with_libraries() { env "$1" bash -c ". $SRC/tests/cli/lib.sh; $(declare -f by uses); agent=$agent run=$run libraries=$libraries; uses $2"; }
right_one() { STANDIN_DRIVER=12020 with_libraries CUDA_HOME="$PWD/home" home/lib64/libcupti.so.12; }
check "cupti: the driver's version in a later place goes before another one in an earlier place" right_one

# A program without PyTorch; NVIDIA's wheels are in the folder of its packages.
libraries=$PWD/driver
for folder in site-packages dist-packages; do
	empty_library "v/$folder/other/_other.so"
	put "v/$folder/nvidia/cu13/lib/libcupti.so.13"
	check "cupti: in the wheels of CUDA 13 among its $folder" uses "v/$folder/nvidia/cu13/lib/libcupti.so.13" \
		load "$PWD/v/$folder/other/_other.so"
	rm "v/$folder/nvidia/cu13/lib/libcupti.so.13"
done
put v/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12
check "cupti: in the wheels of CUDA 12 among its packages" uses v/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12 \
	load "$PWD/v/site-packages/other/_other.so"
put v/nvidia/cu13/lib/libcupti.so.13
check "cupti: CUDA_HOME is the folder of a wheel" with CUDA_HOME="$PWD/v/nvidia/cu13" v/nvidia/cu13/lib/libcupti.so.13

# Among several that refuse, the one that says most is told; none stays behind.
refusing() { mkdir -p "$(dirname "$2")" && sed "s/return 15/return $1/" refuses.c >code.c && ${CC:-cc} -shared -fPIC -o "$2" code.c; }
refused_by() { # PATTERN ERROR ERROR: both are loaded, so that nothing else is tried
	refusing "$2" one/lib64/libcupti-one.so.13 && refusing "$3" two/lib64/libcupti-two.so.13 &&
		by preload "$PWD/driver" "" load "$PWD/one/lib64/libcupti-one.so.13" load "$PWD/two/lib64/libcupti-two.so.13" \
			init tensor source && grep -E "^source 2 $1" out
}
unfit="\(it does not fit the driver's version, or there is no GPU\): driver memory is not recorded; tried"
check "cupti: refused: the version, or no GPU (15)" refused_by "CUPTI refuses .* error 15 $unfit .*-one.so.13$" 15 999
check "cupti: refused: the version, or no GPU (999)" refused_by "CUPTI refuses .* error 999 $unfit .*-one.so.13$" 999 999
check "cupti: refused: confidential computing" refused_by "CUPTI refuses .* error 41 \(confidential .*-one.so.13$" 41 15
check "cupti: refused: what tells most, the last one" refused_by "CUPTI refuses .* error 35 \(.*privileged.*-two.so.13$" 999 35
check "cupti: refused: an error of its own says more than the general ones" refused_by "CUPTI refuses .* error 7: .*-two" 15 7
one_of_two() {
	refusing 15 one/lib64/libcupti.so.13 && put two/lib64/libcupti.so.13 &&
		CUDA_HOME=$PWD/one CUDA_PATH=$PWD/two by preload "$PWD/driver" "" init alloc source mapped &&
		printed "source 1 " "mapped two/lib64/libcupti.so.13"
}
printed() { diff <(printf '%s\n' "$@") out; }
check "cupti: one that refuses does not stay beside the one that is used" one_of_two
none() { by cuda "$PWD/driver" "" init && by preload "$PWD/driver" "" init tensor source && grep 'source 2 libcupti was not found' out; }
[ -e /usr/local/cuda ] || check "cupti: it is not there" none

# ---- Subscribing ----

made_with() { grep -E 'Subscribe(_v2)? 0 ' cupti.log | awk '{ print $2 }' | xargs; }
old_call() { by cuda "$both" "" init alloc && [ "$(made_with)" = cuptiSubscribe ]; }
check "cupti: one subscriber: the call that everybody has" old_call
new_call() { STANDIN_V2_SUBSCRIBERS=1 by cuda "$both" "" init alloc && [ "$(made_with)" = cuptiSubscribe_v2 ]; }
check "cupti: several subscribers: the call that shares" new_call

had="another tool had CUPTI for a while: the driver calls of that time are missing"
link_tool() { ${CC:-cc} -shared -fPIC -I"$SRC/recorder" -o "$1" "$SRC/tests/cli/cupti_tool.c" "$2" "${@:3}"; }
link_tool tool.so "$standin/libcupti.so.13" && link_tool bound.so "$standin/libcupti.so.13" -Wl,-z,now,-z,relro

shared() {
	STANDIN_V2_SUBSCRIBERS=1 by "$1" "$both" "$2" tool ./tool.so init alloc share alloc calls seen source stop &&
		printed "share 0" "calls 2" "seen 2" "source 1 " "stop 0"
}
check "cupti: a tool that shares has its calls, and so have we" shared preload ""
check "cupti: and we need not yield to it" shared cuda yield-cupti=1

taken() {
	STANDIN_FAULT_SUBSCRIBED=some-tool STANDIN_V2_SUBSCRIBERS=$1 by preload "$both" "" init tensor source &&
		printed "source 2 another tool holds the CUPTI subscription (some-tool): driver memory is not recorded"
}
check "cupti: taken, and by whom (13.0)" taken 0
check "cupti: taken, and by whom (13.3)" taken 1

# The rest of it when nothing else was there to record.
summary_says() { # PATTERN OPTION...
	local pattern=$1
	shift
	LD_LIBRARY_PATH=$both "$memrec" "$@" -- python3 "$run" init alloc 2>err && grep -- "$pattern" err || { cat err; return 1; }
}
taken_summary() { STANDIN_FAULT_SUBSCRIBED=some-tool summary_says "another tool holds the CUPTI subscription (some-tool)"; }
check "cupti: the summary says why there is no trace" taken_summary
check "cupti: also when it was not asked for" summary_says "not asked for (--no-cupti)" --no-cupti
no_call() { by preload "$both" no-cupti=1 init alloc tensor source && printed "source 0 not asked for (--no-cupti)" && [ ! -e cupti.log ]; }
check "cupti: --no-cupti: no call at all" no_call

# ---- Calls that the agent never makes ----

quiet() {
	by "$1" "$both" "" init alloc alloc tensor end || return
	! grep -E 'in-callback|Finalize' cupti.log | grep -v ' cuptiGetDeviceId ' && [ "$(tail -n 1 cupti.log)" = end ] && grep -q EnableCallback cupti.log
}
check "cupti: nothing is called in callbacks but for a context's device, nor at exit; nothing is finalized" quiet preload
driver_names() { readelf -p .rodata "$agent" >strings && grep -q cuptiSubscribe strings && grep -oE '[[:blank:]]cu[A-Z]\w*' strings | xargs; }
only_two() { [ "$(driver_names | tr ' ' '\n' | sort | xargs)" = "cuDeviceGetCount cuDriverGetVersion" ]; }
check "cupti: the agent looks up two driver calls alone: the version's, and what memrec attach asks" only_two

# ---- A paused process ----

# Without PyTorch CUPTI is the one way to be called, and is kept.
rests() {
	by preload "$both" paused=1 tool ./tool.so init alloc alloc tensor start alloc calls stop wish tensor alloc source seen &&
		printed "start 0" "calls 2" "stop 0" "source 1 " "seen 1" && [ "$(grep -c ' cuptiUnsubscribe ' cupti.log)" = 2 ]
}
keeps() { by "$1" "$both" paused=1 init alloc wish alloc source seen && printed "source 1 " "seen 1" && ! grep -q ' cuptiUnsubscribe ' cupti.log; }
check "cupti: a paused process with PyTorch leaves CUPTI to others until memrec start" rests
for door in preload cuda; do
	check "cupti: without PyTorch it keeps CUPTI, and sees memrec start there ($door)" keeps $door
done

# ---- Other tools ----

# refused DOOR TOOL: the tool is told so, and the trace and the last lines say it.
refused() {
	by "$1" "$both" "" tool "$2" init alloc start alloc calls seen source &&
		printed "start 39" "calls 0" "seen 2" "source 1 another tool of the program was refused the CUPTI subscription, \
which memrec holds (--yield-cupti lets it have it, --no-cupti leaves it alone)"
}
# yields DOOR TOOL: the tool has it from its first call to its last, twice.
yields() {
	by "$1" "$both" yield-cupti=1 tool "$2" init alloc seen start alloc alloc calls seen source stop source alloc seen calls \
		start alloc calls seen stop alloc seen &&
		printed "seen 1" "start 0" "calls 4" "seen 0" "source 0 given to another tool (--yield-cupti): driver memory is \
not recorded meanwhile" "stop 0" "source 3 $had" "seen 1" "calls 0" "start 0" "calls 2" "seen 0" "stop 0" "seen 1"
}
for tool in ./tool.so ./bound.so; do
	for door in preload cuda; do
		check "cupti: a tool is refused, and that is said ($door, $tool)" refused $door $tool
		check "cupti: --yield-cupti ($door, $tool)" yields $door $tool
	done
done
first() {
	by "$1" "$both" "$2" tool ./tool.so start init tensor alloc calls seen source stop alloc seen source && cat out
}
came_first() {
	first preload "" >got && diff - got <<-'END'
		start 0
		calls 2
		seen 0
		source 2 another tool holds the CUPTI subscription (CUPTI for unknown): driver memory is not recorded
		stop 0
		seen 0
		source 2 another tool holds the CUPTI subscription (CUPTI for unknown): driver memory is not recorded
	END
}
check "cupti: who came first keeps it" came_first
waited() { first preload yield-cupti=1 >got && tail -n 2 got | diff - <(printf 'seen 1\nsource 3 %s\n' "$had"); }
check "cupti: --yield-cupti: and when it leaves, it is ours" waited
finalized() {
	by "$1" "$both" "" tool ./tool.so init alloc finalize alloc seen source && printed "finalize 0" "seen 2" "source 3 $had"
}
check "cupti: another tool finalizes, and we come again" finalized preload
check "cupti: another tool finalizes (without LD_PRELOAD)" finalized cuda

# As Kineto does it with TEARDOWN_CUPTI=1: it leaves inside a callback and finalizes there. In between nobody subscribes
# who then believes to be subscribed.
torn_down() {
	by "$1" "$both" yield-cupti=1 tool "$2" init alloc seen start alloc calls "${@:3}" alloc calls back alloc seen &&
		printed "seen 1" "start 0" "calls 2" "calls 2" "back 3 $had" "seen 1" || { cat out; return 1; }
}
for tool in ./tool.so ./bound.so; do
	for door in preload cuda; do
		check "cupti: a tool leaves and finalizes inside a callback ($door, $tool)" torn_down $door $tool teardown 0
		check "cupti: and nobody comes between the two ($door, $tool)" torn_down $door $tool pound teardown 20
	done
done
again() { # the tool comes back before we do, and has it
	by preload "$both" yield-cupti=1 tool ./tool.so init alloc start teardown 0 alloc start alloc calls stop alloc seen source &&
		printed "start 0" "start 0" "calls 4" "stop 0" "seen 2" "source 3 $had"
}
check "cupti: a tool that leaves inside a callback and comes again" again
hammered() {
	STANDIN_UNSUBSCRIBE_WAITS=$2 by "$1" "$both" yield-cupti=1 tool ./tool.so init alloc hammer 100 seen source alloc seen &&
		grep -qx 'hammer 0' out && grep -qx "source 3 $had" out && [ "$(tail -n 1 out)" = "seen 1" ]
}
for waits in 0 1; do
	check "cupti: taken and given back while four threads are inside callbacks (unsubscribing waits: $waits)" hammered preload $waits
done

# An agent without CUPTI has no function of CUPTI to call: neither when the tool finalizes nor when the next one leaves.
left_alone() {
	by "$1" "$both" no-cupti=1 tool ./tool.so init alloc start teardown 0 alloc start alloc stop alloc nap mark finalize alloc start stop &&
		printed "start 0" "start 0" "stop 0" "finalize 0" "start 0" "stop 0" || { cat out err; return 1; }
}
check "cupti: --no-cupti: a tool comes, finalizes and leaves" left_alone preload
check "cupti: --no-cupti: the same (without LD_PRELOAD)" left_alone cuda

late_finalize() { # it is held up before it finalizes, longer than anybody waits
	by preload "$both" yield-cupti=1 tool ./tool.so init alloc start pound teardown 150 alloc back alloc seen && tail -n 1 out | grep -x 'seen [12]'
}
check "cupti: a tool that finalizes later than expected" late_finalize
old_one() { # before 12.6, beginning again is not safe
	STANDIN_CUPTI_VERSION=23 by preload "$both" yield-cupti=1 tool ./tool.so init alloc start alloc teardown 0 alloc nap alloc mark alloc source seen &&
		printed "start 0" "source 0 another tool has ended CUPTI, which in this version must not begin again: driver memory is \
recorded up to there" "seen 1"
}
check "cupti: an old CUPTI that was finalized is left alone" old_one
gap_told() { # the words of the end of the run, the trace and the verdict about the time in between
	LD_LIBRARY_PATH=$both "$memrec" --yield-cupti -o gap.zst -- python3 "$run" tool ./tool.so init alloc start alloc stop alloc >out 2>err &&
		grep "^memrec: process [0-9]*: cupti: $had" err && "$memana" sql gap.zst "SELECT state, why FROM source WHERE name = 'cupti'" | grep "partly.*$had" &&
		"$memana" top gap.zst | tr '\n' ' ' | grep "memory beside tensors may be missing here.*Partly recorded: cupti ($had)"
}
check "cupti: --yield-cupti: the time in between is told" gap_told

# ---- CUPTI that fails ----

silent() {
	STANDIN_FAULT_SILENT=1 by preload "$both" "" init alloc tensor source &&
		printed "source 2 CUPTI took the subscription and shows no call, while PyTorch has memory of the driver: driver memory \
is not recorded; tried $both/libcupti.so.13"
}
check "cupti: no call is shown, and tensors are: it has failed" silent
not_silent() { by preload "$both" "" init alloc tensor source && printed "source 1 "; }
check "cupti: a call is shown before the first tensor: it works" not_silent
silent_told() {
	STANDIN_FAULT_SILENT=1 LD_LIBRARY_PATH=$both "$memrec" -o silent.zst -- python3 "$run" init alloc tensor 2>err || return
	grep 'without cupti: CUPTI took the subscription and shows no call' err &&
		"$memana" sql silent.zst "SELECT state, why FROM source WHERE name = 'cupti'" | grep 'failed.*shows no call' &&
		"$memana" top silent.zst | tr '\n' ' ' | grep "memory beside tensors may be missing here.*tried $both/libcupti.so.13)"
}
check "cupti: the summary, the trace and the verdict say so" silent_told
fell_silent() {
	by preload "$both" "" init alloc grow kill alloc grow alloc grow source alloc grow source &&
		printed "source 1 " "source 1 PyTorch came to hold more again and again, and CUPTI showed no call: another tool may have \
ended CUPTI (or an allocator of the program hands out what it had before)"
}
check "cupti: it falls silent, and PyTorch goes on" fell_silent
not_ours() { # memory taken before we had it is no silence
	by preload "$both" yield-cupti=1 tool ./tool.so start init teardown 0 alloc nap alloc grow grow alloc grow source && tail -n 1 out | grep -x "source 3 $had"
}
check "cupti: nor is it silence when another tool had it at first" not_ours
goes_on() { by preload "$both" "" init alloc grow alloc grow alloc grow alloc grow alloc grow source && printed "source 1 "; }
check "cupti: it does not, and nothing is said" goes_on
fatal() {
	STANDIN_FAULT_FATAL_AT=3 by "$1" "$both" "" init alloc alloc alloc alloc seen source &&
		printed "seen 2" "source 2 CUPTI has ended itself after a fatal error (999, asked for by STANDIN_FAULT_FATAL_AT): driver \
memory is recorded up to there"
}
check "cupti: a fatal error" fatal preload
check "cupti: a fatal error (without LD_PRELOAD)" fatal cuda

told() { # the last words of a run
	LD_LIBRARY_PATH=$both "$memrec" "$@" -o told.zst -- python3 "$run" tool ./tool.so init alloc start alloc 2>err >out || return
	cat out err
}
told_refused() { told | grep 'cupti: another tool of the program was refused.*--yield-cupti'; }
check "cupti: the last lines say what to do about a refused tool" told_refused
in_trace() { # PATTERN OPTION...
	told "${@:2}" >/dev/null && "$memana" sql told.zst "SELECT state, why FROM source WHERE name = 'cupti'" | grep -- "$1"
}
check "cupti: so does the trace" in_trace "on.*another tool of the program was refused"
check "cupti: --yield-cupti: the trace says that another tool has it" in_trace "off.*given to another tool" --yield-cupti

# Two of them in one process: each tool reaches its own.
sed 's/return 15/return 77/' refuses.c >mine.c
mkdir mine
${CC:-cc} -shared -fPIC -Wl,-soname,libcupti-mine.so.12 -o mine/libcupti-mine.so.12 mine.c &&
	link_tool mine.so mine/libcupti-mine.so.12 -Wl,-rpath,"$PWD/mine"
own_library() { by "$1" "$both" "" load libcupti.so.13 init tool ./mine.so alloc start && printed "start 77"; }
check "cupti: each tool reaches its own libcupti" own_library preload
check "cupti: each tool reaches its own libcupti (without LD_PRELOAD)" own_library cuda
nobody() { by preload "$PWD/driver" "" asks && printed "asks 15"; }
check "cupti: a program that asks for it where there is none" nobody
