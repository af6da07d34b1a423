/*
 * ring.h - the shared file between the agent (in the target) and the collector. The agent only writes, the collector
 * only reads, and the contents survive the death of both.
 *
 *   offset 0            header_bytes                                  log_offset
 *   ┌───────────────────┬──────────┬──────────┬───┬──────────────────┬───────────────────────────────┐
 *   │ struct ring_header│ slot 0   │ slot 1   │...│ slot (slots - 1) │ log: stacks, code, modules,   │
 *   │ (with all cursors)│ slot_bytes each                            │ threads; append only          │
 *   └───────────────────┴──────────┴──────────┴───┴──────────────────┴───────────────────────────────┘
 *
 * The file is sparse. Before a thread touches its slot, or anybody a new LOG_STEP of the log, the space is really
 * reserved (fallocate). A full /dev/shm must be an error code, never SIGBUS in the recorded program.
 *
 * Events go through the slots, one slot per thread (single producer, single consumer). Every event takes a number
 * from next_seq after its space is certain, so numbers have no gaps except for a writer that died in between.
 * `tail` moves only when the events before it are in the trace file: what the file does not have, the ring has.
 *
 * Definitions go into the log, once each, named by 64-bit hashes that events carry. The log is never recycled, so a
 * fresh reader can always make sense of the events that are left. An event is published after the definitions it
 * names.
 *
 * The file is input like any other when it is left over: readers check every size and cursor.
 */
#ifndef MEMTRACE_RING_H
#define MEMTRACE_RING_H

#include <stdatomic.h>
#include <stdint.h>
#include "memtrace/defs.h"
#include "memtrace/event.h"
#include "memtrace/runs.h"

/*
 * The folder of a run's rings: RING_SHM_DIR/memrec.XXXXXX/PID.ring, or that folder in another one. Beside each is a
 * link to the trace that it goes into, there as long as the recording runs.
 */
#define RING_SHM_DIR "/dev/shm"
#define RING_RUN_PREFIX "memrec."
#define RING_TRACE_SUFFIX ".trace"

#define RING_MAGIC "MRING\0\0\1"
#define RING_VERSION 5u
#define RING_SLOTS 256u
#define RING_SLOT_BYTES (1u << 20) /* default; a power of two */
#define RING_LOG_BYTES (256u << 20)
#define RING_LOSSES 8 /* reasons that the ring counts; those above are the collector's own */
#define RING_LOG_STEP (1u << 20)
#define RING_TEXT_MAX 1024u /* name plus domain of one event, bytes */

enum ring_slot_state {
	RING_SLOT_FREE = 0,
	RING_SLOT_CLAIMED = 1, /* a thread writes to it */
	RING_SLOT_LEFT = 2,    /* the thread has ended; free again once drained (the collector sets FREE) */
};

/* Cursors count bytes since the beginning and never wrap; position in the slot is cursor & (slot_bytes - 1). */
struct ring_slot {
	_Atomic uint32_t state;
	uint32_t reserved;
	_Atomic uint64_t head __attribute__((aligned(64))); /* producer: published up to here */
	_Atomic uint64_t tail __attribute__((aligned(64))); /* consumer: safe in the trace up to here */
};

struct ring_header {
	char magic[8];
	uint32_t version;
	uint32_t header_bytes; /* multiple of the page size */
	uint32_t slots, slot_bytes;
	uint64_t log_offset, log_bytes;

	/* The recorded process; filled in before magic is written, constant afterwards. Texts end in NUL. */
	uint32_t pid, ppid;
	int32_t rank; /* -1: none */
	uint32_t depth;
	uint32_t tool_version;
	uint32_t python_version; /* may be filled in later, 0 until then */
	uint64_t start_ticks;    /* field 22 of /proc/PID/stat: tells a reused pid */
	uint64_t start_monotonic, start_realtime, clock_error;
	char host[64];
	char boot_id[40];
	char options[16384]; /* as memrec_options_encode() wrote it */
	char output[4096];   /* pattern of -o, absolute */
	char run_dir[4096];  /* run folder of the launcher; "": started without one */
	char command[4096];
	uint32_t steps,
		skip; /* the window to record, as in struct mt_fold_options: a reader that folds this ring must know */
	char step_mark[256];
	uint64_t keep;              /* bytes of trace, newest first; 0: everything */
	char visible_devices[1024]; /* CUDA_VISIBLE_DEVICES when the recording began; "": not set, or too long */
	char run[MT_RUN_MAX];       /* which run the process is of (runs.h) */

	/* Shared state. */
	_Atomic uint64_t next_seq __attribute__((aligned(64))); /* the next event gets this one; starts at 1 */
	_Atomic uint64_t log_head __attribute__((aligned(64))); /* bytes handed out to producers */
	_Atomic uint64_t log_ready;                             /* bytes that are really reserved */
	_Atomic uint32_t log_growing;                           /* 1: a thread is extending log_ready */
	_Atomic uint32_t cuda;                                  /* agent -> collector: CUDA is in use here */
	_Atomic uint32_t stop __attribute__((aligned(64)));     /* collector -> agent: stop recording, for good */
	_Atomic uint32_t ended;             /* agent -> collector: enum mt_end + 1, no more events will come */
	_Atomic uint32_t collector_pid;     /* 0 until it runs; once it is gone the trace is whole */
	_Atomic uint32_t leaving;           /* agent -> collector: the program has begun to exit in order */
	_Atomic uint64_t lost[RING_LOSSES]; /* by enum mt_loss, since the start; DISK is the collector's */
	_Atomic uint32_t source_state[16];  /* by enum mt_source: enum mt_source_state + 1, 0: not tried */
	char source_why[16][256];           /* written before source_state */

