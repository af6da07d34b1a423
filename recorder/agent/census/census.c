/* census.c - see agent_census.h. Functions of Python's are called with the GIL only, but for the first two of the list. */
#include "agent_census.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include "agent/life/agent.h"
#include "agent/loaded/loaded.h"
#include "agent/stacks/own_stack.h"
#include "agent/stacks/python_layout.h"
#include "agent/stacks/stack_python.h"
#include "memtrace/base.h"
#include "memtrace/clock.h"

#define LOOK_EVERY 32u          /* tensors */
#define PATIENCE_NS 5000000000u /* for Python's main thread, then the trace says that it is busy */
#define REFRESH_S 60u   /* with --keep, all is reported again after this time, because the report may be dropped */
#define NAMES_OFTEN 16u /* tellings; then the time between two doubles each time, at most NAMES_DOUBLED_MAX times */
#define NAMES_DOUBLED_MAX 16u
#define MARK "memrec census" /* key in the main thread's extension dictionary: census.py is loaded */
#define MODELS_MAX 2         /* looks at models while no optimizer steps; the second look waits six times as long */

/* Declarations as in Python.h. */
enum { FILE_INPUT = 257, METH_VARARGS = 1, METH_NOARGS = 4, METH_O = 8 };

typedef void object;

struct method {
	const char *name;
	object *(*function)(object *self, object *arguments);
	int flags;
	const char *help;
};

/* X(name, result, arguments). Python 3.9 to 3.14 have all of them, with these arguments; `...` is as in Python.h. */
#define PYTHON_LIST(X)                                                                          \
	X(Py_IsInitialized, int, (void))                                                        \
	X(Py_AddPendingCall, int, (int (*function)(void *), void *context))                     \
	X(Py_BuildValue, object *, (const char *format, ...))                                   \
	X(Py_CompileString, object *, (const char *text, const char *file, int start))          \
	X(Py_DecRef, void, (object *))                                                          \
	X(PyArg_ParseTuple, int, (object * arguments, const char *format, ...))                 \
	X(PyCFunction_NewEx, object *, (struct method *, object * self, object * module))       \
	X(PyDict_GetItemString, object *, (object *, const char *key))                          \
	X(PyDict_New, object *, (void))                                                         \
	X(PyDict_SetItemString, int, (object *, const char *key, object *value))                \
	X(PyErr_Clear, void, (void))                                                            \
	X(PyErr_ExceptionMatches, int, (object *))                                              \
	X(PyEval_EvalCode, object *, (object * code, object * globals, object * locals))        \
	X(PyEval_GetBuiltins, object *, (void))                                                 \
	X(PyImport_GetModuleDict, object *, (void))                                             \
	X(PyList_Append, int, (object *, object * item))                                        \
	X(PyList_GetItem, object *, (object *, intptr_t))                                       \
	X(PyList_New, object *, (intptr_t))                                                     \
	X(PyList_Size, intptr_t, (object *))                                                    \
	X(PyObject_CallFunctionObjArgs, object *, (object *, ...))                              \
	X(PyObject_CallMethod, object *, (object *, const char *name, const char *format, ...)) \
	X(PySys_GetObject, object *, (const char *name))                                        \
	X(PyThreadState_GetDict, object *, (void))                                              \
	X(PyType_IsSubtype, int, (object *, object *))                                          \
	X(PyUnicode_AsUTF8, const char *, (object *))

enum stage {
	IDLE = 0, /* not asked, or PyTorch is not loaded yet */
	LOOKING,  /* a thread looks */
	ASKED,    /* Python's main thread will come by */
	ON,       /* the hook is registered */
	OFF,      /* for good */
};

static struct {
	_Atomic uint32_t stage; /* enum stage */
	_Atomic uint32_t tensors;
	_Atomic uint64_t since;   /* ns: when the stage began */
	_Atomic uint32_t stepped; /* an optimizer was seen */
	_Atomic uint32_t models;  /* how often models were looked at */
	_Atomic uint32_t loaded;  /* 1: census.py has run */
	_Atomic uint32_t asked;   /* 1: names were asked for, and Python's main thread has not come by */
	_Atomic uint32_t asks;    /* how often names were asked for */
	_Atomic uint64_t named;   /* ns: when names were asked for last; 0: never */
	uint32_t untold;          /* agent_untold when the telling began; with the GIL only */
	struct {
#define PYTHON_MEMBER(name, result, arguments) result(*name) arguments;
		PYTHON_LIST(PYTHON_MEMBER)
#undef PYTHON_MEMBER
	} python;
	object **recursion_error, **memory_error;
	object *globals; /* globals of census.py after it has run; with the GIL only */
} census;

