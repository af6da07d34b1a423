/*
 * stack_python.h - the Python frames of the calling thread, read without the GIL.
 *
 * The thread sits in a call from its own innermost frame, so nobody else changes the chain while it is read. Nothing
 * is touched: no reference is taken, and no Python function is called but those that just return a pointer.
 */
#ifndef RECORDER_STACK_PYTHON_H
#define RECORDER_STACK_PYTHON_H

#include <stddef.h>
#include <stdint.h>

#define STACK_PYTHON_MAX 256u    /* largest depth */
#define STACK_PYTHON_WALK 16384u /* frames looked at */

struct python_frame {
	const uint8_t *code; /* PyCodeObject, checked; alive as long as the frame is */
	uint64_t key;        /* the same for the same code only, also when its address is used again */
	uint32_t lasti;      /* byte offset of the instruction */
};

/* The object of a frame that is the call of a module, and its class. Both live as long as the frame. */
struct python_instance {
	const uint8_t *object, *type;
	uint32_t frame; /* its index in the stack; STACK_ELIDED: it was left out */
};

#define STACK_INSTANCES_MAX 64u
#define STACK_ELIDED UINT32_MAX

/* Innermost first; of more than fit, the innermost ones. */
struct python_instances {
	uint32_t count;
	struct python_instance of[STACK_INSTANCES_MAX];
};

struct python_stack {
	uint32_t count;
	uint32_t elided; /* frames were left out before this index (count: after the last); 0: none were */
	uint64_t hash;   /* codes and instructions of the frames */
	uint64_t calls; /* hash of the modules whose calls the frames are, of those that are left out, too; 0: there is none */
	struct python_frame frame[STACK_PYTHON_MAX]; /* innermost first; stack_python_frames alone fills them in */
};

/* The facts of a code object; the texts are made by stack_python_text. */
struct python_code {
	const uint8_t *name, *qualname, *file; /* str objects; qualname may be NULL */
	const uint8_t *table;                  /* the line table's bytes */
	uint32_t table_bytes;                  /* 0: none, or too long */
	uint32_t first_line;
};

/* BUSY: another thread is looking at this very moment. */
enum python_state { PYTHON_ABSENT, PYTHON_READY, PYTHON_REFUSED, PYTHON_BUSY };

/*
 * Looks for an interpreter in the process and learns its layout. May be called repeatedly: an interpreter may come
 * later, and one that was found may turn out to be unreadable. *version: PY_VERSION_HEX, or 0. *why: one sentence for
 * the trace when refused.
 */
enum python_state stack_python_find(uint32_t *version, const char **why);

/* The answer of stack_python_find as of now, without looking. */
enum python_state stack_python_state(void);

/*
 * Takes at most `depth` (<= STACK_PYTHON_MAX) frames: all of them, or the innermost 3/4 and the outermost 1/4, or,
 * of stacks deeper than STACK_PYTHON_WALK, the innermost ones (elided is count then). No interpreter, a thread that
 * Python does not know or whose interpreter is not known for certain: count 0. All but `frame` is filled in. 1: this interpreter has just been found not to be what it says.
 * Call this and stack_python_frames in the work of own_stack_call.
 */
int stack_python_walk(struct python_stack *stack, uint32_t depth);

/* The same with `frame`. This takes longer: for stacks that are new. */
void stack_python_frames(struct python_stack *stack, uint32_t depth);

/* The modules whose calls the frames of the stack are that stack_python_walk has just returned. */
void stack_python_instances(const struct python_stack *stack, struct python_instances *instances);

/* Takes apart a code object that stack_python_frames has just returned. */
void stack_python_code(const struct python_frame *frame, struct python_code *code);

/*
 * Tells that `frame` is of the code with that name in that file. 1: this is the first time that such a code, a module's
 * call, is seen: walks see modules in its frames from now on.
 */
int stack_python_meet(const struct python_frame *frame, const char *name, size_t name_bytes, const char *file,
		      size_t file_bytes);

/* 1: such a code has been seen. */
int stack_python_knows_calls(void);

/* The name of its class, at most `size` bytes. Bytes; 0: the object is no torch.nn.Module. */
size_t stack_python_class(const struct python_instance *instance, char *name, size_t size);

/* The text of a str object as UTF-8, at most `size` bytes, cut between characters. Bytes; 0: not readable. */
size_t stack_python_text(const uint8_t *string, char *text, size_t size);

#endif
