/*
 * phase_impl.h - the data of the tracker; for formats/phase*.c only.
 *
 *     event ──stack──> phase_stack.c   what the frames say, memoised per node
 *       │────thread──> phase_marks.c   what open ranges, phases and backward passes say, per thread and for the process
 *       │                   │
 *       └──────────────> phase.c       puts both together into a label; phase_loss.c: between a forward and its backward
 *                           └────────> phase_steps.c   counts steps by labels and marks
 *                                           └────────> phase_roles.c   and by the roles of RL frameworks
 *
 *     phase_known.c   labels of events that change nothing, kept per thread and stack
 */
#ifndef FORMATS_PHASE_IMPL_H
#define FORMATS_PHASE_IMPL_H

#include <stddef.h>
#include "memtrace/phase.h"
#include "rules/rules.h"

#define MARKS_MAX 256u /* most open ranges of a thread, and of the process; deeper ones are only counted */

/* The role by a stack's frames, and the running role function of a framework. */
struct role_span {
	uint8_t role;      /* role of the outermost frame that has one, or of an inner frame that insists */
	uint8_t loop;      /* role of the frames that count for steps (`span` of the rules) */
	uint8_t outermost; /* role of the outermost frame in the RL loop; MT_ROLE_NONE: none */
	uint8_t around;    /* role of the outermost frame that has one; an inner frame may have taken over */
	uint32_t frame;    /* frame of `role`; 0: none */
	uint64_t function; /* function of `outermost`; equal numbers are equal functions; 0: none */
};

/* The joint meaning of the frames from the outermost to a node. */
struct stack_state {
	uint8_t known; /* computed already */
	uint8_t part, category;
	uint8_t step;        /* enum rule_step of the outermost frame with one */
	uint8_t python, cut; /* 1: has Python frames; 1: frames are left out */
	uint8_t backward;    /* a backward or a recomputation is among the frames */
	uint8_t inner; /* 1: the role is of a frame inside the left-out ones, and gives way to a role among them */
	uint8_t over;  /* the role outside that the inner role does take over from */
	uint8_t outer; /* 1: the role is of a frame outside the left-out ones, and one among them may take over */
	uint8_t claim, claim_over; /* role of an inner frame; the one role that it takes over from */
	uint8_t begun, helper;     /* 1: frames after the thread's start; 1: started to work for others */
	uint32_t part_frame;       /* frame of `part`; 0: none */
	uint32_t caller;           /* node around the outermost frame with a part; 0: none */
	struct role_span span;
};

/* The joint meaning of marks. `serial`: number of the newest mark with a meaning; 0: none. */
struct mark_state {
	uint8_t role, part, category;
	uint64_t serial;
};

struct mark {
	uint32_t domain; /* string id, or MARK_PHASE */
	uint32_t name;
	uint8_t is_step;
	struct mark_state sum; /* joint meaning of this mark and those around it */
	struct rule_match match;
	uint64_t serial;
	uint64_t handle; /* process-wide ranges */
	uint32_t thread;
};

#define MARK_PHASE UINT32_MAX

/* The work of a thread by its stack, marks and windows. Its helpers do the same. */
struct track_work {
	uint8_t role, part, category;
};

struct track_thread {
	uint8_t known, is_main, is_autograd;
	uint8_t last_role;                    /* role of its newest memory event */
	uint8_t last_captures;                /* 1: that event has Python frames of CUDA graphs */
	uint8_t window_role, window_captures; /* role and capture of the code that started the backward */
	struct role_span span;                /* span of its newest event whose stack could tell */
	uint32_t forward;       /* node that called the newest forward without a later backward or optimizer; 0: none */
	uint64_t loop;          /* function (function_at()) that calls forward and backward; 0: unknown */
	uint8_t helper;         /* the thread was started to work for others */
	struct track_work work; /* work by its newest memory event */
	uint32_t windows;       /* number of open, nested backward windows */
	uint64_t window_serial;
	struct mark *mark; /* innermost last */
	uint32_t marks, marks_max, marks_over;
};

#define TRAINERS_MAX 8u

/* A role function that trains. `function` stays known; the rest is about the running step. */
struct trainer {
	uint64_t function; /* as in struct role_span */
	uint32_t thread;
	uint8_t ran, left; /* 1: trained in this step; 1: its thread was outside of it since */
};

/* The state of phase_roles.c. A thread is its id plus 1; 0: none. */
struct track_roles {
	uint32_t update_thread;  /* thread of the weight update that ends the step */
	uint32_t sleep_thread;   /* thread that puts the engine to sleep, which ends the step */
	uint8_t updates, sleeps; /* 1: weight updates were seen; 1: an engine that sleeps was seen */
	uint8_t awake, rolled,
		renewed; /* since the last end: the engine woke up; a rollout ran; new weights came after it */
	uint32_t trainers;
	struct trainer trainer[TRAINERS_MAX];
};

