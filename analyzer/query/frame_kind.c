#include "frame_kind.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "label/owner.h"
#include "memtrace/base.h"

/*
 * Python code that is not the user's, by a part of its path and the function's name (NULL: any name). The first line that fits counts. A frame of a
 * library that fits no pattern is distinctive. PyTorch's optimizers, collectives and buckets are distinctive: they decide what to allocate. Layers
 * and their functions name the work. All other parts of PyTorch pass calls on: they are plumbing.
 */
#define PYTHON_LIST(X)                                                      \
	/* wrappers of any function, in any library */                      \
	X(PLUMBING, "", "wrapper")                                          \
	X(PLUMBING, "", "wrapped")                                          \
	X(PLUMBING, "", "wrapped_fn")                                       \
	X(PLUMBING, "", "wrapped_func")                                     \
	X(PLUMBING, "", "inner")                                            \
	X(PLUMBING, "", "_fn")                                              \
	X(PLUMBING, "", "new_forward")                                      \
	X(PLUMBING, "", "decorate_context")                                 \
	X(PLUMBING, "", "decorate_autocast")                                \
	X(PLUMBING, "", "decorate_fwd")                                     \
	X(PLUMBING, "", "decorate_bwd")                                     \
	X(PLUMBING, "", "__torch_function__")                               \
	X(PLUMBING, "", "__torch_dispatch__")                               \
	X(PLUMBING, "", "_call_impl")                                       \
	X(PLUMBING, "", "_wrapped_call_impl")                               \
	/* code that PyTorch or Triton compiled */                          \
	X(COMPILED, "/torchinductor_", NULL)                                \
	X(COMPILED, "/.triton/", NULL)                                      \
	X(COMPILED, "/triton/cache/", NULL)                                 \
	X(COMPILED, "/torch_compile_cache/", NULL)                          \
	X(COMPILED, "<eval_with_key>", NULL)                                \
	/* PyTorch */                                                       \
	X(PLUMBING, "/torch/optim/optimizer.py", NULL)                      \
	X(PLUMBING, "/torch/optim/lr_scheduler.py", NULL)                   \
	X(PLUMBING, "/torch/optim/swa_utils.py", NULL)                      \
	X(LIBRARY, "/torch/optim/", NULL)                                   \
	X(LIBRARY, "/torch/nn/utils/clip_grad.py", NULL)                    \
	X(LIBRARY, "/torch/nn/parallel/distributed.py", "_ddp_init_helper") \
	X(LIBRARY, "/torch/amp/grad_scaler.py", NULL)                       \
	X(LIBRARY, "/torch/cuda/amp/grad_scaler.py", NULL)                  \
	X(LIBRARY, "/torch/utils/data/", NULL)                              \
	X(PLUMBING, "/torch/distributed/c10d_logger.py", NULL)              \
	X(PLUMBING, "/torch/distributed/tensor/", NULL)                     \
	X(PLUMBING, "/torch/distributed/algorithms/", NULL)                 \
	X(LIBRARY, "/torch/distributed/", NULL)                             \
	X(PLUMBING, "/torch/nn/modules/module.py", NULL)                    \
	X(PLUMBING, "/torch/nn/modules/container.py", NULL)                 \
	X(PLUMBING, "/torch/nn/parallel/distributed.py", NULL)              \
	X(PLUMBING, "/torch/nn/parallel/data_parallel.py", NULL)            \
	X(PLUMBING, "/torch/nn/parallel/parallel_apply.py", NULL)           \
	X(PLUMBING, "/torch/nn/functional.py", "fn")                        \
	X(LAYER, "/torch/nn/", NULL)                                        \
	X(LAYER, "/torch/ao/nn/", NULL)                                     \
	X(LAYER, "/torch/distributions/", NULL)                             \
	X(LAYER, "/torch/functional.py", NULL)                              \
	X(PLUMBING, "/site-packages/torch/", NULL)                          \
	X(PLUMBING, "/dist-packages/torch/", NULL)                          \
	X(PLUMBING, "/torch/autograd/", NULL)                               \
	X(PLUMBING, "/torch/utils/", NULL)                                  \
	X(PLUMBING, "/torch/_", NULL)                                       \
	X(PLUMBING, "/torch/cuda/", NULL)                                   \
	X(PLUMBING, "/torch/fx/", NULL)                                     \
	X(PLUMBING, "/torch/amp/", NULL)                                    \
	X(PLUMBING, "/torch/jit/", NULL)                                    \
	X(PLUMBING, "/torch/overrides.py", NULL)                            \
	X(PLUMBING, "/torch/serialization.py", NULL)                        \
	X(PLUMBING, "/torch/storage.py", NULL)                              \
	/* frames that only pass on calls of layers and operations */       \
	X(PLUMBING, "/accelerate/hooks.py", NULL)                           \
	X(PLUMBING, "/accelerate/utils/operations.py", "forward")           \
	X(PLUMBING, "/accelerate/utils/operations.py", "__call__")          \
	X(PLUMBING, "/accelerate/utils/operations.py", "recursively_apply") \
	X(PLUMBING, "/accelerate/utils/operations.py", "honor_type")        \
	X(PLUMBING, "/transformers/utils/generic.py", NULL)                 \
	X(PLUMBING, "/deepspeed/utils/nvtx.py", NULL)                       \
	X(PLUMBING, "/site-packages/einops/", NULL)                         \
	X(PLUMBING, "/dist-packages/einops/", NULL)                         \
	X(PLUMBING, "/site-packages/jaxtyping/", NULL)                      \
	X(PLUMBING, "/site-packages/beartype/", NULL)                       \
	X(PLUMBING, "/site-packages/typeguard/", NULL)                      \
	X(PLUMBING, "/site-packages/decorator.py", NULL)                    \
	X(PLUMBING, "/site-packages/wrapt/", NULL)                          \
	X(PLUMBING, "-packages/ipykernel/", NULL)                           \
	X(PLUMBING, "-packages/ipykernel_launcher.py", NULL)                \
	X(PLUMBING, "-packages/IPython/", NULL)                             \
	X(PLUMBING, "-packages/traitlets/", NULL)                           \
	X(PLUMBING, "-packages/tornado/", NULL)                             \
	X(LIBRARY, "/site-packages/", NULL)                                 \
	X(LIBRARY, "/dist-packages/", NULL)

