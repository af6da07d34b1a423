/*
 * phase_impl.h - what the tracker keeps; for formats/phase*.c only.
 *
 *     event ──stack──> phase_stack.c   what the frames say, memoised per node
 *       │────thread──> phase_marks.c   what open ranges, phases and backward passes say, per thread and for the process
 *       │                   │
 *       └──────────────> phase.c       puts both together into a label; phase_loss.c: between a forward and its backward
 *                           └────────> phase_steps.c   counts steps by labels and marks
 *                                           └────────> phase_roles.c   and by the roles of RL frameworks
 */
#ifndef FORMATS_PHASE_IMPL_H
#define FORMATS_PHASE_IMPL_H

#include "memtrace/phase.h"
#include "rules/rules.h"

#define MARKS_MAX 256u /* open ranges per thread, and of the process: deeper ones are counted, not kept */

/* The role that frames say, and the role function of a framework that is at work. */
struct role_span {
	uint8_t role;      /* from the outermost frame that says one, or from an inner one that insists */
	uint8_t loop;      /* the same of those frames that have a say in steps (`span` of the rules) */
	uint8_t outermost; /* the outermost one that is part of the RL loop, MT_ROLE_NONE: there is none */
	uint8_t around;    /* from the outermost frame that says any: others may have taken over from it */
	uint32_t frame;    /* the frame that said `role`, 0: none */
	uint64_t function; /* the function that says `outermost`: equal numbers are equal functions, 0: none */
};

/* The joint meaning of the frames from the outermost to a node. */
struct stack_state {
	uint8_t known; /* computed already */
	uint8_t part, category;
	uint8_t step;        /* enum rule_step of the outermost frame that has one */
	uint8_t python, cut; /* has Python frames; lacks some that were left out */
	uint8_t backward;    /* a backward or a recomputation is among the frames */
	uint8_t inner; /* the role is that of a frame inside of what was left out, and stands only if there is none */
	uint8_t over;  /* .. or this one outside of it */
	uint8_t outer; /* the role is that of a frame outside of what was left out: who would take over may be missing */
	uint8_t claim, claim_over; /* role of a frame inside, which would take over from another role only */
	uint8_t begun, helper;     /* the thread's start is passed; it was started to work for others */
	uint32_t part_frame;       /* the frame that said `part`, 0: nobody */
	uint32_t caller; /* node around the outermost frame that said a part, 0: none did, or there is no such node */
	struct role_span span;
};

/* The joint meaning of marks; `serial` of the newest that says something, 0: none does. */
struct mark_state {
	uint8_t role, part, category;
	uint64_t serial;
};

struct mark {
	uint32_t domain; /* string id, or MARK_PHASE */
	uint32_t name;
	uint8_t is_step;
	struct mark_state sum; /* this mark and those around it, together */
	struct rule_match match;
	uint64_t serial;
	uint64_t handle; /* process-wide ranges */
	uint32_t thread;
};

#define MARK_PHASE UINT32_MAX

/* The work of a thread, as its own stack, marks and windows say. Its helpers do the same. */
struct track_work {
	uint8_t role, part, category;
};

struct track_thread {
	uint8_t known, is_main, is_autograd;
	uint8_t last_role;                    /* at its newest memory event */
	uint8_t last_captures;                /* 1: the Python of that event is of CUDA graphs */
	uint8_t window_role, window_captures; /* from the code that started the backward */
	struct role_span span;                /* from its newest event with a stack that could tell */
	uint32_t forward; /* node that called its newest forward, which no backward or optimizer has followed; 0: none */
	uint64_t loop;    /* the function that calls forward and backward, as function_at() numbers it; 0: not known */
	uint8_t helper;   /* the thread was started to work for others */
	struct track_work work; /* as its newest memory event says */
	uint32_t windows;       /* nested backward windows that are open */
	uint64_t window_serial;
	struct mark *mark; /* innermost last */
	uint32_t marks, marks_max, marks_over;
};

#define TRAINERS_MAX 8u

/* A role function that trains. Known for good once it was seen; the rest is about the running step. */
struct trainer {
	uint64_t function; /* as in struct role_span */
	uint32_t thread;
	uint8_t ran, left; /* in this step; and its thread was outside of it since */
};

/* The memory of phase_roles.c. Threads are ids plus 1, 0: none. */
struct track_roles {
	struct trainer trainer[TRAINERS_MAX];
	uint32_t trainers;
	uint32_t update_thread;  /* runs the weight update with which the step ends */
	uint32_t sleep_thread;   /* puts the engine to sleep, with which the step ends */
	uint8_t updates, sleeps; /* were ever seen: weight updates, an engine that sleeps and wakes */
	uint8_t awake, rolled,
		renewed; /* since the last end: the engine woke up; a rollout ran, new weights came after it */
};

/* The authority that decides on the ends of steps; a later one beats the earlier ones. */
enum step_source { STEP_BY_WINDOW, STEP_BY_OPTIMIZER, STEP_BY_ROLES, STEP_BY_MARK, STEP_BY_RANGE, STEP_BY_API };

struct track_steps {
	char pattern[256]; /* "": auto */
	uint32_t ended;
	enum step_source source;
	struct track_roles roles;
	int backward, work; /* happened since the last end */
	int inside;         /* events inside the optimizer came; the step ends with the next one outside */
	uint32_t inside_thread;
	int optimizer_seen, stacks_seen, mark_seen;
	uint32_t windows;            /* closed ones, since something else than a window ended a step */
	uint32_t range_thread;       /* the thread with the step ranges that count, 0: none yet */
	int due;                     /* the step has ended: the next event is the first of the new one */
	char due_why[320], why[320]; /* words, of at most 256 bytes of somebody's name */
};

