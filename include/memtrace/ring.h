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
 * The file is sparse. A thread reserves the space (fallocate) before it touches its slot or a new RING_LOG_STEP of the
 * log. A full /dev/shm is then an error code, and no SIGBUS in the recorded program.
 *
 * Events go through the slots, one slot per thread (single producer, single consumer). Every event takes a number from
 * next_seq after its space is certain. A number is missing only if its thread died in between. `tail` moves when the
 * events before it are in the trace file, so each event is in the file or in the ring.
 *
 * Definitions go into the log, once each. Events name them by 64-bit hashes. The log only grows: a new reader finds the
 * definitions of all events that are in the ring. An event is published after the definitions that it names.
 *
 * Readers check every size and cursor: a ring without a process may be damaged or hostile.
 */
#ifndef MEMTRACE_RING_H
#define MEMTRACE_RING_H

#include <stdatomic.h>
#include <stdint.h>
#include "memtrace/defs.h"
#include "memtrace/event.h"
#include "memtrace/runs.h"

/*
 * The folder of a run's rings: RING_SHM_DIR/memrec.XXXXXX/PID.ring, or the same folder below another path. While a
 * recording runs, a link next to its ring (RING_TRACE_SUFFIX) leads to the trace.
 */
#define RING_SHM_DIR "/dev/shm"
#define RING_RUN_PREFIX "memrec."
#define RING_TRACE_SUFFIX ".trace"

#define RING_MAGIC "MRING\0\0\1"
#define RING_VERSION 5u
#define RING_SLOTS 256u
#define RING_SLOT_BYTES (1u << 20) /* default; a power of two */
#define RING_LOG_BYTES (256u << 20)
#define RING_LOSSES 8 /* reasons that the agent counts; higher ones are the collector's */
#define RING_LOG_STEP (1u << 20)
#define RING_TEXT_MAX 1024u /* name plus domain of one event, bytes */

enum ring_slot_state {
	RING_SLOT_FREE = 0,
	RING_SLOT_CLAIMED = 1, /* a thread writes to it */
	RING_SLOT_LEFT = 2,    /* the thread has ended; the collector sets FREE when the slot is empty */
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
	uint64_t start_ticks;    /* field 22 of /proc/PID/stat: differs where a pid is used again */
	uint64_t start_monotonic, start_realtime, clock_error;
	char host[64];
	char boot_id[40];
	char options[16384]; /* as memrec_options_encode() wrote it */
	char output[4096];   /* pattern of -o, absolute */
	char run_dir[4096];  /* run folder of the launcher; "": started without one */
	char command[4096];
	uint32_t steps, skip; /* the window to record, as in struct mt_fold_options */
	char step_mark[256];
	uint64_t keep;              /* bytes of trace, newest first; 0: everything */
	char visible_devices[1024]; /* CUDA_VISIBLE_DEVICES when the recording began; "": not set, or too long */
	char run[MT_RUN_MAX];       /* the run of the process (runs.h) */

	/* Shared state. */
	_Atomic uint64_t next_seq __attribute__((aligned(64))); /* number of the next event; starts at 1 */
	_Atomic uint64_t log_head __attribute__((aligned(64))); /* bytes handed out to producers */
	_Atomic uint64_t log_ready;                             /* bytes with reserved space */
	_Atomic uint32_t log_growing;                           /* 1: a thread is extending log_ready */
	_Atomic uint32_t cuda;                                  /* agent -> collector: CUDA is in use here */
	_Atomic uint32_t stop __attribute__((aligned(64)));     /* collector -> agent: stop recording, for good */
	_Atomic uint32_t ended;             /* agent -> collector: enum mt_end + 1 after the last event */
	_Atomic uint32_t collector_pid;     /* 0 before it runs; its end completes the trace */
	_Atomic uint32_t leaving;           /* agent -> collector: the program has begun to exit in order */
	_Atomic uint64_t lost[RING_LOSSES]; /* by enum mt_loss, since the start; DISK is the collector's */
	_Atomic uint32_t source_state[16];  /* by enum mt_source: enum mt_source_state + 1, 0: not tried */
	char source_why[16][256];           /* written before source_state */

	/*
	 * Recordings of one ring, one after the other (memrec start, memrec stop). The agent begins one after the trace
	 * of the last is closed: it sets the fields of the recording above, then `first_seq`, then `recording`.
	 */
	_Atomic uint32_t recording; /* agent -> collector: number of the newest recording, from 1 */
	_Atomic uint32_t whole; /* collector -> agent: number of the newest recording with a closed trace; 0: none */
	uint64_t first_seq;     /* number of the first event of this recording; 0: 1 */
	char control[4096];     /* path of the page of wishes (recorder/shared/control.h); "": not under --paused */

	struct ring_slot slot[RING_SLOTS];
};

/* One event in a slot. Records are 8-byte aligned and never wrap: a PAD fills the end of the slot. */
enum ring_record_kind {
	RING_PAD = 0,
	RING_EVENT = 1,
	RING_BEFORE = 2, /* memrec attach, memrec start: an allocation from before the recording (ring_before) */
};

/*
 * Allocations from before a recording that begins in a running process. The recording begins with a MARK of value
 * RING_BEFORE_BEGINS. Births (TENSOR_ALLOC, DRIVER_ALLOC, VMM_CREATE, ..) follow in any order, among events of other
 * threads, and then a MARK of value RING_BEFORE_ENDS. If an event in between has the same address, the event counts and
 * the birth does not.
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