static void set_stage(enum stage stage)
{
	atomic_store(&census.since, mt_clock_ns());
	atomic_store_explicit(&census.stage, stage, memory_order_release);
}

static void give_up(enum mt_source_state state, const char *why)
{
	agent_source(MT_SOURCE_CENSUS, state, why);
	set_stage(OFF);
}

/* ---- with the GIL ---- */

static object *none(void)
{
	return census.python.Py_BuildValue("");
}

/* 1: sys.gettrace or sys.getprofile (`function`) returns something other than None. */
static int is_set(const char *function)
{
	object *get = census.python.PySys_GetObject(function),
	       *is = get ? census.python.PyObject_CallFunctionObjArgs(get, NULL) : NULL;
	object *nothing = none();
	int set = is && is != nothing;

	if (!is)
		census.python.PyErr_Clear();
	else
		census.python.Py_DecRef(is);
	census.python.Py_DecRef(nothing);
	return set;
}

/* 1: Python code of the agent may run in this thread now. */
static int is_welcome(void)
{
	return agent_is_recording() && !agent_options()->no_census && !is_set("gettrace") && !is_set("getprofile");
}

/*
 * Calls a function of census.py; `argument` may be NULL. The function handles its own errors. An exception that comes
 * out belongs to the program, such as from a signal handler, and is passed on: NULL.
 */
static object *call(const char *function, object *argument)
{
	object *callee = census.python.PyDict_GetItemString(census.globals, function), *result;

	if (!callee)
		return none();
	result = census.python.PyObject_CallFunctionObjArgs(callee, argument, NULL);
	if (result || !(census.python.PyErr_ExceptionMatches(*census.recursion_error) ||
			census.python.PyErr_ExceptionMatches(*census.memory_error)))
		return result;
	census.python.PyErr_Clear(); /* there was no room for the call itself */
	return none();
}

/* enter(optimizer): called after each step of an optimizer. */
static object *after_step(object *self MT_UNUSED, object *optimizer)
{
	atomic_store_explicit(&census.stepped, 1, memory_order_relaxed);
	agent_follow(MT_OPTIMIZER_STEP);
	return is_welcome() ? call("after_step", optimizer) : none();
}

/* "cpu", "cuda": enum mt_device_kind; -1: another. */
static int device_kind(const char *type)
{
	if (!strcmp(type, "cpu"))
		return MT_DEVICE_CPU;
	return strcmp(type, "cuda") ? -1 : MT_DEVICE_CUDA;
}

/* tell(flags, name, text, device, index, address, bytes): 1: added to the ring. */
static object *tell(object *self MT_UNUSED, object *arguments)
{
	struct ring_event event = { .kind = MT_CENSUS };
	const char *name, *text, *device;
	unsigned long long address, bytes;
	int index;

	if (!census.python.PyArg_ParseTuple(arguments, "IsssiKK", &event.flags, &name, &text, &device, &index, &address,
					    &bytes))
		return NULL;
	event.device_type = (int8_t)device_kind(device);
	event.device_index = event.device_type == MT_DEVICE_CUDA ? index : event.device_type == MT_DEVICE_CPU ? 0 : -1;
	event.addr = address;
	event.size = bytes;
	return census.python.Py_BuildValue("i", agent_tell(&event, name, text));
}

static object *type_of(object *it)
{
	object *type;

	memcpy(&type, (const uint8_t *)it + PYTHON_OBJECT_TYPE, sizeof(type));
	return type;
}

/* begin_names(): a telling of names begins. 0: there is no module on a recorded stack, and no name is wanted. */
static object *begin_names(object *self MT_UNUSED, object *arguments MT_UNUSED)
{
	census.untold = agent_untold();
	return census.python.Py_BuildValue("i", agent_has_instances());
}

/* tell_name(module, name, model, telling): 1: added to the ring. */
static object *tell_name(object *self MT_UNUSED, object *arguments)
{
	struct ring_event event = { .kind = MT_INSTANCE_NAME, .device_type = -1, .device_index = -1 };
	const char *name, *model;
	object *module;
	int taken;

