#!/usr/bin/env bash
# run.sh BUILD [NAME...] - the tests that need a current PyTorch, with the one from PyPI as people have it (the CUDA build,
# here on the CPU). Ends with "N passed, N failed, N skipped". The virtual environment BUILD/torch-venv is made once; to
# have it made anew, remove it.
set -u
SRC=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd) || exit 2
shift
venv=$build/torch-venv
log=$build/torch-venv.log
wanted=(torch numpy hydra-core) # hydra-core reads what memrec env prints for verl

# ends VERDICT: there is nothing to run the tests with.
ends() {
	echo "$1"
	case $1 in
	skip*) echo "0 passed, 0 failed, 1 skipped" ;;
	*) tail -n 5 "$log" && echo "0 passed, 1 failed, 0 skipped" && exit 1 ;;
	esac
	exit 0
}

has_torch() { "$venv/bin/python" -c 'import torch, numpy, hydra' 2>/dev/null; }

# The newest interpreter that wheels are made for, of those on the machine that can make a virtual environment.
make_venv() {
	local python
	for python in python3.13 python3.12 python3.11 python3.10 python3; do
		rm -rf "$venv"
		"$python" -m venv "$venv" >>"$log" 2>&1 && return
	done
	return 1
}

install() {
	echo "installing a current PyTorch into $venv"
	"$venv/bin/python" -m pip install --quiet --no-cache-dir --disable-pip-version-check --retries 1 --timeout 20 \
		"${wanted[@]}" >>"$log" 2>&1
}

if ! has_torch; then
	: >"$log"
	make_venv || ends "skip a current PyTorch: no python3 here can make a virtual environment"
	if ! install; then
		rm -rf "$venv"
		grep -qE 'Could not find a version|No matching distribution|[Cc]onnect|[Tt]imed out|HTTPError|ProxyError' "$log" &&
			ends "skip a current PyTorch: the package registry does not answer"
		ends "not ok pip could not install PyTorch"
	fi
	has_torch || ends "not ok PyTorch was installed, and cannot be imported"
fi
PYTHON=$venv/bin/python
"$PYTHON" -c 'import sys, torch; print("PyTorch", torch.__version__, "on Python", sys.version.split()[0])'

TESTS=$(echo "$SRC"/tests/cli/test_{train,agent_torch,injection,backward,categories,rl_steps,tensors_cuda}.sh "$SRC"/tests/torch/test_*.sh)
# A cold torch.compile takes a while on a small machine.
export PYTHON TESTS TEST_TIMEOUT=${TEST_TIMEOUT:-600}
"$SRC/tests/run.sh" "$build" "$@"