/* The sources of ends of steps; a later one beats the earlier ones. */
enum step_source { STEP_BY_WINDOW, STEP_BY_OPTIMIZER, STEP_BY_ROLES, STEP_BY_MARK, STEP_BY_RANGE, STEP_BY_API };

struct track_steps {
	uint32_t ended;
	enum step_source source;
	int backward, work; /* happened since the last end */
	int inside;         /* 1: the optimizer is running; the step ends with the next event outside */
	uint32_t inside_thread;
	int in_backward; /* 1: the optimizer has run inside the running backward */
	int optimizer_seen, stacks_seen, mark_seen;
	uint32_t windows;      /* number of closed windows since another source ended a step */
	uint32_t range_thread; /* thread whose step ranges count; 0: none yet */
	int due;               /* 1: the step has ended: the next event is the first one of the next step */
	struct track_roles roles;
	/* From here on: nothing that decides about a memory event. */
	char pattern[256];           /* "": auto */
	char due_why[320], why[320]; /* reasons, with at most 256 bytes of a name */
};

/* The label of the events of a thread with a stack, as long as no event changes the tracker. */
struct known_label {
	uint64_t key;     /* thread and stack */
	uint64_t changes; /* the tracker's `changes`, and `follow_steps`; 0: empty */
	uint32_t needs;   /* the thread's `forward` that the label depends on, or ANY_FORWARD */
	uint32_t leaves;  /* the thread's `forward` after the event, or ANY_FORWARD: as before */
	struct mt_label label;
};

#define ANY_FORWARD UINT32_MAX

#define KNOWN_LABELS 512u

#define COUNT_ONE(...) +1
enum { ROLES = 0 MT_ROLE_LIST(COUNT_ONE), PARTS = 0 MT_PART_LIST(COUNT_ONE) };
#undef COUNT_ONE

struct mt_tracker {
	const struct mt_rules *rules;
	const struct mt_defs *defs;
	struct stack_state *node;    /* by node id */
	struct rule_match *frame;    /* by frame id; bit 15 of `said`: filled in */
	struct rule_match *name;     /* by string id; the same */
	struct track_thread *thread; /* by thread id */
	size_t nodes, frames, names, threads;
	uint8_t category[ROLES][PARTS]; /* the rules' answer for role and part alone */
	uint64_t changes;               /* events that changed the state; from 1 */
	struct known_label known[KNOWN_LABELS];
	/* From here to the used entries of steps.roles.trainer: the state. */
	uint32_t ranges;        /* used entries of `range` */
	uint32_t main_thread;   /* thread id, 0: not seen */
	uint32_t window_thread; /* id plus 1 of the thread with the newest open backward window; 0: none */
	uint32_t work_thread;   /* id plus 1 of the newest thread with work for helpers; 0: none */
	uint32_t span_thread;   /* id plus 1 of the newest thread in a role function; 0: none */
	uint64_t serial;        /* for marks and windows */
	int begun;              /* something other than init has run */
	struct track_steps steps;
	struct mark range[MARKS_MAX]; /* process-wide, oldest first; last and not cleared: few processes touch it */
};

#define MATCH_KNOWN 0x8000u

/* phase_names.c */
/* Makes room for `index` in *array, zeroed. 0, -MT_E_MEMORY or -MT_E_LIMIT. */
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

/* 1: the steps of the RL loop consist of this role. */
static inline int role_is_of_the_loop(uint8_t role)
{
	return role != MT_ROLE_NONE && role != MT_ROLE_INIT && role != MT_ROLE_OTHER;
}

/*
 * phase_known.c. A memory event that leaves the state as it was gets a label that holds for the next event of its
 * thread and stack, until an event changes the state.
 */
#define STATE_BEGIN offsetof(struct mt_tracker, ranges)
#define STATE_END offsetof(struct mt_tracker, steps.roles.trainer)

/* Whether an event set or read the `forward` of its thread. */
enum forward_use { FORWARD_UNUSED, FORWARD_SET, FORWARD_READ };

/* The state that a memory event of one thread may change. */
struct track_state {
	struct track_thread thread;
	char rest[STATE_END - STATE_BEGIN];
	struct trainer trainer[TRAINERS_MAX];
};

void known_begin(const struct mt_tracker *tracker, uint32_t thread, struct track_state *before);
void known_end(struct mt_tracker *tracker, const struct mt_event *event, uint32_t thread, int follow,
	       struct track_state *before, enum forward_use use, const struct mt_label *label);

