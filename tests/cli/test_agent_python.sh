# Compares Python frames, which the agent reads without the GIL, with the frames that the interpreter reports. Runs
# with every Python 3 on PATH, of Debian, in pyenv's folder and in build/pythons (tests/pythons.sh).
. "$SRC/tests/cli/lib.sh"

. "$SRC/tests/cli/interpreters.sh"

# known PYTHON: a version the agent has offsets of, and with a GIL.
known() {
	"$1" -c 'import sys, sysconfig
sys.exit(not (3, 9) <= sys.version_info[:2] <= (3, 14) or bool(sysconfig.get_config_var("Py_GIL_DISABLED")))'
}

under_agent() {
	rm -rf rings
	mkdir rings
	RINGS=$PWD/rings MEMREC_OPTIONS="run-dir=$PWD/rings output=$PWD/trace.zst collector=$(type -P true) ${OPTIONS:-}" \
		LD_PRELOAD=$BUILD/libmemrec.so "$@"
}
of_agent() { under_agent "$1" "${@:3}" "$SRC/tests/cli/agent_python.py" "$2"; }

# modules PYTHON: which of them each stack is inside, however few frames are kept; none with --no-modules.
modules() {
	local depth
	for depth in 32 8 1; do
		OPTIONS="depth=$depth" under_agent "$1" "$SRC/tests/cli/agent_modules.py" $depth || return
	done
	OPTIONS="no-modules=1" under_agent "$1" "$SRC/tests/cli/agent_modules.py" 32 off
}

# little PYTHON: hardly any room for stacks.
little() {
	OPTIONS="log-bytes=$((8 << 20)) slot-bytes=$((16 << 20))" under_agent "$1" "$SRC/tests/cli/agent_modules.py" 32 little
}

# recorded PYTHON: all the way through the trace. Function, qualified name, file and line of every frame.
recorded() {
	rm -f trace.zst
	"$memrec" -o trace.zst -- "$1" "$SRC/tests/cli/agent_python.py" expect want.json || return
	"$memana" sql --json trace.zst "
		WITH RECURSIVE up(address, id, depth) AS (
			SELECT address, node, 0 FROM allocation
			UNION ALL SELECT address, stack_node.parent, depth + 1 FROM up JOIN stack_node USING (id)
				WHERE stack_node.parent IS NOT NULL)
		SELECT address, kind, function, file, line FROM up JOIN stack_node USING (id) JOIN frame ON frame.id = frame
		ORDER BY address, depth" >got.json || return
	python3 "$SRC/tests/cli/agent_stacks.py" recorded want.json got.json
}

# late PYTHON: a program that is not Python loads its library, runs it twice, and ends it each time.
late() {
	local library
	library=$("$1" -c 'import os, sysconfig
get = sysconfig.get_config_var
for folder in (get("LIBDIR"), os.path.join(get("LIBDIR"), get("MULTIARCH") or "")):
    path = os.path.join(folder, get("INSTSONAME") or get("LDLIBRARY"))
    if os.path.exists(path) and ".so" in path: print(path); break')
	[ "$library" ] || return 77
	under_agent ../embed "$library" "
import sys
def event(address, depth=0):
    if depth:
        return event(address, depth - 1)
    frame, names = sys._getframe(0), []
    while frame:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    report(address)
    print('%x' % address, *names, flush=True)
for depth in range(4):
    event(0x1000 * (1 + depth), depth)
" >embed.out && VERSION=$("$1" -c 'import sys; print("%x" % (sys.hexversion >> 16))') \
		python3 "$SRC/tests/cli/agent_stacks.py" embed embed.out
}

check_late() {
	local out got=0
	out=$(late "$1" 2>&1) || got=$?
	case $got in
	0) echo "ok python $2: loaded late, ended and begun again" ;;
	77) echo "skip python $2: there is no libpython to load late" ;;
	*) echo "not ok python $2: loaded late, ended and begun again"; printf '%s\n' "$out" | sed 's/^/# /' ;;
	esac
}

