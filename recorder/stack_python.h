/*
 * stack_python.h - the Python frames of the calling thread, read without the GIL.
 *
 * The thread sits in a call from its own innermost frame, so nobody else changes the chain while it is read. Nothing
 * is touched: no reference is taken, no Python function but the thread-state lookup is called.
 */
#ifndef RECORDER_STACK_PYTHON_H
#define RECORDER_STACK_PYTHON_H

#include <stddef.h>
#include <stdint.h>

#define STACK_PYTHON_MAX 256u  /* largest depth */
#define STACK_PYTHON_WALK 1024u /* frames looked at */

struct python_frame {
	const uint8_t *code; /* PyCodeObject, checked; alive as long as the frame is */
	uint64_t key;	     /* the same for the same code only */
	uint32_t lasti;	     /* byte offset of the instruction */
};

struct python_stack {
	uint32_t count;
	uint32_t elided; /* frames were left out before this index; 0: none were */
	struct python_frame frame[STACK_PYTHON_MAX]; /* innermost first */
};

/* What a code object says; the texts are made by stack_python_text. */
struct python_code {
	const uint8_t *name, *qualname, *file; /* str objects; qualname may be NULL */
	const uint8_t *table;		       /* the line table's bytes */
	uint32_t table_bytes;		       /* 0: none, or too long */
	uint32_t first_line;
};

/* How it went; `why` is one sentence for the trace. */
enum python_state { PYTHON_ABSENT, PYTHON_READY, PYTHON_REFUSED };

/*
 * Looks for an interpreter in the process and learns its layout; again and again is fine. *version: PY_VERSION_HEX,
 * or 0.
 */
enum python_state stack_python_find(uint32_t *version, const char **why);

/*
 * Fills in at most `depth` (<= STACK_PYTHON_MAX) frames: all of them, or the innermost 3/4 and the outermost 1/4.
 * No interpreter, or a thread that Python does not know: count 0.
 */
void stack_python_walk(struct python_stack *stack, uint32_t depth);

/* Takes apart a code object that stack_python_walk has just returned. */
void stack_python_code(const struct python_frame *frame, struct python_code *code);

/* The text of a str object as UTF-8, at most `size` bytes, cut between characters. Bytes; 0: not readable. */
size_t stack_python_text(const uint8_t *string, char *text, size_t size);

#endif
