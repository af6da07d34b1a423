/*
 * phase_impl.h - what the tracker keeps; for formats/phase*.c only.
 *
 *     event ──stack──> phase_stack.c   what the frames say, memoised per node
 *       │────thread──> phase_marks.c   what open ranges and phases say, per thread and for the process
 *       │                   │
 *       └──────────────> phase.c       puts both together into a label
 *                           └────────> phase_steps.c   counts steps by labels and marks
 */
#ifndef FORMATS_PHASE_IMPL_H
#define FORMATS_PHASE_IMPL_H

#include "memtrace/phase.h"
#include "rules.h"

#define MARKS_MAX 256u /* open ranges per thread, and of the process: deeper ones are counted, not kept */

/* What the frames from the outermost to a node say together. */
struct stack_state {
	uint8_t known; /* computed already */
	uint8_t role, part, category;
	uint8_t steps; /* inside a frame whose end is the end of a step */
	uint32_t role_frame, part_frame; /* who said it, 0: nobody */
};

/* What marks say together; `serial` of the newest that says something, 0: none does. */
struct mark_state {
	uint8_t role, part, category;
	uint64_t serial;
};

struct mark {
	uint32_t domain; /* string id, or MARK_PHASE */
	uint32_t name;
	uint8_t is_step;
	struct mark_state sum; /* of this mark and those around it */
	struct rule_match match;
	uint64_t serial;
	uint64_t handle; /* process-wide ranges */
	uint32_t thread;
};

#define MARK_PHASE UINT32_MAX

struct track_thread {
	uint8_t known, is_main, is_autograd;
	uint8_t last_role;   /* of its newest memory event */
	uint8_t window_role; /* of the code that started the backward */
	uint32_t windows;    /* nested backward windows that are open */
	uint64_t window_serial;
	struct mark *mark;   /* innermost last */
	uint32_t marks, marks_max, marks_over;
};

/* Who decides where steps end; a later one beats the earlier ones. */
enum step_source { STEP_BY_WINDOW, STEP_BY_OPTIMIZER, STEP_BY_MARK, STEP_BY_RANGE, STEP_BY_API };

struct track_steps {
	char pattern[256];	 /* "": auto */
	uint32_t ended;
	enum step_source source;
	int backward, work;	 /* happened since the last end */
	int inside;		 /* events inside the optimizer came; the step ends with the next one outside */
	uint32_t inside_thread;
	int optimizer_seen, stacks_seen, mark_seen;
	uint32_t windows;	 /* closed ones */
	uint32_t range_thread;	 /* whose step ranges count, 0: nobody's yet */
	int due;		 /* the step has ended: the next event is the first of the new one */
	char due_why[320], why[320]; /* words, of at most 256 bytes of somebody's name */
};

struct mt_tracker {
	const struct mt_rules *rules;
	const struct mt_defs *defs;
	struct stack_state *node; /* by node id */
	struct rule_match *frame; /* by frame id; bit 7 of `said`: known */
	struct rule_match *name;  /* by string id; the same */
	struct track_thread *thread; /* by thread id */
	size_t nodes, frames, names, threads;
	struct mark range[MARKS_MAX]; /* process-wide, oldest first */
	uint32_t ranges;
	uint32_t main_thread;	  /* thread id, 0: not seen */
	uint32_t window_thread;	  /* thread id plus 1 of the newest open backward window, 0: none is open */
	uint64_t serial;	  /* of marks and windows */
	int begun;		  /* something other than init has run */
	struct track_steps steps;
};

#define MATCH_KNOWN 0x80u

/* phase.c */
/* Room for `index` in the array that `array` points to, zeroed. 0, -MT_E_MEMORY or -MT_E_LIMIT. */
int tracker_grow(void *array, size_t *count, uint64_t index, size_t item);
uint8_t part_inside(uint8_t outer, uint8_t inner);

/* phase_stack.c: never NULL; all 0 for node 0, unknown nodes and when memory is out */
const struct stack_state *tracker_stack(struct mt_tracker *tracker, uint64_t node);

/* phase_marks.c */
void tracker_mark_event(struct mt_tracker *tracker, const struct mt_event *event, uint32_t thread);
struct mark_state tracker_marks(const struct mt_tracker *tracker, uint32_t thread); /* the thread's own */
struct mark_state tracker_process_marks(const struct mt_tracker *tracker);	    /* for whoever has none */

/* phase_steps.c: 1 where the event is the first of a new step; `follow` 0: never, but all is remembered */
int tracker_step_due(struct mt_tracker *tracker, int follow);
void tracker_step_range(struct mt_tracker *tracker, const struct mark *mark, uint32_t thread, int opened,
			int outermost);
void tracker_step_instant(struct mt_tracker *tracker, uint32_t name, int is_step);
int tracker_step_event(struct mt_tracker *tracker, const struct mt_event *event, uint32_t thread,
		       const struct mt_label *label, int inside, int follow);
void tracker_step_told(struct mt_tracker *tracker, const struct mt_event *event);
int tracker_step_names(const struct mt_tracker *tracker, const char *name); /* does --step-mark name it? */
int tracker_is_memory(uint32_t kind);

#endif
