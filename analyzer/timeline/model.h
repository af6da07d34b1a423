/*
 * model.h - what the screen knows of a run: places, devices, processes, phases, steps, errors, and the tape of bytes.
 *
 *     feed (thread): traces ── analysis ──> model ──> series, liveset (screen's thread)
 *     worker (thread): SQLite, names of functions ──┘
 *
 * The feed fills it while the traces are read; the screen shows what is there. Whoever reads or changes a member holds
 * the lock (model_lock), for a short time: the feed for a batch of events, the screen for one frame. Strings live as
 * long as the model.
 */
#ifndef MEMANA_TUI_MODEL_H
#define MEMANA_TUI_MODEL_H

#include <pthread.h>
#include <stdint.h>
#include "memtrace/phase.h"
#include "query/callstack.h"
#include "tape.h"

enum model_state {
	MODEL_READING, /* events are coming */
	MODEL_READ,    /* all is known */
	MODEL_FAILED,  /* the rest could not be read: see `trouble` */
};

/* Whether the traces are still being written. */
enum model_follow {
	MODEL_WHOLE,    /* no: they are read to their ends */
	MODEL_FOLLOWS,  /* yes; the state stays MODEL_READING, and what is marked "now" is there */
	MODEL_OVER,     /* they were, and that is over: all of this is right so far, and may be read again as a whole */
	MODEL_REPLACED, /* the same: another file has taken the place of one of them */
};

/* A place that bytes come from; its number is that of the attribution. */
struct model_site {
	uint32_t process, device, owner; /* indexes */
	uint32_t stack;                  /* node of the process, 0: none */
	uint8_t phase;                   /* enum mt_phase */
	uint8_t category;                /* enum mt_category: an opinion while the state is MODEL_READING */
	uint8_t driver;                  /* 1: driver memory, 0: tensors */
	uint8_t all_slack;               /* 1: tensors have been in its memory, so its plain bytes are slack, too */
	uint64_t most;                   /* bytes, the most that it has held */
	const char *function, *place; /* "compute_loss", "loss.py:12"; "": unknown. Better ones may come (worker.h) */
	const struct callstack *callstack; /* NULL: not known yet */
	const char *evidence,
		*decided_by; /* why that category, and which frame decided on the phase; NULL: not known yet */
};

struct model_device {
	uint32_t kind;   /* enum mt_device_kind */
	uint32_t number; /* as people count: GPU 0 */
	char name[64];
	uint64_t total; /* bytes, 0: unknown */
	uint64_t peak;  /* bytes, so far */
	int64_t peak_time;
	struct {
		uint64_t held, tensors; /* bytes */
		uint64_t available;     /* available bytes of the machine, of a CPU; 0: unknown */
	} now;                          /* while it is followed */
	const char *growing;   /* the sentence of growth.h, a text of the model; NULL: unknown, or nothing grows */
	uint64_t peak_changes; /* the changes at that time that count (model_events_at); 0: all */
};

struct model_process {
	int64_t pid, rank; /* rank -1: none */
	const char *file;
	uint32_t sites;
	struct {
		int known;
		uint8_t phase;
		uint32_t step;
	} now; /* while it is followed */
	/* private: indexes of its spans, zeroed when it is added */
	uint32_t *span;
	uint32_t spans, span_room;
};

/* A stretch of one phase in a process. */
struct model_span {
	int64_t first, last; /* ns since the run began */
	uint32_t process, step;
	uint8_t phase;
};

/* A step of a process ended at `time`. */
struct model_step {
	int64_t time;
	uint32_t process, number;
};

/* While the state is MODEL_READING refusals of the driver are here, too; then they are in what they led to. */
struct model_oom {
	int64_t time;
	uint64_t requested; /* bytes */
	uint64_t changes;   /* the changes at that time that came before it */
	uint32_t device, process;
	uint8_t had; /* 1: the driver refused it and granted as much soon after; as long as the recording is read: not known, 0 */
	uint8_t phase;
};