static const struct {
	enum frame_kind kind;
	const char *path, *function;
} python[] = {
#define PYTHON_ROW(kind, path, function) { FRAME_##kind, path, function },
	PYTHON_LIST(PYTHON_ROW)
#undef PYTHON_ROW
};

/* The first letters of native functions that are plumbing. */
static const char *const native[] = {
	"c10::",
	"at::",
	"torch::unwind",
	"torch::autograd::",
	"torch::detail::",
	"torch::jit::",
	"torch::dynamo::",
	"torch::CapturedTraceback",
	"torch::cuda::",
	"std::",
	"execute_native_thread_routine",
	"_start",
	"pthread_",
	"start_thread",
	"clone",
	"__",
	"THPVariable_",
	"THPEngine_",
	"THPFunction_",
	"THCPModule_",
	"_Py",
	"Py",
	"??", /* in a snapshot: a function without a name */
};

/*
 * C functions of CPython that call other functions, by their first letters. If an interpreter is linked into its program, a snapshot has these names
 * without files.
 */
static const char *const interpreter[] = {
	"pymain_",
	"pyrun_",
	"run_mod",
	"run_eval_code_obj",
	"exec_code_in_module",
	"builtin_",
	"do_call_core",
	"call_function",
	"call_trampoline",
	"call_attribute",
	"call_unbound",
	"object_vacall",
	"vectorcall_",
	"cfunction_",
	"function_code_fastcall",
	"method_vectorcall",
	"method_call",
	"method_get",
	"method_dealloc",
	"instancemethod_call",
	"classmethoddescr_call",
	"classmethod_",
	"wrapperdescr_",
	"wrapper_call",
	"wrap_call",
	"wrap_init",
	"wrap_next",
	"wrap_unaryfunc",
	"wrap_binaryfunc",
	"wrap_richcmpfunc",
	"slot_",
	"type_call",
	"type_new",
	"object_init",
	"object_new",
	"object_dealloc",
	"subtype_",
	"tupledealloc",
	"tuple_dealloc",
	"list_",
	"dict_",
	"dictiter_",
	"frame_dealloc",
	"func_dealloc",
	"cell_dealloc",
	"property_",
	"getset_get",
	"member_get",
	"descr_get",
	"func_descr_get",
	"partial_",
	"bounded_lru_cache_wrapper",
	"infinite_lru_cache_wrapper",
	"uncached_lru_cache_wrapper",
	"lru_cache_call",
	"context_run",
	"gen_send_ex",
	"gen_iternext",
	"gen_close",
	"gen_dealloc",
	"coro_",
	"async_gen_",
	"task_step",
	"task_wakeup",
	"TaskStepMethWrapper_",
	"binary_op",
	"binary_iop",
	"ternary_op",
	"ternary_iop",
	"map_next",
	"map_vectorcall",
	"filter_next",
	"zip_next",
	"enum_next",
	"starmap_next",
	"chain_next",
	"islice_next",
	"thread_run",
	"t_bootstrap",
	"pythread_wrapper",
	"gc_collect",
	"delete_garbage",
	"import_find_and_load",
};