	if (!census.python.PyArg_ParseTuple(arguments, "OssI", &module, &name, &model, &event.flags))
		return NULL;
	event.addr = (uintptr_t)module;
	taken = agent_tell(&event, name, model);
	if (taken)
		agent_told(module, type_of(module));
	return census.python.Py_BuildValue("i", taken);
}

/* end_names(telling, count): the end of a list of `count` names. telling 0: the names are those of the list before. */
static object *end_names(object *self MT_UNUSED, object *arguments)
{
	struct ring_event event = { .kind = MT_INSTANCE_NAME, .device_type = -1, .device_index = -1 };
	unsigned long long count;

	if (!census.python.PyArg_ParseTuple(arguments, "IK", &event.flags, &count))
		return NULL;
	event.size = count;
	if (!event.flags || agent_tell(&event, "", ""))
		agent_all_told(census.untold);
	return none();
}

/* trouble(text): something went wrong in census.py. */
static object *trouble(object *self MT_UNUSED, object *text)
{
	const char *words = census.python.PyUnicode_AsUTF8(text);

	if (!words)
		return NULL;
	agent_source(MT_SOURCE_CENSUS, MT_SOURCE_PARTLY, words);
	return none();
}

/* before(what, device, address, size, total, reserved): a birth from before the recording. 1: added to the ring. */
static object *tell_before(object *self MT_UNUSED, object *arguments)
{
	struct ring_event event = { .device_type = MT_DEVICE_CUDA };
	unsigned long long address, size, total, reserved;
	unsigned int what;

	if (!census.python.PyArg_ParseTuple(arguments, "IiKKKK", &what, &event.device_index, &address, &size, &total,
					    &reserved))
		return NULL;
	event.kind = (uint8_t)what;
	event.size = size;
	event.total = total;
	event.reserved = what == MT_TENSOR_ALLOC ? reserved : 0;
	if (what == MT_VMM_CREATE || what == MT_VMM_MAP || what == MT_VMM_RELEASE)
		event.handle = address;
	if (what != MT_VMM_CREATE && what != MT_VMM_RELEASE)
		event.addr = address;
	return census.python.Py_BuildValue("i", agent_before(&event));
}

/* life(): differs in a forked child. */
static object *get_life(object *self MT_UNUSED, object *arguments MT_UNUSED)
{
	return census.python.Py_BuildValue("K", (unsigned long long)agent_life());
}

/*
 * Returns a list of the objects whose type is `class` or derived from it. Runs no code of the objects and lets no other
 * thread run.
 */
static object *select_objects(object *all, object *class)
{
	intptr_t i, count = census.python.PyList_Size(all);
	object *found = census.python.PyList_New(0), *item;
	int failed = !found;

	for (i = 0; i < count && !failed; i++) {
		item = census.python.PyList_GetItem(all, i);
		if (census.python.PyType_IsSubtype(type_of(item), class))
			failed = census.python.PyList_Append(found, item);
	}
	if (failed && found)
		census.python.Py_DecRef(found);
	return failed ? NULL : found;
}

/* find_objects(class) */
static object *find_objects(object *self MT_UNUSED, object *class)
{
	object *gc = census.python.PyDict_GetItemString(census.python.PyImport_GetModuleDict(), "gc"), *all, *found;

	if (!gc)
		return census.python.PyList_New(0);
	all = census.python.PyObject_CallMethod(gc, "get_objects", NULL);
	if (!all)
		return NULL;
	found = select_objects(all, class);
	census.python.Py_DecRef(all);
	return found;
}

static struct method methods[] = {
	{ "enter", after_step, METH_O, NULL },
	{ "tell", tell, METH_VARARGS, NULL },
	{ "begin_names", begin_names, METH_NOARGS, NULL },
	{ "tell_name", tell_name, METH_VARARGS, NULL },
	{ "end_names", end_names, METH_VARARGS, NULL },
	{ "trouble", trouble, METH_O, NULL },
	{ "tell_before", tell_before, METH_VARARGS, NULL },
	{ "life", get_life, METH_NOARGS, NULL },
	{ "find_objects", find_objects, METH_O, NULL },
};

