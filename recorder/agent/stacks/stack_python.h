/*
 * stack_python.h - reads the Python frames of the calling thread without the GIL.
 *
 * The thread is inside a call from its own innermost frame, so no other thread changes the chain meanwhile. Nothing is
 * changed: no reference is taken, and only Python functions that return a pointer are called.
 */
#ifndef RECORDER_STACK_PYTHON_H
#define RECORDER_STACK_PYTHON_H

#include <stddef.h>
#include <stdint.h>

#define STACK_PYTHON_MAX 256u    /* largest depth */
#define STACK_PYTHON_WALK 16384u /* frames looked at */

struct python_frame {
	const uint8_t *code; /* PyCodeObject, checked; alive as long as the frame is */
	uint64_t key;        /* equal for equal codes only, also if an address is used again */
	uint32_t lasti;      /* byte offset of the instruction */
};

/* A module whose call is a frame, and its class. Both live as long as the frame. */
struct python_instance {
	const uint8_t *object, *type;
	uint32_t frame; /* index of the frame in the stack; STACK_ELIDED: left out */
};

#define STACK_INSTANCES_MAX 64u
#define STACK_ELIDED UINT32_MAX

/* Innermost first. If there are too many, the innermost ones. */
struct python_instances {
	uint32_t count;
	struct python_instance of[STACK_INSTANCES_MAX];
};

struct python_stack {
	uint32_t count;
	uint32_t elided; /* frames were left out before this index (count: after the last); 0: none */
	uint64_t hash;   /* codes and instructions of the frames */
	uint64_t calls;  /* hash of the modules of all calls, also of left-out frames; 0: none */
	struct python_frame frame[STACK_PYTHON_MAX]; /* innermost first; set by stack_python_frames only */
};

/* The facts of a code object; the texts are made by stack_python_text. */
struct python_code {
	const uint8_t *name, *qualname, *file; /* str objects; qualname may be NULL */
	const uint8_t *table;                  /* the line table's bytes */
	uint32_t table_bytes;                  /* 0: none, or too long */
	uint32_t first_line;
};

/* BUSY: another thread looks right now. */
enum python_state { PYTHON_ABSENT, PYTHON_READY, PYTHON_REFUSED, PYTHON_BUSY };

/*
 * Finds an interpreter in the process and its layout. May be called again: an interpreter may be loaded later, and a
 * found one may turn out to be unreadable. *version: PY_VERSION_HEX, or 0. *why: one sentence for the trace, if
 * refused.
 */
enum python_state stack_python_find(uint32_t *version, const char **why);

/* The answer of stack_python_find as of now, without looking. */
enum python_state stack_python_state(void);

/*
 * Takes at most `depth` (<= STACK_PYTHON_MAX) frames: all, or the innermost 3/4 and the outermost 1/4. A stack deeper
 * than STACK_PYTHON_WALK gives its innermost frames (elided is count then). Without an interpreter, or on a thread
 * whose interpreter is unknown: count 0. Sets all except `frame`. 1: the interpreter has just been refused.
 *
 * Call this and stack_python_frames in the work of own_stack_call.
 */
int stack_python_walk(struct python_stack *stack, uint32_t depth);

/* The same, with `frame`. Slower: only for new stacks. */
void stack_python_frames(struct python_stack *stack, uint32_t depth);

/* The modules of the calls on the stack that stack_python_walk has just returned. */
void stack_python_instances(const struct python_stack *stack, struct python_instances *instances);

/* Reads a code object that stack_python_frames has just returned. */
void stack_python_code(const struct python_frame *frame, struct python_code *code);

/*
 * Tells the name and file of a frame's code. 1: this is the first code that is a module's call. From now on walks see
 * modules in its frames.
 */
int stack_python_meet(const struct python_frame *frame, const char *name, size_t name_bytes, const char *file,
		      size_t file_bytes);

/* 1: such a code has been seen. */
int stack_python_knows_calls(void);

/* Writes the name of the object's class, at most `size` bytes. Returns its bytes; 0: no torch.nn.Module. */
size_t stack_python_class(const struct python_instance *instance, char *name, size_t size);

/* The text of a str object as UTF-8, at most `size` bytes, cut between characters. Bytes; 0: not readable. */
size_t stack_python_text(const uint8_t *string, char *text, size_t size);

#endif
