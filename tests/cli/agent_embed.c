/*
 * agent_embed.c - a program that is not Python, and loads it later: agent_embed LIBPYTHON SCRIPT
 *
 * Reports a block before, from SCRIPT (a Python program, run twice, each time in a new interpreter) when it calls
 * report(address), in between and after the end.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct device {
	signed char type, index;
};

typedef void report_function(void *block, int64_t size, uint64_t total, uint64_t reserved, struct device device);

report_function hook __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE") __attribute__((weak));

static void report(uintptr_t address)
{
	struct device gpu = { 1, 0 };

	if (hook)
		hook((void *)address, 64, 64, 64, gpu);
}

/* PyMethodDef, and a function in it that takes one argument. */
struct method {
	const char *name;
	void *(*call)(void *self, void *argument);
	int flags;
	const char *text;
};

enum { ONE_ARGUMENT = 0x0008 };

/* Python's own, of the library that was loaded. */
#define PYTHON_LIST(X)                                                        \
	X(Py_Initialize, void, (void))                                        \
	X(Py_FinalizeEx, int, (void))                                         \
	X(PyRun_SimpleStringFlags, int, (const char *, void *))               \
	X(PyCFunction_NewEx, void *, (const struct method *, void *, void *)) \
	X(PyImport_AddModule, void *, (const char *))                         \
	X(PyObject_SetAttrString, int, (void *, const char *, void *))        \
	X(PyLong_FromLong, void *, (long))                                    \
	X(PyLong_AsLong, long, (void *))

static struct {
#define DECLARE(name, type, arguments) type(*name) arguments;
	PYTHON_LIST(DECLARE)
#undef DECLARE
} python;

static int find(void *library)
{
#define FIND(name, type, arguments)                             \
	python.name = (type(*) arguments)dlsym(library, #name); \
	if (!python.name)                                       \
		return 0;
	PYTHON_LIST(FIND)
#undef FIND
	return 1;
}

static void *report_for_python(void *self, void *argument)
{
	(void)self;
	report((uintptr_t)python.PyLong_AsLong(argument));
	return python.PyLong_FromLong(0);
}

static int run(const char *script)
{
	static const struct method method = { "report", report_for_python, ONE_ARGUMENT, NULL };
	int failed;

	python.Py_Initialize();
	report(0x100);
	failed = python.PyObject_SetAttrString(python.PyImport_AddModule("__main__"), "report",
					       python.PyCFunction_NewEx(&method, NULL, NULL)) ||
		 python.PyRun_SimpleStringFlags(script, NULL);
	report(0x200);
	python.Py_FinalizeEx();
	report(0x300);
	return failed;
}

int main(int argc, char **argv)
{
	void *library;

	if (argc < 3)
		return 2;
	report(0x10);
	library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
	if (!library || !find(library)) {
		fprintf(stderr, "%s\n", dlerror());
		return 3;
	}
	report(0x20);
	return run(argv[2]) || run(argv[2]);
}