/* Puts `value`, which may be NULL, into `globals` and drops its reference. 1; 0: a Python error is set. */
static int put(object *globals, const char *name, object *value)
{
	int failed = !value || census.python.PyDict_SetItemString(globals, name, value);

	if (value)
		census.python.Py_DecRef(value);
	return !failed;
}

static int fill(object *globals)
{
	uint64_t refresh = agent_options()->keep ? REFRESH_S : 0;
	size_t i;
	int fine = put(globals, "refresh", census.python.Py_BuildValue("K", (unsigned long long)refresh)) &&
		   !census.python.PyDict_SetItemString(globals, "modules", census.python.PyImport_GetModuleDict()) &&
		   !census.python.PyDict_SetItemString(globals, "__builtins__", census.python.PyEval_GetBuiltins());

	for (i = 0; i < MT_ARRAY_SIZE(methods) && fine; i++)
		fine = put(globals, methods[i].name, census.python.PyCFunction_NewEx(&methods[i], NULL, NULL));
	return fine;
}

static int put_mark(void)
{
	object *own = census.python.PyThreadState_GetDict(), *nothing = none();
	int failed = !own || !nothing || census.python.PyDict_SetItemString(own, MARK, nothing);

	if (nothing)
		census.python.Py_DecRef(nothing);
	return !failed;
}

/*
 * On Python's main thread. 0: the program has ended the interpreter of `globals` and started another, so the old
 * objects are dead.
 */
static int is_alive(void)
{
	object *own = census.python.PyThreadState_GetDict();

	if (own && census.python.PyDict_GetItemString(own, MARK))
		return 1;
	atomic_store(&census.loaded, 0);
	give_up(MT_SOURCE_OFF, "the program has started another interpreter");
	return 0;
}

/* Runs census.py, which only defines functions. 1: done. */
static int load(void)
{
	object *globals = census.python.PyDict_New(), *code = NULL, *result = NULL;

	if (globals && fill(globals))
		code = census.python.Py_CompileString(census_code, "<memrec census>", FILE_INPUT);
	if (code)
		result = census.python.PyEval_EvalCode(code, globals, globals);
	if (code)
		census.python.Py_DecRef(code);
	if (!result || !put_mark()) {
		census.python.PyErr_Clear();
		if (result)
			census.python.Py_DecRef(result);
		if (globals)
			census.python.Py_DecRef(globals);
		return 0;
	}
	census.python.Py_DecRef(result);
	census.globals = globals;
	atomic_store_explicit(&census.loaded, 1, memory_order_release);
	return 1;
}

/* Handles the answer of begin(). None: later; "": done; else the reason for not starting. */
static void take_answer(object *answer)
{
	object *nothing = none();
	const char *why = answer == nothing ? NULL : census.python.PyUnicode_AsUTF8(answer);

	census.python.Py_DecRef(nothing);
	if (!why) {
		census.python.PyErr_Clear();
		set_stage(IDLE);
	} else if (*why) {
		give_up(MT_SOURCE_OFF, why);
	} else {
		agent_source(MT_SOURCE_CENSUS, MT_SOURCE_ON, "");
		set_stage(ON);
	}
}

/* On Python's main thread. -1: with an exception of the program's. */
static int begin(void *context MT_UNUSED)
{
	object *answer;

	if (census.globals && !is_alive())
		return 0;
	if (!is_welcome()) {
		set_stage(IDLE);
		return 0;
	}
	if (!census.globals && !load()) {
		give_up(MT_SOURCE_FAILED, "this Python could not run memrec's census code");
		return 0;
	}
	answer = call("begin", NULL);
	if (!answer) {
		set_stage(IDLE);
		return -1;
	}
	take_answer(answer);
	census.python.Py_DecRef(answer);
	return 0;
}

static void end_before(const char *why)
{
	struct ring_event event = { .kind = MT_MARK, .value = RING_BEFORE_ENDS, .device_type = -1, .device_index = -1 };

	agent_before(&event);
	if (!*why)
		return;
	agent_source(MT_SOURCE_TENSORS_CUDA, MT_SOURCE_ON, "");
	agent_source_note(MT_SOURCE_TENSORS_CUDA, why);
}

