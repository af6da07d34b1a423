#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"

#define START 5000000000ull /* CLOCK_MONOTONIC of every process's start, ns */
#define CALL 1000u          /* ns from one event to the next */
#define QUIET 5000000u      /* ns around a sample in which nothing moves */
#define OUT_OF_MEMORY 2u    /* CUDA_ERROR_OUT_OF_MEMORY */

/* CUPTI's callback ids. */
#define ENTRY_PRIMARY_CONTEXT 386u
#define ENTRY_ALLOC 243u
#define ENTRY_VMM_CREATE 537u

void world_init(struct world *world)
{
	char message[512];

	memset(world, 0, sizeof(*world));
	world->time = START;
	if (mt_rules_new(&world->rules, message, sizeof(message)))
		die("%s", message);
}

struct gpu *world_gpu(struct world *world, const char *uuid)
{
	uint32_t i;

	for (i = 0; i < world->gpus; i++)
		if (!strcmp(world->gpu[i].uuid, uuid))
			return &world->gpu[i];
	if (world->gpus == WORLD_FEW)
		die("too many GPUs");
	mt_copy_text(world->gpu[i].uuid, WORLD_NAME, uuid);
	world->gpus++;
	return &world->gpu[i];
}

struct process *world_process(struct world *world, const char *name)
{
	uint32_t i;

	for (i = 0; i < world->processes; i++)
		if (!strcmp(world->process[i]->name, name))
			return world->process[i];
	return NULL;
}

/* ---- definitions ----------------------------------------------------------------------------------------------- */

uint32_t process_string(struct process *process, const char *text)
{
	return mt_defs_add_string(process->defs, text, strlen(text));
}

uint32_t process_python_frame(struct process *process, uint32_t parent, const char *function, const char *file,
			      uint32_t line)
{
	struct mt_frame frame = { .kind = MT_FRAME_PYTHON, .line = line };

	frame.function = process_string(process, function);
	frame.file = process_string(process, file);
	return mt_defs_add_node(process->defs, parent, mt_defs_add_frame(process->defs, &frame));
}

uint32_t process_library(struct process *process, uint32_t parent, const char *path)
{
	struct mt_module module = { .start = 0x1000, .end = 0x2000 };
	struct mt_frame frame = { .kind = MT_FRAME_NATIVE, .offset = 1 };

	module.path = process_string(process, path);
	frame.module = mt_defs_add_module(process->defs, &module);
	return mt_defs_add_node(process->defs, parent, mt_defs_add_frame(process->defs, &frame));
}

void process_thread(struct process *process, const char *name)
{
	struct mt_thread thread = { .tid = process->pid, .flags = MT_THREAD_MAIN };

	if (strcmp(name, "main")) {
		thread.tid += 1000000;
		thread.flags = strstr(name, "pt_autograd") ? MT_THREAD_AUTOGRAD : 0;
	}
	thread.name = process_string(process, name);
	process->thread = mt_defs_add_thread(process->defs, &thread);
}

/* ---- processes ------------------------------------------------------------------------------------------------- */

static uint32_t define_gpu(struct process *process)
{
	struct mt_device device = { .kind = MT_DEVICE_CUDA, .total = process->gpu->total };

	device.name = process_string(process, "NVIDIA H100 80GB HBM3");
	device.uuid = process_string(process, process->gpu->uuid);
	return mt_defs_add_device(process->defs, &device);
}

struct process *world_start(struct world *world, const char *folder, const char *name, uint32_t pid, int rank,
			    struct gpu *gpu)
{
	struct mt_process about = {
		.pid = pid,
		.ppid = 1,
		.rank = rank,
		.depth = 32,
		.python_version = 0x030c07f0,
		.tool_version = 0x000100,
		.start_monotonic = START,
		.start_realtime = 1700000000000000000ull,
		.clock_error = 50,
		.host = "node",
		.boot_id = "11111111-2222-3333-4444-555555555555",
		.command = name,
	};
	struct process *process = calloc(1, sizeof(*process));
	char path[4096];

	if (!process || world->processes == WORLD_FEW || world_process(world, name))
		die("there cannot be a process %s", name);
	snprintf(path, sizeof(path), "%s/%s.zst", folder, name);
	if (mt_writer_open(&process->writer, path, &about, NULL))
		die("%s cannot be written", path);
	mt_copy_text(process->name, WORLD_NAME, name);
	process->pid = pid;
	process->gpu = gpu;
	process->defs = mt_writer_defs(process->writer);
	process->tracker = mt_tracker_new(world->rules, process->defs);
	process->next_addr = 0x7f0000000000;
	process->device = define_gpu(process);
	process_thread(process, "main");
	return world->process[world->processes++] = process;
}

