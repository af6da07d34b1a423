#!/usr/bin/env bash
# wheels.sh BUILD - holds the hand-made declarations of CUDA and CUPTI against the headers of older and newer toolkits:
# abi.c is compiled with those in NVIDIA's wheels on PyPI, which are kept in BUILD/wheels. Prints lines "ok ...",
# "not ok ..." and, for a toolkit that cannot be had, "skip ...". Fails if a declaration disagrees.
set -u
SRC=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=$(cd "$1" && pwd) || exit 2
cache=$BUILD/wheels
patience=${WHEELS_TIMEOUT:-120} # s, for each download
failed=0

# Toolkit, and the wheels with CUPTI's headers, with cuda.h, and with NVTX's.
toolkits='
11.8 nvidia-cuda-cupti-cu11==11.8.87  nvidia-cuda-runtime-cu11==11.8.89  nvidia-nvtx-cu11==11.8.86
12.1 nvidia-cuda-cupti-cu12==12.1.105 nvidia-cuda-runtime-cu12==12.1.105 nvidia-nvtx-cu12==12.1.105
12.9 nvidia-cuda-cupti-cu12==12.9.79  nvidia-cuda-runtime-cu12==12.9.79  nvidia-nvtx-cu12==12.9.79
13.0 nvidia-cuda-cupti==13.0.85       nvidia-cuda-runtime==13.0.96       nvidia-nvtx==13.0.85
13.5 nvidia-cuda-cupti==13.5.25       nvidia-cuda-runtime==13.5.37       nvidia-nvtx==13.5.25
'

# headers DIR: those of the wheels in DIR, all in DIR/include.
headers() {
	python3 - "$1" <<-'END'
		import glob, os, sys, zipfile
		for path in glob.glob(sys.argv[1] + "/*.whl"):
		    wheel = zipfile.ZipFile(path)
		    for name in wheel.namelist():
		        if "/include/" in name and name.endswith(".h") and ".." not in name:
		            target = sys.argv[1] + "/include/" + name.split("/include/", 1)[1]
		            os.makedirs(os.path.dirname(target), exist_ok=True)
		            with open(target, "wb") as file:
		                file.write(wheel.read(name))
	END
}

# fetch DIR WHEEL...: into DIR, once. All or nothing: DIR is only there when it is complete.
fetch() {
	local dir=$1 wheel
	shift
	[ -d "$dir" ] && return
	rm -rf "$dir.part" && mkdir -p "$dir.part" || return
	for wheel; do
		timeout "$patience" "${HOST_PYTHON:-python3}" -m pip download -q --no-deps --only-binary :all: -d "$dir.part" "$wheel" \
			>"$dir.log" 2>&1 || return
	done
	headers "$dir.part" && rm -f "$dir.part"/*.whl "$dir.log" && mv "$dir.part" "$dir"
}

mkdir -p "$cache" || exit 2
while read -r version wheels; do
	[ -n "$version" ] || continue
	dir=$cache/$version
	# shellcheck disable=SC2086
	if ! fetch "$dir" $wheels; then
		echo "skip CUDA $version: its headers cannot be had ($(tail -1 "$dir.log" 2>/dev/null | cut -c1-120))"
		continue
	fi
	# An older wheel has no payload extension, and that of another NVTX in the compiler's own path does not fit.
	without=()
	[ -e "$dir/include/nvtx3/nvToolsExtPayload.h" ] || without=(-DWITHOUT_PAYLOADS)
	if ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -fsyntax-only -I"$SRC" -I"$SRC/include" -isystem "$dir/include" \
		"${without[@]}" "$SRC/tests/abi/abi.c" 2>"$cache/$version.log"; then
		echo "ok declarations agree with CUDA $version"
	else
		echo "not ok declarations agree with CUDA $version"
		sed 's/^/# /' "$cache/$version.log" | head -20
		failed=1
	fi
done <<<"$toolkits"
exit $failed
