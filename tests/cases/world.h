/*
 * world.h - the machine that a case plays on: GPUs, the processes that share them, PyTorch's caching allocator in each,
 * and the trace that each process leaves, as the recorder would have written it.
 *
 * Nothing is said twice: whether an allocation fits, what the allocator has to ask the driver for, the phase and where
 * a step ends all follow from what the case did before. Every process is labelled by the built-in rules.
 */
#ifndef WORLD_H
#define WORLD_H

#include <stdint.h>
#include "memtrace/phase.h"
#include "memtrace/writer.h"

#define WORLD_FEW 32    /* GPUs, processes */
#define WORLD_MANY 4096 /* stacks and things of a process */
#define WORLD_NAME 64   /* bytes of a name with NUL */

struct gpu {
	char uuid[WORLD_NAME];
	uint64_t total, used; /* by recorded calls, contexts and the processes that were not recorded */
};

struct named_stack {
	char name[WORLD_NAME];
	uint32_t node;
};

/* One thing with a name: a tensor, memory of the driver's, or a pool that can sleep, with one tensor in it. */
struct thing {
	char name[WORLD_NAME];
	enum { THING_NONE, THING_TENSOR, THING_DRIVER, THING_POOL } kind;
	uint64_t addr, size, handle; /* handle 0: the pool sleeps */
};

/* The caching allocator's memory from the driver. */
struct segment {
	uint64_t addr, size; /* size 0: not there */
};

struct process {
	char name[WORLD_NAME];
	uint32_t pid;
	struct gpu *gpu;
	struct mt_writer *writer;
	struct mt_defs *defs;
	struct mt_tracker *tracker;
	uint32_t device, thread, stack; /* definitions, of the events to come */
	uint64_t events, held, context, allocated, reserved;
	uint64_t next_addr, next_handle;
	struct named_stack stacks[WORLD_MANY];
	struct thing thing[WORLD_MANY];
	struct thing *tensor[WORLD_MANY]; /* things that are tensors, by address */
	struct segment segment[WORLD_MANY];
	uint32_t stack_count, things, tensors, segments;
	uint32_t step; /* step that runs */
	int end;       /* enum mt_end */
};

struct world {
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	struct mt_rules *rules;
	struct gpu gpu[WORLD_FEW];
	struct process *process[WORLD_FEW];
	uint32_t gpus, processes;
};

/* Says what is wrong with the case and ends the program: a case that is not true must not become a trace. */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

void world_init(struct world *world);
struct gpu *world_gpu(struct world *world, const char *uuid);         /* made when it is new */
struct process *world_process(struct world *world, const char *name); /* NULL: there is none */

/* Begins the trace FOLDER/NAME.zst. rank -1: none. */
struct process *world_start(struct world *world, const char *folder, const char *name, uint32_t pid, int rank,
			    struct gpu *gpu);

/* Ends all traces and frees what the world has. */
void world_finish(struct world *world);

/* ---- definitions of a process ---- */

uint32_t process_string(struct process *process, const char *text);
uint32_t process_python_frame(struct process *process, uint32_t parent, const char *function, const char *file,
			      uint32_t line);
uint32_t process_library(struct process *process, uint32_t parent, const char *path);
void process_thread(struct process *process, const char *name); /* the events to come are its */

/* ---- what a process does; `fails`: 1 it has to fail, 0 it must not ---- */

void process_event(struct world *world, struct process *process, struct mt_event event);
void process_context(struct world *world, struct process *process, uint64_t size);
/* Memory of another API than CUDA: NVML alone knows of it. */
void process_unseen(struct process *process, uint64_t size);
void process_driver(struct world *world, struct process *process, const char *name, uint64_t size, int fails);
void process_pool(struct world *world, struct process *process, const char *name, uint64_t size);
void process_sleep(struct world *world, struct process *process, const char *name);
void process_wake(struct world *world, struct process *process, const char *name, int fails);
void process_free(struct world *world, struct process *process, const char *name);
void process_sample(struct world *world, struct process *process);

/* ---- caching.c ---- */

void process_alloc(struct world *world, struct process *process, const char *name, uint64_t size, int fails);
void process_empty_cache(struct world *world, struct process *process);
void process_remove_tensor(struct process *process, const struct thing *thing);

/* ---- between the two files ---- */

/* 1: `size` bytes of the GPU are the process's now; 0: it is full, and the event that says so is written. */
int process_take(struct world *world, struct process *process, uint64_t size, uint32_t entry);
void process_give_back(struct process *process, uint64_t size);
void process_check(const struct process *process, const char *name, int failed, int fails); /* dies if they differ */
uint64_t process_address(struct process *process, uint64_t size);
struct thing *process_name(struct process *process, const char *name, int kind); /* a new thing */
struct thing *process_find(struct process *process, const char *name);

#endif