	/*
	 * Several recordings follow each other in one ring where a user says when (memrec start, memrec stop). The agent
	 * begins one when the last is whole: it sets what is said of a recording above, `first_seq`, and then `recording`.
	 */
	_Atomic uint32_t recording; /* agent -> collector: number of the newest, from 1 */
	_Atomic uint32_t whole;     /* collector -> agent: number of the newest whose trace is closed; 0: none */
	uint64_t first_seq;         /* the first number of this recording; 0: 1 */
	char control[4096]; /* page of wishes (recorder/shared/control.h); "": the process is not under --paused */

	struct ring_slot slot[RING_SLOTS];
};

/* One event in a slot. Records are 8-byte aligned and never wrap: a PAD fills the end of the slot. */
enum ring_record_kind {
	RING_PAD = 0,
	RING_EVENT = 1,
	RING_BEFORE = 2, /* memrec attach, memrec start: what was there before the recording (ring_before) */
};

/*
 * The first event of a recording that begins in a process that runs is the first of these: a MARK with value RING_BEFORE_BEGINS.
 * Then births (TENSOR_ALLOC, DRIVER_ALLOC, VMM_CREATE, ..) in any order, among events of other threads, and a MARK with value
 * RING_BEFORE_ENDS. An address that an event was about in between says nothing: the event does.
 */
enum ring_before { RING_BEFORE_BEGINS = 1, RING_BEFORE_ENDS = 2 };

struct ring_event {
	uint32_t bytes;     /* size of the whole record, multiple of 8; PAD: up to the end of the slot */
	uint16_t record;    /* enum ring_record_kind */
	uint8_t kind;       /* enum mt_kind */
	int8_t device_type; /* enum mt_device_kind, -1: none */
	uint64_t seq, time;
	uint64_t stack;       /* hash of a RING_LOG_STACK, 0: none */
	uint32_t thread;      /* serial of a RING_LOG_THREAD */
	int32_t device_index; /* -1: unknown */
	uint64_t addr, size, total, reserved, handle, offset, value;
	uint32_t entry, result, flags;
	uint16_t name_bytes, domain_bytes; /* text after the struct: name, then domain; no NUL */
};

/* One definition in the log. `bytes` is written last (release): 0 means "not finished yet". */
enum ring_log_kind {
	RING_LOG_STACK = 1,
	RING_LOG_CODE = 2,
	RING_LOG_MODULE = 3,
	RING_LOG_THREAD = 4,
	RING_LOG_INSTANCE = 5,
};

struct ring_log {
	_Atomic uint32_t bytes; /* whole record, multiple of 8 */
	uint32_t kind;
	uint64_t key; /* hash of the stack, code or instance; module: 0; thread: serial, from 1 */
};

/*
 * Innermost frame first. Then struct ring_python[python], then uint64_t return addresses[native], then struct
 * ring_instance[instances].
 */
struct ring_log_stack {
	struct ring_log log;
	uint16_t python, native;
	uint16_t python_elided; /* frames were left out before this index (0: none were) */
	uint16_t native_cut;    /* 1: there were more native frames */
	uint16_t instances;
	uint16_t reserved[3];
};

struct ring_python {
	uint64_t code;  /* key of a RING_LOG_CODE */
	uint32_t lasti; /* byte offset of the instruction in the code */
	uint32_t reserved;
};

/* A frame that is the call of a torch.nn.Module; innermost first. */
struct ring_instance {
	uint64_t key;   /* a RING_LOG_INSTANCE has it */
	uint32_t frame; /* number of the Python frame in this record; RING_ELIDED: one of those that were left out */
	uint32_t reserved;
};

#define RING_ELIDED UINT32_MAX

/* Then the texts, UTF-8, no NUL: name, qualname, file; then the line table's bytes. */
struct ring_log_code {
	struct ring_log log;
	uint32_t first_line;
	uint16_t name_bytes, qualname_bytes, file_bytes;
	uint16_t reserved;
	uint32_t table_bytes; /* co_linetable / co_lnotab; 0: too long, lines are first_line */
};

/* Then build_id_bytes bytes, then the path. A later module at the same addresses replaces the earlier one. */
struct ring_log_module {
	struct ring_log log;
	uint64_t start, end, bias;
	uint32_t build_id_bytes, path_bytes;
};

/* Then the name of the object's class, without the module it is from. */
struct ring_log_instance {
	struct ring_log log;
	uint64_t address; /* the object */
	uint32_t name_bytes, reserved;
};

/* Then the name. */
struct ring_log_thread {
	struct ring_log log;
	uint32_t tid, flags; /* enum mt_thread_flag */
	uint32_t name_bytes, reserved;
};

#endif