static inline struct known_label *known_slot(struct mt_tracker *tracker, const struct mt_event *event)
{
	uint64_t hash = (event->stack ^ event->thread << 20) * 0x9e3779b97f4a7c15ull;

	return &tracker->known[(hash >> 40) % KNOWN_LABELS];
}

static inline uint64_t known_key(const struct mt_event *event)
{
	return event->thread << 32 | (event->stack & UINT32_MAX);
}

static inline uint64_t known_changes(const struct mt_tracker *tracker, int follow)
{
	return tracker->changes << 1 | (follow != 0);
}

/* Takes an event with a known label. 1: done; 0: its label is not known. */
static inline int known_take(struct mt_tracker *tracker, const struct mt_event *event, int follow,
			     struct mt_label *label)
{
	const struct known_label *known = known_slot(tracker, event);
	struct track_thread *thread;

	if (known->key != known_key(event) || known->changes != known_changes(tracker, follow) ||
	    !tracker_is_memory(event->kind) || (event->thread | event->stack) > UINT32_MAX)
		return 0;
	thread = &tracker->thread[event->thread];
	if (known->needs != ANY_FORWARD && known->needs != thread->forward)
		return 0;
	if (known->leaves != ANY_FORWARD)
		thread->forward = known->leaves;
	*label = known->label;
	return 1;
}

/* phase_stack.c: computes the state of a node that is not known yet. */
const struct stack_state *tracker_climb(struct mt_tracker *tracker, uint64_t node);

/* Never NULL; all 0 for node 0, unknown nodes and when memory is out. Valid until the next call. */
static inline const struct stack_state *tracker_stack(struct mt_tracker *tracker, uint64_t node)
{
	if (node < tracker->nodes && tracker->node[node].known)
		return &tracker->node[node];
	return tracker_climb(tracker, node);
}

/* 1: no Python frame is missing, so the stack shows all that runs. */
static inline int stack_is_whole(const struct stack_state *stack)
{
	return stack->python && !stack->cut;
}

/* phase_marks.c */
void tracker_mark_event(struct mt_tracker *tracker, const struct mt_event *event, uint32_t thread);
void tracker_window_lost(struct mt_tracker *tracker, uint32_t thread); /* its end is missing */
struct mark_state tracker_ranges_and_marks(const struct mt_tracker *tracker, uint32_t thread);

/* The thread's own. */
static inline struct mark_state tracker_marks(const struct mt_tracker *tracker, uint32_t thread)
{
	const struct track_thread *own = &tracker->thread[thread];
	const struct mark_state none = { 0 };

	if (tracker->ranges)
		return tracker_ranges_and_marks(tracker, thread);
	return own->marks ? own->mark[own->marks - 1].sum : none;
}

struct mark_state tracker_process_marks(const struct mt_tracker *tracker); /* for threads without marks */

static inline int role_may_train(uint8_t role)
{
	return role == MT_ROLE_NONE || role == MT_ROLE_TRAIN;
}

/* 1: an event of a forward that a function calls: it becomes the thread's `forward`, whatever that was. */
static inline int tracker_sets_forward(const struct stack_state *stack, const struct mt_label *label)
{
	return label->part == MT_PART_FORWARD && stack->part == MT_PART_FORWARD && stack->caller &&
	       role_may_train(label->role);
}

/* 1: whether the event is between a forward and its backward depends on the thread's `forward`. */
static inline int tracker_may_be_loss(const struct stack_state *stack, const struct mt_label *label)
{
	return !label->part && !label->category && role_may_train(label->role) && stack->python;
}

/*
 * phase_loss.c. Notes a labelled event. tracker_is_loss: 1: an event without a part is between a forward and its
 * backward.
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
int tracker_step_names(const struct mt_tracker *tracker, const char *name); /* 1: --step-mark names it */

/*
 * phase_roles.c. Call roles_end before roles_note for each event. roles_end returns the reason for the end of the step
 * before this event, static; NULL: the step goes on. roles_note adds the event to the running step; 1: this process
 * trains in role functions.
 */
const char *roles_end(struct track_roles *roles, uint32_t thread, const struct stack_state *stack);
int roles_note(struct track_roles *roles, uint32_t thread, const struct stack_state *stack, int in_backward);
void roles_forget(struct track_roles *roles);                /* a step has ended, for any reason */
const char *roles_finished(const struct track_roles *roles); /* words, NULL: the end of the program ends no step */
int roles_pending(const struct track_roles *roles);          /* 1: something that will end the step has begun */

/* 1: no role function runs or is waited for, so roles_end and roles_note can be skipped. */
static inline int roles_are_idle(const struct track_roles *roles, const struct stack_state *stack)
{
	return !roles->trainers && !roles->update_thread && !roles->sleep_thread && stack->span.role == MT_ROLE_NONE &&
	       stack->step == RULE_STEP_NOTHING;
}

#endif