/* Folders in CPython's source tree: "/usr/src/python-3.10.14/Objects/call.c", "../Python/ceval.c". */
static const char *const interpreter_folders[] = { "Python/", "Objects/", "Modules/", "Include/", "Parser/" };

/* Native modules that distinguish nothing: the C library and the interpreter, by the first letters of their files' names. */
static const char *const modules[] = { "libc.so",  "libc-",     "libpthread",  "libm.so",     "libdl",      "libstdc++",
				       "libgcc_s", "ld-linux",  "libpython",   "python",      "libc10",     "libtorch",
				       "libgomp",  "libmemrec", "libjemalloc", "libtcmalloc", "libmimalloc" };

static int begins_with_any(const char *text, const char *const *list, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strncmp(text, list[i], strlen(list[i])))
			return 1;
	return 0;
}

int frame_is_nameless_module(const struct callstack_frame *frame)
{
	return begins_with_any(text_base_name(frame->module), modules, MT_ARRAY_SIZE(modules)) ||
	       owner_passes_on(frame->module);
}

/*
 * Returns the path in CPython's source tree: after "python-3.10.14/" or "/cpython.../"; without such a folder, after the leading "../". NULL: the
 * path ends with the folder's name.
 */
static const char *interpreter_tree(const char *file)
{
	const char *at = strstr(file, "ython-3."), *end;

	if (!at)
		at = strstr(file, "/cpython");
	if (at) {
		end = strchr(at + 1, '/');
		return end ? end + 1 : NULL;
	}
	while (!strncmp(file, "../", 3) || !strncmp(file, "./", 2))
		file = strchr(file, '/') + 1;
	return file;
}

/* Whether the frame is the interpreter's, by the path of its source; without path and module, by the function's name. */
static int is_interpreter(const struct callstack_frame *frame)
{
	const char *path = interpreter_tree(frame->file);

	if (*frame->file)
		return path && begins_with_any(path, interpreter_folders, MT_ARRAY_SIZE(interpreter_folders));
	return !*frame->module && !strpbrk(frame->function, ":(") &&
	       begins_with_any(frame->function, interpreter, MT_ARRAY_SIZE(interpreter));
}

/* Skips the return type in the name of a template function: "void at::f<int>(int)" becomes "at::f<int>(int)". */
static const char *without_type(const char *function)
{
	const char *blank = function + strcspn(function, " <(");

	return *blank == ' ' ? blank + 1 : function;
}

int frame_is_native_plumbing(const struct callstack_frame *frame)
{
	const char *bare = without_type(frame->function);

	return !*frame->function || begins_with_any(frame->function, native, MT_ARRAY_SIZE(native)) ||
	       (bare != frame->function && begins_with_any(bare, native, MT_ARRAY_SIZE(native))) ||
	       frame_is_nameless_module(frame) || is_interpreter(frame);
}

/* ---- Python ---- */

/* Returns the last part of a qualified name, such as "main.<locals>.wrapper". */
static const char *last_name(const char *function)
{
	const char *dot = strrchr(function, '.');

	return dot ? dot + 1 : function;
}

static int is_line_of(const char *path, const char *function, const char *file, const char *name)
{
	return strstr(file, path) && (!function || !strcmp(name, function));
}

/* Whether PyTorch compiled the file: its name is 52 digits to the base 32, "cab...xyz.py". */
static int is_hash(const char *file)
{
	const char *base = text_base_name(file);
	size_t digits = strspn(base, "abcdefghijklmnopqrstuvwxyz234567");

	return digits == 52 && !strcmp(base + digits, ".py");
}

/* Whether the file is in the standard library, "/usr/lib/python3.11/contextlib.py", and not in site-packages. */
static int is_standard(const char *file)
{
	const char *lib = strstr(file, "/lib/python");

	if (!lib)
		lib = strstr(file, "/lib64/python");
	return lib && isdigit((unsigned char)lib[strcspn(lib, "n") + 1]) && !strstr(file, "-packages/");
}