static void write_step(struct process *process, uint64_t seq, uint64_t time, uint32_t step)
{
	struct mt_event event = { .kind = MT_STEP, .seq = seq, .time = time, .thread = process->thread, .value = step };

	event.name = process_string(process, mt_tracker_step_why(process->tracker));
	if (mt_writer_event(process->writer, &event, MT_PHASE_OTHER, step))
		die("%s: a step cannot be written", process->name);
}

/* Odd numbers are left for the steps between. */
void process_event(struct world *world, struct process *process, struct mt_event event)
{
	struct mt_label label;

	event.seq = 2 * ++process->events;
	event.time = world->time += CALL;
	event.thread = process->thread;
	mt_tracker_event(process->tracker, &event, 1, &label);
	if (label.step_closed)
		write_step(process, event.seq - 1, event.time, label.step - 1);
	process->step = label.step;
	if (mt_writer_event(process->writer, &event, label.phase, label.step))
		die("%s: an event cannot be written", process->name);
}

static void finish(struct world *world, struct process *process)
{
	struct mt_event end = { .kind = MT_END, .value = (uint64_t)process->end };

	if (mt_tracker_finish(process->tracker))
		write_step(process, 2 * ++process->events, world->time, process->step);
	process_event(world, process, end);
	mt_tracker_free(process->tracker);
	if (mt_writer_close(process->writer, 1))
		die("%s cannot be closed", process->name);
	free(process);
}

void world_finish(struct world *world)
{
	uint32_t i;

	for (i = 0; i < world->processes; i++)
		finish(world, world->process[i]);
	mt_rules_free(world->rules);
}

/* ---- things with names ----------------------------------------------------------------------------------------- */

struct thing *process_find(struct process *process, const char *name)
{
	uint32_t i;

	for (i = 0; i < process->things; i++)
		if (process->thing[i].kind != THING_NONE && !strcmp(process->thing[i].name, name))
			return &process->thing[i];
	die("%s has no %s", process->name, name);
}

struct thing *process_name(struct process *process, const char *name, int kind)
{
	uint32_t i;

	for (i = 0; i < process->things; i++)
		if (process->thing[i].kind == THING_NONE)
			break;
		else if (!strcmp(process->thing[i].name, name))
			die("%s has a %s already", process->name, name);
	if (i == WORLD_MANY)
		die("%s has too many things", process->name);
	process->things += i == process->things;
	process->thing[i] = (struct thing){ .kind = kind };
	mt_copy_text(process->thing[i].name, WORLD_NAME, name);
	return &process->thing[i];
}

uint64_t process_address(struct process *process, uint64_t size)
{
	uint64_t addr = process->next_addr;

	process->next_addr += (size | 0x1fffff) + 1;
	return addr;
}

/* ---- memory of the driver -------------------------------------------------------------------------------------- */

int process_take(struct world *world, struct process *process, uint64_t size, uint32_t entry)
{
	if (size > process->gpu->total - process->gpu->used) {
		process_event(world, process,
			      (struct mt_event){ .kind = MT_DRIVER_FAIL,
						 .device = process->device,
						 .stack = process->stack,
						 .size = size,
						 .entry = entry,
						 .result = OUT_OF_MEMORY });
		return 0;
	}
	process->gpu->used += size;
	process->held += size;
	return 1;
}

void process_give_back(struct process *process, uint64_t size)
{
	process->gpu->used -= size;
	process->held -= size;
}

void process_check(const struct process *process, const char *name, int failed, int fails)
{
	if (failed != fails)
		die("%s: %s %s (%llu bytes are free)", process->name, name, failed ? "does not fit" : "fits",
		    (unsigned long long)(process->gpu->total - process->gpu->used));
}

void process_context(struct world *world, struct process *process, uint64_t size)
{
	process_event(world, process,
		      (struct mt_event){ .kind = MT_DRIVER_NOTE,
					 .stack = process->stack,
					 .device = process->device,
					 .entry = ENTRY_PRIMARY_CONTEXT });
	process->context += size;
	process->gpu->used += size;
}

