/* stack_python_impl.h - the found interpreter and functions to read it, shared by the files of stack_python. */
#ifndef RECORDER_STACK_PYTHON_IMPL_H
#define RECORDER_STACK_PYTHON_IMPL_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include "python_layout.h"

enum python_stage {
	PYTHON_STAGE_NONE = 0,    /* no interpreter found yet */
	PYTHON_STAGE_LOOKING = 1, /* a thread fills in the rest */
	PYTHON_STAGE_FOUND = 2,   /* the layout is known; no frame has been looked at yet */
	PYTHON_STAGE_CHECKED = 3, /* the first frames match the layout */
	PYTHON_STAGE_REFUSED = 4,
};

/* Everything but `stage` and `why` is constant from PYTHON_STAGE_FOUND on. */
struct python {
	_Atomic uint32_t stage; /* enum python_stage */
	uint32_t version;       /* PY_VERSION_HEX */
	struct python_layout at;
	uint32_t usual; /* minor version whose row of the table `at` is; 0: the interpreter has other offsets */
	const void *code_type, *text_type, *bytes_type; /* &PyCode_Type and so on */
	const void *cell_type;                          /* NULL: not exported */
	const uint8_t *(*thread)(void);                 /* PyGILState_GetThisThreadState: a TLS read, needs no GIL */
	/* Up to 3.11 only, else NULL. Each reads a pointer. */
	const void *(*newest_interpreter)(void), *(*main_interpreter)(void);
	const uint8_t *(*running_thread)(void);
	char why[128]; /* constant from PYTHON_STAGE_REFUSED on */
};

extern struct python python_found;

/*
 * The codes that call a module: torch.nn.Module's _wrapped_call_impl and _call_impl; older versions of PyTorch have
 * only the latter (stack_instance.c). An entry is written once.
 */
enum python_call { PYTHON_CALL_NONE, PYTHON_CALL_PLAIN, PYTHON_CALL_WRAPPED };

#define PYTHON_CALLS_MAX 8u /* code objects: a program may load the file twice */

struct python_calls {
	_Atomic uint64_t marks; /* a bit for each code: the first look, at every frame's code */
	_Atomic uint32_t count;
	struct {
		const uint8_t *_Atomic code; /* NULL: the entry is empty */
		uint64_t number;             /* python_number; 0: none */
		uint64_t key;                /* as in struct python_frame */
		enum python_call call;
	} of[PYTHON_CALLS_MAX];
};

extern struct python_calls python_calls;

static inline uint64_t python_mark(const uint8_t *code)
{
	return (uint64_t)1 << ((uintptr_t)code >> 4 & 63);
}

/* Returns the object of an argument in `cell`; `cell` NULL: searches a cell of the frame. NULL: deleted. */
const uint8_t *python_argument_in_cell(const uint8_t *frame, const uint8_t *cell);

struct python_instances;

/* Adds the instance of a frame that is a module's call. `number`: frames before it, on the way outwards. */
void python_note_instance(struct python_instances *instances, const uint8_t *frame, uint32_t number);

/* Reads of the target's own memory. The caller has checked `at`. */
static inline const uint8_t *python_pointer(const uint8_t *at, uint32_t offset)
{
	const uint8_t *value;

	memcpy(&value, at + offset, sizeof(value));
	return value;
}

static inline int32_t python_int(const uint8_t *at, uint32_t offset)
{
	int32_t value;

	memcpy(&value, at + offset, sizeof(value));
	return value;
}

static inline uint64_t python_word(const uint8_t *at, uint32_t offset)
{
	uint64_t value;

	memcpy(&value, at + offset, sizeof(value));
	return value;
}

/*
 * 1: the pointer may be an object: in the program's half of the address space, above its first page, and a multiple of
 * 8. Rotation turns low bits into high ones.
 */
static inline int python_is_plausible(const void *pointer)
{
	uintptr_t value = (uintptr_t)pointer, turned = value >> 3 | value << 61;

	return turned - (4096 >> 3) < ((uintptr_t)1 << 44) - (4096 >> 3);
}

/* Offsets in a frame. The low bits of 3.14's references are tags. */
static inline const uint8_t *python_code(const struct python_layout *at, const uint8_t *frame)
{
	return (const uint8_t *)(python_word(frame, at->frame_code) & ~(uint64_t)7);
}

/* The first argument of a function; NULL: deleted, or in a cell. With the same tags as above. */
static inline const uint8_t *python_first_local(const struct python_layout *at, const uint8_t *frame)
{
	return (const uint8_t *)(python_word(frame, at->frame_locals) & ~(uint64_t)7);
}

