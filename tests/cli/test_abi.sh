# Compares the declarations of CUDA, CUPTI and NVTX, which are written by hand, with the headers of the installed
# toolkit.
. "$SRC/tests/cli/lib.sh"

# The toolkit's folder: asked for, in a usual place, or around nvcc.
toolkit() {
	local nvcc dir
	nvcc=$(command -v nvcc) && nvcc=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
	for dir in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /opt/cuda "$nvcc"; do
		[ -n "$dir" ] && [ -f "$dir/include/cuda.h" ] && echo "$dir" && return
	done
	return 1
}

cuda=$(toolkit) || skip "no CUDA toolkit here"

# CUPTI's headers lie beside the others or in a folder of their own.
include=(-isystem "$cuda/include" -isystem "$cuda/extras/CUPTI/include")
compile() { ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -fsyntax-only -I"$SRC" -I"$SRC/include" "${include[@]}" "$@"; }

echo '#include <cupti.h>' >cupti.c
compile cupti.c 2>/dev/null || skip "the toolkit has no CUPTI"

check "declarations agree with the toolkit" compile "$SRC/tests/abi/abi.c"

# The check finds a wrong declaration: changed NAME FILE SED-EXPRESSION WORD-OF-THE-COMPLAINT.
changed() {
	mkdir "$1" && cp -r "$SRC/recorder" "$1" && sed -i "$3" "$1/$2" || return
	! cmp -s "$SRC/$2" "$1/$2" || return
	! ${CC:-cc} -std=gnu11 -fsyntax-only -I"$1" -I"$SRC/include" "${include[@]}" "$SRC/tests/abi/abi.c" 2>err &&
		grep -q "$4" err
}
entries=recorder/agent/cuda/driver_entries.h abi=recorder/agent/cuda/cuda_abi.h
check "a wrong id is noticed" changed id $entries 's/cuMemAlloc_v2, 243/cuMemAlloc_v2, 242/' cuMemAlloc_v2
check "a wrong argument is noticed" changed argument recorder/agent/cuda/driver_args.h 's/size_t, offset/int, offset/' offset
check "a class whose arguments lie elsewhere is noticed" \
	changed class $entries 's/611, FROM_POOL/611, REGISTER/' 'no member named'
check "a wrong member is noticed" changed member $abi 's/uint32_t context_uid;/uint64_t context_uid;/' context_uid