check_known() {
	check "python $2: stacks are the interpreter's own" of_agent "$1" stacks
	check "python $2: without docstrings, asserts and columns" of_agent "$1" stacks -OO -X no_debug_ranges
	check "python $2: at the end of the interpreter" of_agent "$1" ending
	check "python $2: of interpreters within the interpreter" of_agent "$1" parts
	check "python $2: modules whose calls the frames are" modules "$1"
	check "python $2: recorded and read back" recorded "$1"
	# The library would need the libc that such an interpreter brings with it.
	[[ $1 == "$BUILD"/* ]] || check_late "$1" "$2"
}

check_interpreter() {
	local version
	version=$("$1" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')
	if known "$1"; then
		check_known "$1" "$version"
	elif "$1" -c 'import sys; sys.exit(sys.version_info < (3, 7))'; then
		check "python $version: an unknown version is refused" of_agent "$1" refused
	fi
}

# Two at a time, each in a folder of its own.
${CC:-cc} -O1 -o embed "$SRC/tests/cli/agent_embed.c" -ldl
number=0
while read -r python; do
	number=$((number + 1))
	mkdir "$number"
	(cd "$number" && check_interpreter "$python") >"log.$number" 2>&1 &
	[ $((number % 2)) = 1 ] || wait
done < <(interpreters)
wait
cat log.*
check "python: where little room is left, stacks go without their modules, and then there are none" little "$(type -P python3)"
check "python: there is one to be compared with" grep -q "^ok python .*the interpreter's own" log.*

# fake FLAGS WORD...: an interpreter that says of itself what the flags say is refused for that reason.
fake() {
	${CC:-cc} -O1 -shared -fPIC -DLIBRARY $1 -o fake.so "$SRC/tests/cli/agent_fake_python.c" || return
	rm -rf rings
	mkdir rings
	MEMREC_OPTIONS="run-dir=$PWD/rings output=$PWD/trace.zst collector=$(type -P true)" \
		LD_PRELOAD="$BUILD/libmemrec.so $PWD/fake.so" ./fake || return
	python3 "$SRC/tests/cli/agent_stacks.py" "${@:2}"
}
${CC:-cc} -o fake "$SRC/tests/cli/agent_fake_python.c" "$BUILD/libmemrec.so"
v314=-DVERSION=0x030e00f0
check "fake python: read by the offsets that it publishes" fake $v314 fake
check "fake python 3.15 is refused" fake -DVERSION=0x030f00f0 fake_refused Python 3.15 is not known
check "fake python 3.8 is refused" fake -DVERSION=0x030800f0 fake_refused Python 3.8 is not known
check "fake python 4.0 is refused" fake -DVERSION=0x040000f0 fake_refused Python 4.0 is not known
check "fake free-threaded python is refused" fake "$v314 -DTHREADED=1" fake_refused free-threaded
check "fake python without offsets is refused" fake "$v314 -DCOOKIE=\"xdebugpx\"" fake_refused does not publish
check "fake python with another's offsets is refused" fake "$v314 -DSAYS=0x030d00f0" fake_refused does not publish
check "fake python with impossible offsets is refused" fake "$v314 -DBROKEN_OFFSET" fake_refused where they cannot
for broken in FRAME CODE TEXT; do
	check "fake python: a wrong ${broken,,} is found out" \
		fake "$v314 -DBROKEN_$broken" fake_refused are not what those of its version are
done

codes() {
	${CC:-cc} -O1 -rdynamic -o codes "$SRC/tests/cli/agent_codes.c" "$BUILD/libmemrec.so" || return
	under_agent ./codes >want && python3 "$SRC/tests/cli/agent_stacks.py" codes want
}
check "fake python 3.11: another caller, and other code, at one address; a handler that leaves a walk" codes