/* On Python's main thread. -1: with an exception of the program's. */
static int look_at_before(void *context MT_UNUSED)
{
	const char *why = "memory from before the recording is unknown: the main thread is traced, or --no-census";
	object *answer = NULL;

	if (!(census.globals ? is_alive() : is_welcome() && load()) || !is_welcome()) {
		end_before(agent_has_cuda() ? why : "");
		return 0;
	}
	answer = call("before", NULL);
	why = answer ? census.python.PyUnicode_AsUTF8(answer) : "memory from before the recording is unknown";
	if (answer && !why)
		census.python.PyErr_Clear();
	end_before(why ? why : "");
	if (!answer)
		return -1;
	census.python.Py_DecRef(answer);
	return 0;
}

/* On Python's main thread. -1: with an exception of the program's. */
static int look_at_models(void *context MT_UNUSED)
{
	object *answer;

	if (!is_alive())
		return 0;
	answer = is_welcome() ? call("models", NULL) : none();
	if (!answer)
		return -1;
	census.python.Py_DecRef(answer);
	return 0;
}

/* On Python's main thread. -1: with an exception of the program's. */
static int look_at_names(void *context MT_UNUSED)
{
	object *answer;

	atomic_store(&census.asked, 0);
	if (!is_alive())
		return 0;
	answer = is_welcome() ? call("names", NULL) : none();
	if (!answer)
		return -1;
	census.python.Py_DecRef(answer);
	return 0;
}

/* ---- without ---- */

