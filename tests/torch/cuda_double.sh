#!/usr/bin/env bash
# cuda_double.sh BUILD PYTHON FOLDER - makes FOLDER/libcudart.so of cuda_double.c, for the PyTorch of PYTHON. PyTorch asks for more
# functions of CUDA than the double has: each of these does nothing and succeeds. FOLDER gets the stand-in's libcuda.so.1 and no
# NVML: PyTorch runs without NVML. The script fails where the wheels bring no header files of CUDA.
set -eu
build=$1 folder=$3
here=$(cd "$(dirname "$0")" && pwd)
site=$("$2" -c 'import os, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))')
header=$(find "$site"/nvidia -name cuda_runtime_api.h -print -quit)
[ -n "$header" ] || { echo "no header files of CUDA below $site"; exit 1; }

mkdir -p "$folder"
ln -sf "$build/standin/libcuda.so.1" "$folder"
${CC:-cc} -O1 -fPIC -w -isystem "$(dirname "$header")" -c "$here/cuda_double.c" -o "$folder/double.o"
names() { nm "$@" | awk '{ sub(/@.*/, "", $NF); print $NF }' | grep -E '^(__cuda|cuda|cublas|cupti)' | sort -u; }
names -D --undefined-only "$site"/torch/lib/lib{c10_cuda,torch_cuda,torch_cuda_linalg,torch_cpu,torch_python}.so >"$folder/wanted"
{ names --defined-only "$folder/double.o"; names -D --defined-only "$build/standin/libcupti.so.13"; } | sort -u >"$folder/defined"
comm -23 "$folder/wanted" "$folder/defined" | sed 's/.*/int &(void) { return 0; }/' >"$folder/rest.c"
${CC:-cc} -shared -fPIC -w "$folder/double.o" "$folder/rest.c" -Wl,-soname,libcudart_double.so \
	"$build/standin/libcuda.so.1" -o "$folder/libcudart.so"