/* Whether the code was typed and has no file: a notebook's cell, standard input, python -c. */
static int is_typed(const char *file, const char *name)
{
	return !strncmp(file, "<ipython-input-", 15) || !strcmp(file, "<stdin>") || !strcmp(file, "<console>") ||
	       (!strcmp(file, "<string>") && !strcmp(name, "<module>"));
}

static enum frame_kind kind_of_python(const char *file, const char *function)
{
	int is_foreign = strstr(file, "-packages/") != NULL || strstr(file, "/torch/") != NULL;
	const char *name = last_name(function);
	size_t i;

	if (!*file || is_standard(file))
		return FRAME_PLUMBING;
	if (is_hash(file))
		return FRAME_COMPILED;
	for (i = 0; i < MT_ARRAY_SIZE(python); i++)
		if ((is_foreign || python[i].kind == FRAME_COMPILED) &&
		    is_line_of(python[i].path, python[i].function, file, name))
			return python[i].kind;
	return *file != '<' || is_typed(file, name) ? FRAME_USER : FRAME_PLUMBING;
}

/* Returns the kind of a native frame. Libraries, the interpreter, and the compiler's code around main are not the user's. */
static enum frame_kind kind_of_native(const struct callstack_frame *frame)
{
	const char *name = text_base_name(frame->module);
	enum frame_kind module = kind_of_python(frame->module, "");

	if (module == FRAME_COMPILED)
		return FRAME_COMPILED;
	if (!*name || (!*frame->file && !*frame->function) || !strcmp(frame->function, "_start"))
		return FRAME_PLUMBING;
	if ((!strncmp(name, "lib", 3) && strstr(name, ".so")) || !strncmp(name, "python", 6) ||
	    !strncmp(name, "ld-", 3))
		return FRAME_PLUMBING;
	if (module != FRAME_USER || (*frame->file && kind_of_python(frame->file, "") != FRAME_USER))
		return FRAME_PLUMBING;
	return FRAME_USER;
}

enum frame_kind frame_kind(const struct callstack_frame *frame)
{
	if (frame->elided)
		return FRAME_PLUMBING;
	return frame->native ? kind_of_native(frame) : kind_of_python(frame->file, frame->function);
}

int frame_is_nameless(const struct callstack_frame *frame)
{
	return !*frame->file || *frame->file == '<' || is_standard(frame->file) ||
	       strstr(frame->file, "/torch/autograd/") != NULL || strstr(frame->file, "/torch/utils/") != NULL ||
	       strstr(frame->file, "/torch/_") != NULL;
}

/* ---- names of files ---- */

/* Returns the part of a library's path after the folder of packages, or from "torch/" on; NULL: no such part. */
static const char *package_of(const char *file)
{
	const char *packages, *next;

	if (kind_of_python(file, "") == FRAME_USER)
		return NULL;
	packages = strstr(file, "-packages/");
	while (packages && (next = strstr(packages + 1, "-packages/")))
		packages = next;
	if (packages)
		return packages + strlen("-packages/");
	packages = strstr(file, "/torch/");
	return packages ? packages + 1 : NULL;
}

/* Writes both ends of a long path: "transformers/.../modeling_llama.py". */
static void print_package(char *out, size_t size, const char *path)
{
	const char *first = strchr(path, '/'), *base = text_base_name(path);
	const char *second = first ? strchr(first + 1, '/') : NULL;

	if (second && strchr(second + 1, '/'))
		snprintf(out, size, "%.*s/.../%s", (int)(first - path), path, base);
	else
		snprintf(out, size, "%.*s", (int)size - 1, path);
}

char *frame_file_name(char *out, size_t size, const char *file)
{
	const char *package = package_of(file), *base = text_base_name(file);
	int digits = (int)strspn(base, "0123456789");

	if (package)
		print_package(out, size, package);
	else if (!strncmp(file, "<ipython-input-", 15) && isdigit((unsigned char)file[15]))
		snprintf(out, size, "In [%.*s]", (int)strspn(file + 15, "0123456789"), file + 15);
	else if (strstr(file, "/ipykernel_") && digits && !strcmp(base + digits, ".py"))
		snprintf(out, size, "cell %.*s", digits, base);
	else
		snprintf(out, size, "%.*s", (int)size - 1, base);
	return out;
}