/*
 * Grown by model_add_*(); read freely under the lock. Spans, steps and errors are in order of time (of their ends) within
 * each process; they alone grow with the run, by 36, 16 and 40 bytes each.
 */
struct model {
	pthread_mutex_t lock;
	/*
	 * The screen reads the first `events` events. At the end of reading there may be another tape with a new
	 * edition; the first one stays for who is reading it.
	 */
	struct tape *tape;
	uint64_t events;
	int64_t first_time, last_time; /* limits of the part that was read, ns since the run began */

	struct model_site *site; /* site[0] is not used */
	uint32_t sites, site_room;
	struct model_device *device;
	uint32_t devices, device_room;
	struct model_process *process;
	uint32_t processes, process_room;
	struct model_span *span;
	uint32_t spans, span_room;
	struct model_step *step;
	uint32_t steps, step_room;
	struct model_oom *oom;
	uint32_t ooms, oom_room;
	const char **owner; /* names; owner[0] is "pytorch", whose slack is, too */
	uint32_t owners, owner_room;

	enum model_state state;
	enum model_follow follow;
	uint64_t bytes_read, bytes_total; /* sizes of the files */
	uint64_t lost;                    /* events that are not in the traces */
	const char *verdict;              /* one sentence; "": not yet */
	char trouble[256];                /* "": none; else what is wrong and where, also after MODEL_READ (damage) */
	char unended[192];         /* "": the traces are complete, or `trouble` says what is wrong; else which is not */
	int error;                 /* -MT_E_x why the state is MODEL_FAILED, 0: it is not, or reading was stopped */
	unsigned edition;          /* goes up when sites change what they are: what was computed from them is stale */
	int stop;                  /* the screen is done: end reading soon */
	struct model_texts *texts; /* private: all strings */
	struct tape *first_tape;   /* private: the one before `tape`, NULL: none */
};

int model_init(struct model *model); /* 0 or -MT_E_MEMORY; release in any case */
void model_release(struct model *model);

void model_lock(struct model *model);
void model_unlock(struct model *model);

/* Under the lock: another tape, settled, with other events; it is the model's from now on. Once at most. */
void model_replace_tape(struct model *model, struct tape *tape);

/* Under the lock. 0 or -MT_E_MEMORY. The structs are copied; strings in them must live as long as the model. */
int model_add_site(struct model *model, uint32_t number, const struct model_site *site); /* numbers may have gaps */
int model_add_device(struct model *model, const struct model_device *device);
int model_add_process(struct model *model, const struct model_process *process);
/* A stretch that begins as the newest one of its process is that one, further on. */
int model_add_span(struct model *model, const struct model_span *span);
int model_add_step(struct model *model, const struct model_step *step);
int model_add_oom(struct model *model, const struct model_oom *oom);

/* Index of the owner's name, made known when it is new; UINT32_MAX: out of memory. */
uint32_t model_owner(struct model *model, const char *name);

/* A copy of `text` that lives as long as the model; the same text gets the same pointer. NULL: out of memory. */
const char *model_text(struct model *model, const char *text);

/* The meaning of a cell's bytes (tape.h): "allocator slack" for slack, whatever their site. */
uint8_t model_category(const struct model *model, uint32_t cell);

/*
 * Whether a person calls both sites the same: one process, device and line of the code (by its name; without one, one
 * stack), as the places of memana top. Phase and category may differ: they are the parts of a place.
 */
int model_same_line(const struct model *model, uint32_t one, uint32_t two);

/* The owner of a cell's bytes: an index of `owner`. */
uint32_t model_cell_owner(const struct model *model, uint32_t cell);

/*
 * The number of events of the tape that count at `time`, seen from a device (alive.h): all that are not later. At its
 * peak, and when a request failed there: those up to it.
 */
uint64_t model_events_at(const struct model *model, uint32_t device, int64_t time);

/* The phase that `process` is in at `time`: an index of `span`, or the next one after it; `spans`: there is none. */
uint32_t model_span_at(const struct model *model, uint32_t process, int64_t time);

#endif
