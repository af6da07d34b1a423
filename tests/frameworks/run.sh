#!/usr/bin/env bash
# run.sh BUILD [CASE...] - real frameworks, recorded and held against their own account (check.py), with what PyPI has of them
# today in the virtual environment BUILD/frameworks-venv. It is made once; to have it made anew, remove it. Ends with
# "N passed, N failed, N skipped". CHECK=FILE: that script of tests instead, in the same environment.
set -u
SRC=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd) || exit 2
shift
venv=$build/frameworks-venv
log=$build/frameworks-venv.log
wanted=(torch numpy transformers trl accelerate peft datasets)
beside=(torchao bitsandbytes megatron-core) # packages that cannot be had are skipped by name
# verl and AReaL want older releases of what is above, which their engines do without: by themselves, with what they import.
alone=(verl "tensordict<=0.10.0" ray omegaconf hydra-core "antlr4-python3-runtime==4.9.3" codetiming pyvers cloudpickle msgpack orjson
	click protobuf jsonschema jsonschema-specifications referencing rpds-py attrs platformdirs pillow requests charset-normalizer
	urllib3 certifi idna fastapi starlette uvicorn opentelemetry-api annotated-doc annotated-types pydantic pydantic-core
	typing-inspection h11 anyio sniffio importlib-metadata zipp wandb sentry-sdk gitpython gitdb smmap
	areal torchdata aiohttp multidict yarl propcache aiohappyeyeballs aiosignal frozenlist httpx httpcore colorlog tenacity flask
	werkzeug blinker itsdangerous lark uvloop numba llvmlite einops aiofiles openai jiter distro tabulate pybase64)
built=(deepspeed) # made of its sources: without operators, and with what is installed here
export PYTHONDONTWRITEBYTECODE=1

# ends VERDICT: there is nothing to run the tests with.
ends() {
	echo "$1"
	case $1 in
	skip*) echo "0 passed, 0 failed, 1 skipped" ;;
	*) tail -n 5 "$log" && echo "0 passed, 1 failed, 0 skipped" && exit 1 ;;
	esac
	exit 0
}

has_frameworks() { "$venv/bin/python" -c 'import torch, transformers, trl, accelerate, peft, datasets' 2>/dev/null; }

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
	"$venv/bin/python" -m pip install --quiet --no-cache-dir --disable-pip-version-check --retries 1 --timeout 20 "$@" >>"$log" 2>&1
}

if ! has_frameworks; then
	: >"$log"
	make_venv || ends "skip the frameworks: no python3 here can make a virtual environment"
	echo "installing the frameworks into $venv"
	if ! install "${wanted[@]}"; then
		rm -rf "$venv"
		grep -qE 'Could not find a version|No matching distribution|[Cc]onnect|[Tt]imed out|HTTPError|ProxyError' "$log" &&
			ends "skip the frameworks: the package registry does not answer"
		ends "not ok pip could not install the frameworks"
	fi
	for package in "${beside[@]}"; do install "$package"; done
	install setuptools wheel packaging ninja psutil py-cpuinfo &&
		for package in "${built[@]}"; do DS_BUILD_OPS=0 DS_ACCELERATOR=cpu install --no-build-isolation "$package"; done
	for package in "${alone[@]}"; do
		"$venv/bin/python" -m pip show -q "${package%%[<=]*}" 2>/dev/null || install --no-deps "$package"
	done
	has_frameworks || ends "not ok the frameworks were installed, and cannot be imported"
fi
export PYTHON=$venv/bin/python
"$PYTHON" -c '
import sys
from importlib.metadata import version, PackageNotFoundError
def said(name):
    try:
        return "%s %s" % (name, version(name))
    except PackageNotFoundError:
        return "no " + name
print(", ".join(map(said, sys.argv[1:])) + ", Python " + sys.version.split()[0])' "${wanted[@]}" "${beside[@]}" "${built[@]}"
exec "$PYTHON" "$SRC/tests/${CHECK:-frameworks/check.py}" "$build" "$@"
