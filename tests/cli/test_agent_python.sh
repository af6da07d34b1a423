# Python frames, read without the GIL, against what the interpreter itself says: every Python 3 that is found.
. "$SRC/tests/cli/lib.sh"

interpreters() {
	local python
	for python in $(type -aP python3 python3.{9..19}) /usr/bin/python3 "$HOME"/.pyenv/versions/3.*/bin/python3; do
		[ -x "$python" ] && readlink -f "$("$python" -c 'import sys; print(sys.executable)' 2>/dev/null)"
	done | sort -u
}

# known PYTHON: a version the agent has offsets of, and with a GIL.
known() {
	"$1" -c 'import sys, sysconfig
sys.exit(not (3, 9) <= sys.version_info[:2] <= (3, 14) or bool(sysconfig.get_config_var("Py_GIL_DISABLED")))'
}

under_agent() {
	rm -rf rings
	mkdir rings
	RINGS=$PWD/rings MEMREC_OPTIONS="run-dir=$PWD/rings output=$PWD/trace.zst collector=$(type -P true)" \
		LD_PRELOAD=$BUILD/libmemrec.so "$@"
}

for python in $(interpreters); do
	version=$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')
	if known "$python"; then
		check "python $version: stacks are the interpreter's own" \
			under_agent "$python" "$SRC/tests/cli/agent_python.py" stacks
	elif "$python" -c 'import sys; sys.exit(sys.version_info < (3, 7))'; then
		check "python $version: an unknown version is refused" \
			under_agent "$python" "$SRC/tests/cli/agent_python.py" refused
	fi
done
