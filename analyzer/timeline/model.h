/*
 * model.h - the screen's data of a run: places, devices, processes, phases, steps, errors, and the tape of bytes.
 *
 *     feed (thread): traces ── analysis ──> model ──> series, liveset (screen's thread)
 *     worker (thread): SQLite, names of functions ──┘
 *
 * The feed fills the model while the traces are read; the screen shows the state so far. A thread that reads or changes
 * a member holds the lock (model_lock), for a short time: the feed for a batch of events, the screen for one frame.
 * Strings live as long as the model.
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
	MODEL_WHOLE,   /* no: they are read to their ends */
	MODEL_FOLLOWS, /* yes; the state stays MODEL_READING, and the members `now` are set */
	MODEL_OVER,    /* the recordings have ended; the model is right so far, and the traces can be read as a whole */
	MODEL_REPLACED, /* as MODEL_OVER; another file has replaced one of the traces */
};

/* A site of the attribution, with the same number. */
struct model_site {
	uint32_t process, device, owner; /* indexes */
	uint32_t stack;                  /* node of the process, 0: none */
	uint8_t phase;                   /* enum mt_phase */
	uint8_t category;                /* enum mt_category: an opinion while the state is MODEL_READING */
	uint8_t driver;                  /* 1: driver memory, 0: tensors */
	uint8_t all_slack;               /* 1: tensors have been in its memory; its plain bytes are slack, too */
	uint64_t most;                   /* most bytes that it has held */
	const char *function, *place; /* "compute_loss", "loss.py:12"; "": unknown; better ones may come (worker.h) */
	const struct callstack *callstack; /* NULL: not known yet */
	const char *evidence,
		*decided_by; /* evidence for the category, and frame that decided the phase; NULL: not known yet */
};

struct model_device {
	uint32_t kind;   /* enum mt_device_kind */
	uint32_t number; /* number for people: GPU 0 */
	char name[64];
	uint64_t total; /* bytes, 0: unknown */
	uint64_t peak;  /* peak so far, bytes */
	int64_t peak_time;
	struct {
		uint64_t held, tensors; /* bytes */
		uint64_t available;     /* available bytes of the machine of a CPU; 0: unknown */
	} now;                          /* valid while the traces are followed */
	const char *growing;   /* the sentence of growth.h, a text of the model; NULL: unknown, or nothing grows */
	uint64_t peak_changes; /* changes at that time that count (model_events_at); 0: all */
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

/*
 * A failed request. While the state is MODEL_READING, the list also has refusals of the driver. Afterwards a refusal is
 * part of the error that it caused.
 */
struct model_oom {
	int64_t time;
	uint64_t requested; /* bytes */
	uint64_t changes;   /* changes at that time that came before it */
	uint32_t device, process;
	uint8_t had; /* 1: refused, and granted soon after; unknown (0) while the recording is read */
	uint8_t phase;
};

/*
 * Call model_add_*() to add entries. Members may be read under the lock. Spans, steps and errors are in order of time
 * (of their ends) within each process. Only they grow with the run, by 36, 16 and 40 bytes each.
 */
struct model {
	pthread_mutex_t lock;
	/*
	 * The screen reads the first `events` events. The end of reading may bring another tape with a new edition. The
	 * first tape stays for its readers.
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
	const char **owner; /* names; owner[0] is "pytorch", also for slack */
	uint32_t owners, owner_room;

	enum model_state state;
	enum model_follow follow;
	uint64_t bytes_read, bytes_total; /* sizes of the files */
	uint64_t lost;                    /* events that are not in the traces */
	const char *verdict;              /* one sentence; "": not yet */
	char trouble[256];                /* "": none; else the fault and its file, also after MODEL_READ (damage) */
	char unended[192];                /* names of the incomplete traces; "": none, or `trouble` has the fault */
	int outlined; /* 1: the tape is an outline of the whole run (rows/outline.h); the exact tape is being read */
	int error;    /* -MT_E_x why the state is MODEL_FAILED, 0: it is not, or reading was stopped */
	unsigned edition;          /* grows when facts of sites change; results computed before are stale */
	int stop;                  /* set by the screen: end reading soon */
	struct model_texts *texts; /* private: all strings */
	struct tape *first_tape;   /* private: tape before `tape`, NULL: none */
};

int model_init(struct model *model); /* 0 or -MT_E_MEMORY; release in any case */
void model_release(struct model *model);

void model_lock(struct model *model);
void model_unlock(struct model *model);

/*
 * Under the lock: replaces the tape by another settled tape with other events. The model owns `tape` afterwards. Call
 * it at most once.
 */
void model_replace_tape(struct model *model, struct tape *tape);

/*
 * Under the lock. The functions copy the structs; strings in them must live as long as the model. They return 0 or
 * -MT_E_MEMORY.
 */
int model_add_site(struct model *model, uint32_t number, const struct model_site *site); /* numbers may have gaps */
int model_add_device(struct model *model, const struct model_device *device);
int model_add_process(struct model *model, const struct model_process *process);
/* A stretch that begins with the newest stretch of its process replaces it: the stretch has become longer. */
int model_add_span(struct model *model, const struct model_span *span);
int model_add_step(struct model *model, const struct model_step *step);
int model_add_oom(struct model *model, const struct model_oom *oom);

/* Returns the index of the owner's name, and adds a new name. UINT32_MAX: out of memory. */
uint32_t model_owner(struct model *model, const char *name);

/* Returns a copy of `text` that lives as long as the model. Equal texts get one pointer. NULL: out of memory. */
const char *model_text(struct model *model, const char *text);

/* The category of a cell's bytes (tape.h): "allocator slack" for slack of any site. */
uint8_t model_category(const struct model *model, uint32_t cell);

/*
 * Whether both sites have one name for a person: one process, device and line of code (by its name; without a name, one
 * stack). The places of memana top are the same. Phase and category may differ.
 */
int model_same_line(const struct model *model, uint32_t one, uint32_t two);

/* The owner of a cell's bytes: an index of `owner`. */
uint32_t model_cell_owner(const struct model *model, uint32_t cell);

/*
 * The number of events of the tape that count at `time` for a device (alive.h): all up to `time`. At its peak, or when
 * a request failed there: all up to this event.
 */
uint64_t model_events_at(const struct model *model, uint32_t device, int64_t time);

/* The index in `span` of the phase of `process` at `time`, or of the next phase. `spans`: none. */
uint32_t model_span_at(const struct model *model, uint32_t process, int64_t time);

#endif