static int find_functions(void)
{
	int found = 1;

#define PYTHON_FIND(name, result, arguments)                          \
	census.python.name = (result(*) arguments)loaded_find(#name); \
	found = found && census.python.name;
	PYTHON_LIST(PYTHON_FIND)
#undef PYTHON_FIND
	census.recursion_error = loaded_find("PyExc_RecursionError");
	census.memory_error = loaded_find("PyExc_MemoryError");
	return found && census.recursion_error && census.memory_error;
}

/* 1: an interpreter can be asked. */
static int find_python(void)
{
	const char *why;
	uint32_t version;

	switch (stack_python_find(&version, &why)) {
	case PYTHON_READY:
		break;
	case PYTHON_REFUSED:
		give_up(MT_SOURCE_OFF, why);
		return 0;
	default:
		return 0;
	}
	if (!census.python.Py_IsInitialized && !find_functions()) {
		give_up(MT_SOURCE_OFF, "this Python does not export what the census needs");
		return 0;
	}
	return census.python.Py_IsInitialized();
}

/* On a stack of the agent, one thread at a time. */
static void ask(void *context MT_UNUSED)
{
	set_stage(ASKED);
	if (!find_python() || census.python.Py_AddPendingCall(begin, NULL)) {
		if (atomic_load(&census.stage) == ASKED)
			set_stage(IDLE);
	}
}

static void ask_for_models(void *context MT_UNUSED)
{
	if (census.python.Py_IsInitialized() && !census.python.Py_AddPendingCall(look_at_models, NULL))
		atomic_fetch_add(&census.models, 1);
}

static void ask_for_names(void *context MT_UNUSED)
{
	uint32_t idle = 0;

	if (!census.python.Py_IsInitialized() || !atomic_compare_exchange_strong(&census.asked, &idle, 1))
		return;
	atomic_fetch_add(&census.asks, 1);
	atomic_store(&census.named, mt_clock_ns());
	if (census.python.Py_AddPendingCall(look_at_names, NULL))
		atomic_store(&census.asked, 0);
}

static void ask_for_before(void *context)
{
	int *asked = context;

	*asked = find_python() && !census.python.Py_AddPendingCall(look_at_before, NULL);
}

/* On Python's main thread, which begins a recording of memrec start. -1: with an exception of the program's. */
static int begin_telling(void *context)
{
	void (*ready)(void);

	if (!agent_start_telling())
		return 0;
	memcpy(&ready, &context, sizeof(ready));
	ready();
	return look_at_before(NULL);
}

struct beginning {
	void (*ready)(void);
	int asked;
};

static void ask_to_begin(void *context)
{
	struct beginning *beginning = context;
	void *ready;

	memcpy(&ready, &beginning->ready, sizeof(ready));
	beginning->asked = find_python() && !census.python.Py_AddPendingCall(begin_telling, ready);
}

int census_ask_to_begin(void (*ready)(void))
{
	struct beginning beginning = { ready, 0 };

	if (!agent_options()->no_census)
		agent_work(ask_to_begin, &beginning);
	return beginning.asked;
}

void census_before(void)
{
	uint32_t off = OFF;
	int asked = 0;

	atomic_compare_exchange_strong(&census.stage, &off, IDLE); /* another recording, maybe by other options */
	atomic_store(&census.models, 0);
	atomic_store(&census.stepped, 0);
	atomic_store(&census.asked, 0);
	agent_work(ask_for_before, &asked);
	if (!asked)
		end_before(agent_has_cuda() ? "memory from before the recording is unknown: no Python can be asked"
					    : "");
}

static uint64_t names_gap_ns(void)
{
	return agent_options()->names_ms * (MT_NSEC_PER_SEC / 1000);
}

/*
 * 1: modules without a reported name have run. The time between two lists of names keeps their cost low in programs
 * that create modules all the time.
 */
static int are_names_due(void)
{
	uint64_t named = atomic_load_explicit(&census.named, memory_order_relaxed), gap = names_gap_ns();
	uint32_t asks = atomic_load_explicit(&census.asks, memory_order_relaxed);

	if (!atomic_load_explicit(&census.loaded, memory_order_acquire) || !agent_untold())
		return 0;
	if (asks > NAMES_OFTEN)
		gap <<= asks - NAMES_OFTEN < NAMES_DOUBLED_MAX ? asks - NAMES_OFTEN : NAMES_DOUBLED_MAX;
	return !named || mt_clock_ns() - named > gap;
}

static void start_asking(void)
{
	uint32_t idle = IDLE;

	if (agent_options()->no_census)
		give_up(MT_SOURCE_OFF, "not asked for (--no-census)");
	else if (atomic_compare_exchange_strong(&census.stage, &idle, LOOKING) && !agent_work(ask, NULL))
		set_stage(IDLE);
}

static void look_after(uint32_t stage, uint64_t since)
{
	uint64_t after = agent_options()->census_ms * (MT_NSEC_PER_SEC / 1000);
	uint32_t models = atomic_load(&census.models);

	if (stage == ASKED && since > PATIENCE_NS)
		agent_source(MT_SOURCE_CENSUS, MT_SOURCE_OFF,
			     "Python's main thread has not run the census yet: it waits in C code");
	else if (stage == ON && models < MODELS_MAX && !atomic_load(&census.stepped) &&
		 since > (models ? 6 : 1) * after)
		agent_work(ask_for_models, NULL);
}

/* 1: the caller's tensor is one of LOOK_EVERY. Threads may count over each other: to count in turns took longer than all the rest. */
static int is_time_to_look(void)
{
	uint32_t tensors = atomic_load_explicit(&census.tensors, memory_order_relaxed);

	atomic_store_explicit(&census.tensors, tensors + 1, memory_order_relaxed);
	return tensors % LOOK_EVERY == 0;
}

/* 1: there is nothing more to ask, whatever tensors come. */
static int is_over(uint32_t stage)
{
	return stage == LOOKING || (stage == OFF && !atomic_load_explicit(&census.loaded, memory_order_relaxed));
}

static __attribute__((noinline)) void look_now(uint32_t stage)
{
	int saved = errno;

	if (!agent_is_recording())
		return;
	if (are_names_due())
		agent_work(ask_for_names, NULL);
	if (stage == IDLE)
		start_asking();
	else if (stage != OFF)
		look_after(stage, mt_clock_ns() - atomic_load(&census.since));
	errno = saved;
}

void census_look(void)
{
	uint32_t stage = atomic_load_explicit(&census.stage, memory_order_acquire);

	if (!is_over(stage) && is_time_to_look())
		look_now(stage);
}

void census_oom(void)
{
	int saved = errno;

	if (atomic_load_explicit(&census.loaded, memory_order_acquire) && agent_is_recording() &&
	    agent_has_instances() && mt_clock_ns() - atomic_load(&census.named) > names_gap_ns())
		agent_work(ask_for_names, NULL);
	errno = saved;
}

/* The text of census.py, word for word. Paths are relative to the source root, where make runs. */

__asm__(".pushsection .rodata\n"
	".global census_code\n"
	".hidden census_code\n"
	".type census_code, @object\n"
	"census_code:\n"
	"\t.incbin \"recorder/agent/census/census.py\"\n"
	"\t.byte 0\n"
	".size census_code, . - census_code\n"
	"\t.popsection\n");
