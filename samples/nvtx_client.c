/* nvtx_client.c - see nvtx_client.h. */
#include "nvtx_client.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include "../recorder/agent/hooks/nvtx_abi.h"

#define CORE_SIZE 16 /* functions of the module, with number 0 */

enum core_index {
#define CORE_INDEX(name, index) INDEX_##name = (index),
	NVTX_CORE_LIST(CORE_INDEX)
#undef CORE_INDEX
};

typedef int nvtx_initialize(nvtx_get_table *get_table);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static nvtx_function *function[CORE_SIZE]; /* the profiler fills them in */

/* Hands out where we keep the functions of the core module: pointers by index, index 0 is none. */
static int module_table(int module, nvtx_function ****table, unsigned int *size)
{
	static nvtx_function **slot[CORE_SIZE + 1]; /* ends in NULL */
	unsigned int i;

	if (module != NVTX_MODULE_CORE)
		return 0;
	for (i = 1; i < CORE_SIZE; i++)
		slot[i] = &function[i];
	*table = slot;
	*size = CORE_SIZE;
	return 1;
}

static const void *export_table(uint32_t id)
{
	static const struct nvtx_callbacks callbacks = { sizeof(callbacks), module_table };

	return id == NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static void load_profiler(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	nvtx_initialize *initialize;
	void *library;

	if (!path || !*path)
		return;
	library = dlopen(path, RTLD_LAZY);
	if (!library)
		return;
	initialize = (nvtx_initialize *)dlsym(library, "InitializeInjectionNvtx2");
	if (initialize)
		initialize(export_table);
}

int nvtx_push(const char *name)
{
	int (*push)(const char *);

	pthread_once(&once, load_profiler);
	push = (int (*)(const char *))function[INDEX_nvtx_push_a];
	return push ? push(name) : NVTX_NOT_TRACKED;
}

int nvtx_pop(void)
{
	int (*pop)(void);

	pthread_once(&once, load_profiler);
	pop = (int (*)(void))function[INDEX_nvtx_pop];
	return pop ? pop() : NVTX_NOT_TRACKED;
}