#define COUNT_ONE(...) +1
enum { ROLES = 0 MT_ROLE_LIST(COUNT_ONE), PARTS = 0 MT_PART_LIST(COUNT_ONE) };
#undef COUNT_ONE

struct mt_tracker {
	const struct mt_rules *rules;
	const struct mt_defs *defs;
	struct stack_state *node;    /* by node id */
	struct rule_match *frame;    /* by frame id; bit 15 of `said`: known */
	struct rule_match *name;     /* by string id; the same */
	struct track_thread *thread; /* by thread id */
	size_t nodes, frames, names, threads;
	uint32_t ranges;                /* used entries of `range` */
	uint32_t main_thread;           /* thread id, 0: not seen */
	uint32_t window_thread;         /* thread id plus 1 of the newest open backward window, 0: none is open */
	uint32_t work_thread;           /* thread id plus 1 that was the newest with work for helpers, 0: none */
	uint32_t span_thread;           /* thread id plus 1 that was the newest in a role function, 0: none */
	uint64_t serial;                /* for marks and windows */
	int begun;                      /* something other than init has run */
	uint8_t category[ROLES][PARTS]; /* the rules' answer for role and part alone */
	struct track_steps steps;
	struct mark range[MARKS_MAX]; /* process-wide, oldest first; last and not cleared: few processes touch it */
};

#define MATCH_KNOWN 0x8000u

/* phase_names.c */
/* Room for `index` in the array that `array` points to, zeroed. 0, -MT_E_MEMORY or -MT_E_LIMIT. */
int tracker_grow(void *array, size_t *count, uint64_t index, size_t item);
uint8_t part_inside(uint8_t outer, uint8_t inner);

/* Bytes come or go. */
static inline int tracker_is_memory(uint32_t kind)
{
	const uint32_t kinds = 1u << MT_TENSOR_ALLOC | 1u << MT_TENSOR_FREE | 1u << MT_DRIVER_ALLOC |
			       1u << MT_DRIVER_FREE | 1u << MT_VMM_CREATE | 1u << MT_VMM_RELEASE | 1u << MT_VMM_MAP |
			       1u << MT_VMM_UNMAP;

	return kind < 32 && kinds >> kind & 1;
}

/* Roles that the steps of the RL loop consist of. */
static inline int role_is_of_the_loop(uint8_t role)
{
	return role != MT_ROLE_NONE && role != MT_ROLE_INIT && role != MT_ROLE_OTHER;
}

/* phase_stack.c: what is not known of a node yet. */
const struct stack_state *tracker_climb(struct mt_tracker *tracker, uint64_t node);

/* Never NULL; all 0 for node 0, unknown nodes and when memory is out. Valid until the next call. */
static inline const struct stack_state *tracker_stack(struct mt_tracker *tracker, uint64_t node)
{
	if (node < tracker->nodes && tracker->node[node].known)
		return &tracker->node[node];
	return tracker_climb(tracker, node);
}

/* Every Python frame is there: what the stack does not say is not so. */
static inline int stack_is_whole(const struct stack_state *stack)
{
	return stack->python && !stack->cut;
}

/* phase_marks.c */
void tracker_mark_event(struct mt_tracker *tracker, const struct mt_event *event, uint32_t thread);
void tracker_window_lost(struct mt_tracker *tracker, uint32_t thread); /* it is over, though nobody said so */
struct mark_state tracker_marks(const struct mt_tracker *tracker, uint32_t thread); /* the thread's own */
struct mark_state tracker_process_marks(const struct mt_tracker *tracker);          /* for whoever has none */

/*
 * phase_loss.c. Takes note of an event that was labelled; and is one with this label, of which nobody said what part it is,
 * between a forward and its backward?
 */
void tracker_loss_note(struct mt_tracker *tracker, struct track_thread *thread, const struct stack_state *stack,
		       const struct mt_label *label);
int tracker_is_loss(const struct mt_tracker *tracker, const struct track_thread *thread, uint64_t node,
		    const struct stack_state *stack, const struct mt_label *label);

/* phase_steps.c: 1 where the event is the first of a new step; `follow` 0: never, but all is remembered */
int tracker_step_due(struct mt_tracker *tracker, int follow);
void tracker_step_range(struct mt_tracker *tracker, const struct mark *mark, uint32_t thread, int opened,
			int outermost);
void tracker_step_instant(struct mt_tracker *tracker, uint32_t name, int is_step);
int tracker_step_event(struct mt_tracker *tracker, const struct mt_event *event, uint32_t thread,
		       const struct stack_state *stack, const struct mark_state *marks, const struct mt_label *label,
		       int follow);
void tracker_step_told(struct mt_tracker *tracker, const struct mt_event *event);
int tracker_step_names(const struct mt_tracker *tracker, const char *name); /* does --step-mark name it? */

/*
 * phase_roles.c. First words for what ended the step before an event with this stack, NULL: it goes on; then the event
 * is taken into the running step. 1: this process trains in role functions. Words are static.
 */
const char *roles_end(struct track_roles *roles, uint32_t thread, const struct stack_state *stack);
int roles_note(struct track_roles *roles, uint32_t thread, const struct stack_state *stack, int in_backward);
void roles_forget(struct track_roles *roles);                /* a step has ended, by whatever */
const char *roles_finished(const struct track_roles *roles); /* words, NULL: the end of the program ends no step */
int roles_pending(const struct track_roles *roles);          /* something that ends a step has begun */

/* No role function is at work here, nor waited for: roles_end and roles_note would find nothing. */
static inline int roles_are_idle(const struct track_roles *roles, const struct stack_state *stack)
{
	return !roles->trainers && !roles->update_thread && !roles->sleep_thread && stack->span.role == MT_ROLE_NONE &&
	       stack->step == RULE_STEP_NOTHING;
}

#endif
