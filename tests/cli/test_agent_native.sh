# Compares native frames with the frames of glibc's backtrace(), another unwinder, at the same place.
. "$SRC/tests/cli/lib.sh"

source=$SRC/tests/cli/agent_native.c
look() { python3 "$SRC/tests/cli/agent_stacks.py" "$@"; }

# under_agent OPTIONS COMMAND...
under_agent() {
	rm -rf rings
	mkdir rings
	MEMREC_OPTIONS="run-dir=$PWD/rings output=$PWD/trace.zst collector=$(type -P true) $1" \
		LD_PRELOAD=$BUILD/libmemrec.so "${@:2}"
}

# stacks PROGRAM CASE DEPTH HOW
stacks() { under_agent "depth=$3" "$1" "$2" >seen && look "$4" seen "$3"; }

${CC:-cc} -O2 -o native "$source" -ldl -lpthread
${CC:-cc} -O2 -fno-omit-frame-pointer -no-pie -fno-pic -static-libgcc -o native-fixed "$source" -Wl,--no-as-needed "$BUILD/libmemrec.so" -ldl -lpthread
${CC:-cc} -O0 -static -o native-static "$source" -lpthread 2>static.log
for n in 1 2; do ${CC:-cc} -O2 -shared -fPIC -DLIBRARY=$n -o "lib$n.so" "$source"; done

for depth in 1 16 64 256; do check "native: plain functions, depth $depth" stacks ./native plain "$depth" native; done
check "native: a program at a fixed address" stacks ./native-fixed plain 64 native
check "native: signal handlers, also on a stack of their own" stacks ./native signals 64 native
check "native: other stacks" stacks ./native contexts 64 native
check "native: threads" stacks ./native threads 64 native
check "native: code that nobody has a table for ends the stack" stacks ./native unknown_code 64 trusted
check "native: functions without tables" stacks ./native no_tables 64 trusted

# A library, another in its place, and the first one again.
same_place() {
	under_agent depth=64 ./native libraries "$PWD/lib1.so" "$PWD/lib2.so" "$PWD/lib1.so" "$PWD/lib2.so" >seen || return
	look libraries seen "$PWD/lib1.so" "$PWD/lib2.so" "$PWD/lib1.so" "$PWD/lib2.so" >out || { cat out; return 1; }
	grep "same place" out
}
check "native: the right library of those that lay in one place" same_place

# All of it in one file, libc too: there is no loader to bring the agent in, and nothing may happen.
static() {
	[ -x native-static ] || { cat static.log; return 1; }
	under_agent "" ./native-static plain >seen || return
	[ "$(wc -l <seen)" = 5 ] && [ -z "$(ls rings)" ]
}
check "native: a static program is left alone" static

# The meaning of --stacks and --depth.
calls="import sys; sys.path.insert(0, '$SRC/tests/cli')
import agent_hooks as hooks
def nested(depth):
    return nested(depth - 1) if depth else hooks.alloc(0x1000)
nested(300)"
options() { # WORDS PYTHON NATIVE DEPTH
	under_agent "$1 depth=$4" python3 -c "$calls" && look options "$2" "$3" "$4"
}
for depth in 0 1 256; do
	some=$((depth > 0))
	check "--stacks python,native --depth $depth" options stacks=7 $some $some $depth
	check "--stacks python --depth $depth" options stacks=1 $some 0 $depth
	check "--stacks native --depth $depth" options stacks=6 0 $some $depth
	check "--stacks none --depth $depth" options stacks=0 0 0 $depth
	check "by default, --depth $depth" options stacks=3 $some 0 $depth
done
means() { # WORD NUMBER: what memrec makes of --stacks WORD
	"$memrec" --stacks "$1" -o none.zst -- sh -c 'echo "$MEMREC_OPTIONS"' >out || return
	grep -qE "(^| )stacks=$2( |$)" out || { [ "$2" = 3 ] && ! grep -q stacks= out; } || { cat out; return 1; }
}
check "--stacks python,native" means python,native 7
check "--stacks python" means python 1
check "--stacks native" means native 6
check "--stacks none" means none 0

# A thread that Python does not know, and that gets to know Python on its way.
${CC:-cc} -O2 -shared -fPIC -DFOR_PYTHON -o thread.so "$source" -lpthread
threads="import ctypes, sys; sys.path.insert(0, '$SRC/tests/cli')
import agent_hooks as hooks
library = ctypes.CDLL('$PWD/thread.so')
Callback = ctypes.CFUNCTYPE(None)
def nested(depth):
    return nested(depth - 1) if depth else hooks.alloc(0x10000)
def from_python(callback):
    library.run_thread(callback)
from_python(ctypes.cast(None, Callback))
from_python(Callback(lambda: nested(3)))
hooks.alloc(0x20000)"
foreign() { under_agent "depth=64" python3 -c "$threads" >seen && look foreign seen; }
check "native: threads that Python does not know" foreign
