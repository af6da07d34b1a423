# interpreters.sh - lists every Python 3 of this machine: on PATH, of Debian, in pyenv's folder and in build/pythons
# (tests/pythons.sh).

candidates() {
	local python
	for python in $(type -aP python3 python3.{9..19}) /usr/bin/python3; do
		[ -x "$python" ] && readlink -f "$("$python" -c 'import sys; print(sys.executable)' 2>/dev/null)"
	done
	ls "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3 "$BUILD"/pythons/*/bin/python3 2>/dev/null
}

# Each interpreter once, however many names it has.
interpreters() {
	local python
	candidates | while read -r python; do
		"$python" -c 'import os, sys; print(os.path.realpath(os.path.dirname(os.__file__)), sys.argv[1])' "$python"
	done 2>/dev/null | sort -u -k1,1 | cut -d' ' -f2-
}