static inline uint32_t python_owner(const struct python_layout *at, const uint8_t *frame)
{
	return at->frame_owner == PYTHON_NONE ? 0 : frame[at->frame_owner];
}

/* 1: a pointer can be read there. For use before the first frames are checked; errno is kept. */
int python_is_readable(const uint8_t *at);

/*
 * Checks the first frames carefully, because the layout may be wrong. 1: they match, and later reads trust the layout;
 * 0: they do not, and the interpreter is refused (stack_python_find.c).
 */
int python_check_frames(const uint8_t *frame);

/* A str object's characters: hash of the text, the same for the same text only (stack_python_text.c). */
uint64_t python_text_hash(const uint8_t *string);

/*
 * The same for bytes: of more than 128, the first and last 64 and the size. A training loop has a dozen large functions
 * on its stack. Reading their whole tables at each event would push the program's data out of the cache.
 */
uint64_t python_bytes_hash(const uint8_t *at, uint64_t size);

/* ---- keys of code objects (stack_python_key.c) ---- */

/* A number that no other code object has had; 0: none. */
static inline uint64_t python_number(const struct python_layout *at, const uint8_t *code)
{
	return at->code_version == PYTHON_NONE ? 0 : (uint32_t)python_int(code, at->code_version);
}

/* A code without a number. The entry is valid while no code object has died since. */
struct python_known {
	const uint8_t *_Atomic code; /* NULL: the entry is not filled in */
	uint64_t stamp;              /* as in struct python_codes */
	uint64_t key;                /* as in struct python_frame */
	int64_t first;               /* byte of the code from which on its frames are entered */
};

#define PYTHON_KNOWN 512u
#define PYTHON_PLACES 4u /* places for a code */

/* The codes seen on one of the recorder's stacks. */
struct python_codes {
	uint64_t stamp; /* the count of dead code objects when this walk began; without a count: the number of the walk */
	uint64_t walks, learnt;
	struct python_known known[PYTHON_KNOWN];
};

/* LEVEL_CALL: a frame of a code that may be a module's call. LEVEL_ANEW: each walk looks at the frame. */
enum python_level_kind { LEVEL_FRAME, LEVEL_CALL, LEVEL_SHIM, LEVEL_ANEW };

/* A frame of the last walk on one of the recorder's stacks. */
struct python_level {
	const uint8_t *frame, *code;
	const uint8_t *plain; /* code of a LEVEL_FRAME, else PYTHON_NO_CODE */
	uint64_t instruction; /* as the frame has it */
	uint64_t term;        /* its part of the hash */
	uint64_t sum;         /* hash of the frames up to here */
	uint32_t number;      /* python_number of the code */
	uint16_t count;       /* frames up to here that are not skipped */
	uint16_t kind;        /* enum python_level_kind */
};

#define PYTHON_NO_CODE ((const uint8_t *)1) /* equals no python_code */
#define PYTHON_LEVELS 56u

/*
 * The last walk, from the innermost frame outwards. A frame that is at its address, with code and instruction as they
 * were, adds to the hash what it added then.
 */
struct python_last {
	_Atomic uint32_t count; /* levels that may be compared */
	uint32_t depth;         /* most frames of the stack */
	uint64_t stamp;         /* as in struct python_codes; 0: codes have numbers */
	uint64_t marks;         /* as in struct python_calls */
	struct python_level level[PYTHON_LEVELS];
};

/* The content of own_stack_kept(). */
struct python_kept {
	struct python_last last;
	struct python_codes codes;
};

/* A walk begins. The thread is on a stack of ours. */
struct python_codes *python_codes_begin(void);

/* Reads a code without a number. NULL: no code object. */
const struct python_known *python_learn(struct python_codes *codes, const uint8_t *code);

static inline uint32_t python_place(const uint8_t *code)
{
	return (uintptr_t)code >> 4 & (PYTHON_KNOWN - 1);
}

/* As python_learn, from the cache if possible. */
static inline __attribute__((always_inline)) const struct python_known *python_know(struct python_codes *codes,
										    const uint8_t *code)
{
	const struct python_known *known = &codes->known[python_place(code)];

	if (atomic_load_explicit(&known->code, memory_order_relaxed) == code && known->stamp == codes->stamp)
		return known;
	return python_learn(codes, code);
}

uint64_t python_numbered_key(const uint8_t *code, uint64_t number);

/*
 * From now on deaths of code objects are counted, if codes have no numbers. Call after the interpreter's frames have
 * been checked.
 */
void python_count_deaths(void);

#endif