void process_unseen(struct process *process, uint64_t size)
{
	process_check(process, "unseen", size > process->gpu->total - process->gpu->used, 0);
	process->context += size;
	process->gpu->used += size;
}

void process_driver(struct world *world, struct process *process, const char *name, uint64_t size, int fails)
{
	int taken = process_take(world, process, size, ENTRY_ALLOC);
	struct thing *thing;

	process_check(process, name, !taken, fails);
	if (!taken)
		return;
	thing = process_name(process, name, THING_DRIVER);
	thing->size = size;
	thing->addr = process_address(process, size);
	process_event(world, process,
		      (struct mt_event){ .kind = MT_DRIVER_ALLOC,
					 .device = process->device,
					 .stack = process->stack,
					 .addr = thing->addr,
					 .size = size,
					 .entry = ENTRY_ALLOC });
}

/* ---- memory that sleeps ---------------------------------------------------------------------------------------- */

void process_wake(struct world *world, struct process *process, const char *name, int fails)
{
	struct thing *thing = process_find(process, name);
	int taken;

	if (thing->kind != THING_POOL || thing->handle)
		die("%s: %s does not sleep", process->name, name);
	taken = process_take(world, process, thing->size, ENTRY_VMM_CREATE);
	process_check(process, name, !taken, fails);
	if (!taken)
		return;
	thing->handle = ++process->next_handle;
	process_event(world, process,
		      (struct mt_event){ .kind = MT_VMM_CREATE,
					 .device = process->device,
					 .stack = process->stack,
					 .handle = thing->handle,
					 .size = thing->size,
					 .entry = ENTRY_VMM_CREATE });
	process_event(world, process,
		      (struct mt_event){ .kind = MT_VMM_MAP,
					 .stack = process->stack,
					 .addr = thing->addr,
					 .size = thing->size,
					 .handle = thing->handle });
}

void process_pool(struct world *world, struct process *process, const char *name, uint64_t size)
{
	struct thing *thing = process_name(process, name, THING_POOL);

	thing->size = size;
	thing->addr = process_address(process, size);
	process_event(world, process, (struct mt_event){ .kind = MT_VMM_RESERVE, .addr = thing->addr, .size = size });
	process_wake(world, process, name, 0);
	process_event(world, process,
		      (struct mt_event){ .kind = MT_TENSOR_ALLOC,
					 .device = process->device,
					 .stack = process->stack,
					 .addr = thing->addr,
					 .size = size,
					 .flags = MT_FLAG_NO_TOTAL });
}

void process_sleep(struct world *world, struct process *process, const char *name)
{
	struct thing *thing = process_find(process, name);

	if (thing->kind != THING_POOL || !thing->handle)
		die("%s: %s is not awake", process->name, name);
	process_event(world, process,
		      (struct mt_event){
			      .kind = MT_VMM_UNMAP, .stack = process->stack, .addr = thing->addr, .size = thing->size });
	process_event(world, process,
		      (struct mt_event){ .kind = MT_VMM_RELEASE, .stack = process->stack, .handle = thing->handle });
	thing->handle = 0;
	process_give_back(process, thing->size);
}

void process_free(struct world *world, struct process *process, const char *name)
{
	struct thing *thing = process_find(process, name);
	struct mt_event event = { .stack = process->stack, .addr = thing->addr };

	if (thing->kind == THING_POOL)
		die("%s: %s can sleep, not be freed", process->name, name);
	event.kind = thing->kind == THING_TENSOR ? MT_TENSOR_FREE : MT_DRIVER_FREE;
	if (thing->kind == THING_TENSOR) {
		event.size = thing->size;
		event.device = process->device;
		event.total = process->allocated -= thing->size;
		event.reserved = process->reserved;
		process_remove_tensor(process, thing);
	} else {
		event.entry = ENTRY_ALLOC + 2;
		process_give_back(process, thing->size);
	}
	thing->kind = THING_NONE;
	process_event(world, process, event);
}

/* NVML's answer, in a quiet moment. */
void process_sample(struct world *world, struct process *process)
{
	world->time += QUIET;
	process_event(world, process,
		      (struct mt_event){ .kind = MT_GPU_SAMPLE,
					 .device = process->device,
					 .size = process->gpu->used,
					 .offset = process->held + process->context,
					 .value = process->gpu->total,
					 .flags = 1 });
	world->time += QUIET;
}

void die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("make_case: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(1);
}
