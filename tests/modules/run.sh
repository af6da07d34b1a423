#!/usr/bin/env bash
# run.sh BUILD [CASE...] - memana top --by module against an oracle (check.py): with the PyTorch of python3 if it is older than 2.0,
# then with the environment of tests/frameworks. Each ends with "N passed, N failed, N skipped".
set -u
SRC=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd) || exit 2
shift
status=0
old=/usr/bin/python3
if "$old" -c 'import torch, sys; sys.exit(torch.__version__ >= "2")' 2>/dev/null; then
	"$old" -c 'import sys, torch; print("PyTorch", torch.__version__, "on Python", sys.version.split()[0])'
	ONLY=old PYTHON=$old python3 "$SRC/tests/modules/check.py" "$build" "$@" || status=1
fi
CHECK=modules/check.py "$SRC/tests/frameworks/run.sh" "$build" "$@" || status=1
exit $status
