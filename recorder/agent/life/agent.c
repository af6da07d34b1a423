/*
 * agent.c - the life of the recorder inside the process: asleep, armed, on, off; forks; and the way of one event. How a recording begins: agent_start.c.
 */
#include "agent_impl.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "agent/loaded/loaded.h"
#include "agent/ring/guest_map.h"
#include "agent/ring/mark_buffer.h"
#include "agent/stacks/own_stack.h"
#include "agent/stacks/readable.h"
#include "agent/stacks/stack.h"
#include "life.h"
#include "memtrace/base.h"
#include "memtrace/clock.h"
#include "memtrace/error.h"
#include "shared/textbuf.h"

#define DOMAIN_MAX 256u /* bytes of a domain's name that are kept */

struct agent agent;

/* The recorder at work in a thread: lies in the frame of a function that a hook has called. */
struct visit {
	const struct visit *self; /* as long as the frame is there */
	int saved;                /* errno */
};

/* Small: the library may be loaded late, when little static TLS is left. */
struct agent_thread {
	uint64_t epoch; /* the life that the rest belongs to */
	uint32_t serial, tid;
	uint8_t sealed;   /* no system call may be made */
	uint8_t autograd; /* enum mt_thread_flag */
	uint8_t logged;   /* the log knows this thread */
	struct ring_writer writer;
	const struct visit *visit; /* inside the recorder; NULL: it is not */
	struct life_line *line;    /* it is counted there, as long as it is inside */
	int *error;                /* its errno, from the first visit on: each call of libc for it takes 2 ns */
};

static __thread struct agent_thread thread;

/* For what each event does: a call and its return cost more than the few instructions of such a function. */
#define AGENT_INLINE static inline __attribute__((always_inline))

void agent_count_lost(enum mt_loss loss)
{
	if (life_state() == LIFE_ON)
		atomic_fetch_add(&agent.ring.header->lost[loss], 1);
	else
		atomic_fetch_add(&agent.lost[loss], 1);
}

int agent_has_cuda(void)
{
	return atomic_load(&agent.cuda);
}

static __attribute__((noinline)) void stop(uint32_t word)
{
	life_change(word, LIFE_ON, pause_or_off());
}

AGENT_INLINE int is_on(void)
{
	uint32_t word = atomic_load_explicit(&life->word, memory_order_acquire);

	if ((word & LIFE_STATE_MASK) != LIFE_ON)
		return 0;
	if (!atomic_load_explicit(&agent.ring.header->stop, memory_order_relaxed))
		return 1;
	stop(word);
	return 0;
}

int agent_is_on(void)
{
	return is_on();
}

/*
 * Unmaps what a recording that is over has left, once no thread is inside. 1: nothing is left. For threads that are not inside
 * themselves.
 */
static int let_go(void)
{
	uint32_t state = life_state();
	int idle = 0;

	if (!atomic_load_explicit(&agent.mapped, memory_order_acquire))
		return 1;
	if ((state != LIFE_OFF && state != LIFE_ASLEEP) || thread.sealed || thread.visit ||
	    !atomic_compare_exchange_strong(&agent.letting_go, &idle, 1))
		return 0;
	if (atomic_load(&agent.mapped) && life_is_empty()) {
		ring_forget(&agent.ring);
		stacks_release(&agent.stacks);
		atomic_store(&agent.mapped, 0);
	}
	atomic_store(&agent.letting_go, 0);
	return !atomic_load(&agent.mapped);
}

int agent_is_listening(void)
{
	uint32_t state = life_state();

	if (thread.sealed)
		return 0;
	if (state == LIFE_OFF)
		let_go();
	return state == LIFE_ON ? agent_is_on() || life_state() == LIFE_PAUSED : state >= LIFE_PAUSED;
}

int agent_is_paused(void)
{
	return life_state() == LIFE_PAUSED && !pause_is_over(1);
}

int agent_is_over(void)
{
	return !thread.sealed && !agent_is_on() && life_state() == LIFE_OFF;
}

static __attribute__((noinline)) void begin_thread(uint64_t epoch)
{
	memset(&thread.writer, 0, sizeof(thread.writer));
	thread.logged = 0;
	thread.serial = atomic_fetch_add(&agent.threads, 1) + 1;
	thread.tid = (uint32_t)syscall(SYS_gettid);
	thread.epoch = epoch;
}

/* This thread in this life. */
AGENT_INLINE struct agent_thread *this_thread(void)
{
	uint64_t epoch = atomic_load_explicit(&life->epoch, memory_order_relaxed);

	if (thread.epoch != epoch)
		begin_thread(epoch);
	return &thread;
}

void agent_thread_is_autograd(void)
{
	thread.autograd = MT_THREAD_AUTOGRAD;
	thread.logged = 0;
}

void agent_thread_is_sealed(void)
{
	thread.sealed = 1;
}

int agent_is_sealed(void)
{
	return thread.sealed;
}

/* ---- Threads and events ---- */

/* Records for the log of a thread; `name` at most 16 bytes. 1: it is there, 0: the log is full. */
static int log_thread(uint32_t serial, uint32_t tid, uint32_t flags, const char *name)
{
	size_t name_bytes = strlen(name), bytes = sizeof(struct ring_log_thread) + name_bytes;
	struct ring_log_thread *record = (struct ring_log_thread *)ring_log_begin(&agent.ring, RING_LOG_THREAD, bytes);

	if (!record)
		return 0;
	if (tid == agent.ring.header->pid)
		flags |= MT_THREAD_MAIN;
	if (!strncmp(name, "pt_autograd_", 12))
		flags |= MT_THREAD_AUTOGRAD;
	record->log.key = serial;
	record->tid = tid;
	record->flags = flags;
	record->name_bytes = (uint32_t)name_bytes;
	memcpy(record + 1, name, name_bytes);
	ring_log_end(&record->log, bytes);
	return 1;
}

static void log_this_thread(struct agent_thread *me)
{
	char name[17] = "";

	syscall(SYS_prctl, PR_GET_NAME, name); /* prctl is hooked */
	me->logged = (uint8_t)log_thread(me->serial, me->tid, me->autograd, name);
}

/* A thread that made a mark of the buffer; it may be gone. */
static void log_mark_thread(uint32_t serial, uint32_t tid)
{
	uint64_t key = hash_finish(hash_mix(hash_start(HASH_THREAD), serial));
	char path[64], name[17];
	struct textbuf text;

	if (hash_set_has(&agent.stacks.known, key))
		return;
	textbuf_init(&text, path, sizeof(path));
	textbuf_add(&text, "/proc/self/task/");
	textbuf_add_number(&text, tid);
	textbuf_add(&text, "/comm");
	textbuf_read_file(path, name, sizeof(name));
	name[strcspn(name, "\n")] = '\0';
	if (log_thread(serial, tid, 0, name))
		hash_set_add(&agent.stacks.known, key);
}

AGENT_INLINE void append(struct agent_thread *me, struct ring_event *event, const struct ring_text *text)
{
	if (!me->writer.slot && !ring_claim(&agent.ring, &me->writer, me->tid))
		agent_count_lost(MT_LOSS_NO_SLOT);
	else if (ring_append(&agent.ring, &me->writer, event, text))
		agent_count_lost(MT_LOSS_RING_FULL);
}

struct taking {
	enum stack_wish wish;
	uint64_t stack; /* 0: none */
};

/* On a stack of ours. */
static void take_stack(void *context)
{
	struct taking *taking = context;

	taking->stack = stacks_take(&agent.stacks, taking->wish);
	if (stacks_have_news(&agent.stacks))
		agent_find_python();
}

/* Inline: a frame of ours costs the unwinder as much as one of the program's. */
static inline __attribute__((always_inline)) void hand_over(struct ring_event *event, const struct ring_text *text,
							    enum stack_wish wish)
{
	struct agent_thread *me = this_thread();
	struct taking taking = { wish, 0 };

	if (!me->logged)
		log_this_thread(me);
	event->thread = me->serial;
	if (wish != STACK_NONE)
		own_stack_call(take_stack, &taking);
	event->stack = taking.stack;
	if (atomic_load_explicit(&agent.stacks.full, memory_order_relaxed))
		agent_source(MT_SOURCE_PYTHON, MT_SOURCE_FAILED,
			     "the room for stacks is used up: new ones are left out");
	else if (atomic_load_explicit(&agent.stacks.bare, memory_order_relaxed))
		agent_source(MT_SOURCE_PYTHON, MT_SOURCE_PARTLY,
			     "the room for stacks is nearly used up: new ones are without their modules");
	append(me, event, text);
}

/* The tid of a mark of the buffer travels in a field that marks do not have. */
static void take_buffered(void *context, struct ring_event *event, const struct ring_text *text)
{
	log_mark_thread(event->thread, event->entry);
	event->entry = 0;
	append(context, event, text);
}

void agent_begin_telling(void)
{
	struct ring_event event = { .kind = MT_MARK,
				    .record = RING_BEFORE,
				    .value = RING_BEFORE_BEGINS,
				    .device_type = -1,
				    .device_index = -1 };
	struct agent_thread *me = this_thread();

	event.thread = me->serial;
	log_this_thread(me);
	append(me, &event, NULL);
}

void agent_replay_marks(void)
{
	mark_buffer_replay(take_buffered, this_thread());
}

/* ---- What hooks call ---- */

AGENT_INLINE void begin_visit(struct visit *visit)
{
	if (!thread.error)
		thread.error = &errno;
	visit->saved = *thread.error;
	visit->self = visit;
	thread.visit = visit;
	thread.line = life_enter(&thread);
	atomic_signal_fence(memory_order_seq_cst);
}

static int is_on_signal_stack(void)
{
	stack_t stack;

	return !syscall(SYS_sigaltstack, NULL, &stack) && (stack.ss_flags & SS_ONSTACK);
}

#define NEAR_BYTES (1 << 20) /* frames this near to each other lie on one stack */

/*
 * The thread is at work in the recorder. 1: no longer, for a signal handler has left by siglongjmp. Then the frame of that visit
 * is gone, or lies below the caller's, or the work was on a stack of ours while the caller is on the program's. `visit` is of
 * the caller.
 */
static int was_abandoned(const struct visit *visit)
{
	const struct visit *old = thread.visit;
	ptrdiff_t above = (const char *)visit - (const char *)old;

	if (old == visit)
		return 1;
	if (own_stack_has(visit))
		return 0;
	if (!readable_at((uintptr_t)old) || old->self != old)
		return 1;
	return (above > 0 || own_stack_kept()) && above > -NEAR_BYTES && above < NEAR_BYTES && !is_on_signal_stack();
}

static void forget_abandoned(void)
{
	own_stack_abandoned();
	stacks_expect_jumps(&agent.stacks);
	thread.visit = NULL;
	life_leave(thread.line);
	agent_count_lost(MT_LOSS_REENTRY); /* the event of that visit, maybe */
}

static __attribute__((noinline)) int is_still_inside(const struct visit *visit)
{
	int saved = errno;

	if (was_abandoned(visit))
		forget_abandoned();
	errno = saved;
	return thread.visit != NULL;
}

/* 1: this thread may not go on. */
AGENT_INLINE int is_inside(const struct visit *visit)
{
	return thread.visit && is_still_inside(visit);
}

/* The state has been below ARMED. 1: it no longer is. */
static __attribute__((noinline)) int comes_on(int memory)
{
	uint32_t state = life_state();

	if (state == LIFE_PAUSED && pause_is_over(memory))
		return 1;
	if (state == LIFE_OFF)
		let_go();
	return state >= LIFE_ARMED;
}

/* 1: go on, and call leave(). `memory`: the process takes some. */
AGENT_INLINE int enter(struct visit *visit, int memory)
{
	if (life_state() < LIFE_ARMED && !comes_on(memory))
		return 0;
	if (thread.sealed || is_inside(visit)) {
		agent_count_lost(thread.sealed ? MT_LOSS_SEALED : MT_LOSS_REENTRY);
		return 0;
	}
	begin_visit(visit);
	return 1;
}

AGENT_INLINE void leave(struct visit *visit)
{
	atomic_signal_fence(memory_order_seq_cst);
	life_leave(thread.line);
	thread.visit = NULL;
	visit->self = NULL;
	*thread.error = visit->saved;
}

/* Whoever has memory on a GPU uses CUDA, also where the driver has not called us. */
static void note_cuda(const struct ring_event *event)
{
	if (event->device_type != MT_DEVICE_CUDA || agent_has_cuda())
		return;
	atomic_store(&agent.cuda, 1);
	if (agent_is_on())
		atomic_store(&agent.ring.header->cuda, 1);
}

void agent_memory(struct ring_event *event, enum stack_wish wish)
{
	struct visit visit = { NULL, 0 };

	if (!enter(&visit, 1))
		return;
	note_cuda(event);
	if (is_on() || agent_start_or_wait())
		hand_over(event, NULL, wish);
	leave(&visit);
}

/* At most `max` bytes, not ending inside a UTF-8 character. */
static uint16_t text_bytes(const char *text, size_t max)
{
	size_t bytes = text ? strnlen(text, max + 1) : 0;

	if (bytes <= max)
		return (uint16_t)bytes;
	for (bytes = max; bytes && (text[bytes] & 0xc0) == 0x80; bytes--)
		;
	return (uint16_t)bytes;
}

static void hand_over_mark(struct ring_event *event, const struct ring_text *text)
{
	event->thread = this_thread()->serial;
	if (!mark_buffer_swallows(event, text))
		hand_over(event, text, STACK_NONE);
}

static void buffer_mark(struct ring_event *event, const struct ring_text *text)
{
	struct agent_thread *me = this_thread();

	event->thread = me->serial;
	event->entry = me->tid;
	event->time = mt_clock_ns();
	switch (mark_buffer_add(event, text)) {
	case MARK_BUFFER_KEPT:
	case MARK_BUFFER_DROPPED:
		return;
	case MARK_BUFFER_FULL:
		agent_count_lost(MT_LOSS_RING_FULL);
		return;
	case MARK_BUFFER_CLOSED:
		break;
	}
	event->entry = 0;
	if (agent_wait_for_start())
		hand_over_mark(event, text);
}

void agent_mark(enum mt_kind kind, uint64_t handle, const char *name, const char *domain)
{
	struct ring_event event = { .kind = (uint8_t)kind, .device_type = -1, .device_index = -1, .handle = handle };
	struct ring_text text = { name ? name : "", domain ? domain : "", 0, 0 };
	struct visit visit = { NULL, 0 };

	if (!enter(&visit, 0))
		return;
	text.domain_bytes = text_bytes(text.domain, DOMAIN_MAX);
	text.name_bytes = text_bytes(text.name, RING_TEXT_MAX - text.domain_bytes);
	if (agent_is_on() || (atomic_load_explicit(&life->recordings, memory_order_relaxed) && agent_start_or_wait()))
		hand_over_mark(&event, &text);
	else if (life_state() >= LIFE_ARMED)
		buffer_mark(&event, &text);
	leave(&visit);
}

void agent_follow(enum mt_kind kind)
{
	struct ring_event event = { .kind = (uint8_t)kind, .device_type = -1, .device_index = -1 };
	struct visit visit = { NULL, 0 };

	if (!agent_is_on() || !enter(&visit, 0))
		return;
	hand_over(&event, NULL, STACK_NONE);
	leave(&visit);
}

int agent_tell(struct ring_event *event, const char *name, const char *second)
{
	struct ring_text text = { name, second, 0, 0 };
	struct visit visit = { NULL, 0 };

	if (!agent_is_on() || !enter(&visit, 0))
		return 0;
	text.domain_bytes = text_bytes(second, DOMAIN_MAX - 1);
	text.name_bytes = text_bytes(name, RING_TEXT_MAX - text.domain_bytes);
	hand_over(event, &text, STACK_NONE);
	leave(&visit);
	return 1;
}

int agent_before(struct ring_event *event)
{
	struct visit visit = { NULL, 0 };

	if (!agent_is_on() || !enter(&visit, 1))
		return 0;
	event->record = RING_BEFORE;
	hand_over(event, NULL, STACK_NONE);
	leave(&visit);
	return 1;
}

int agent_work(void (*work)(void *context), void *context)
{
	struct visit visit = { NULL, 0 };
	uint64_t held;
	int done;

	if (thread.sealed || is_inside(&visit))
		return 0;
	begin_visit(&visit);
	guest_hold_signals(&held);
	done = own_stack_call(work, context);
	guest_release_signals(&held);
	leave(&visit);
	return done;
}

int agent_is_inside(void)
{
	return thread.visit != NULL;
}

int agent_is_recording(void)
{
	return !thread.sealed && agent_is_on();
}

uint64_t agent_life(void)
{
	return atomic_load_explicit(&life->epoch, memory_order_relaxed) +
	       atomic_load_explicit(&life->recordings, memory_order_relaxed);
}

void agent_told(const void *module, const void *type)
{
	stacks_told(&agent.stacks, module, type);
}

int agent_has_instances(void)
{
	return atomic_load_explicit(&agent.stacks.met, memory_order_relaxed) != 0;
}

uint32_t agent_untold(void)
{
	return atomic_load_explicit(&agent.stacks.untold, memory_order_relaxed);
}

void agent_all_told(uint32_t untold)
{
	stacks_all_told(&agent.stacks, untold);
}

/* ---- Beginning of a life ---- */

static void arm(void)
{
	mark_buffer_clear();
	atomic_store(&agent.threads, 0);
	atomic_store(&life->epoch, mt_clock_ns());
	atomic_store(&life->recordings, 0);
	pause_arm();
	atomic_store(&life->word, ((atomic_load(&life->word) | LIFE_STATE_MASK) + 1) |
					  (life_options.paused ? LIFE_PAUSED : LIFE_ARMED));
}

/*
 * The child of a recorded process stays asleep: its tensors are copies (DataLoader workers), and the ring is not its
 * own. The child of one that had not started yet is a process like any other.
 */
static void after_fork(void)
{
	own_stack_forked();
	life_forked();
	atomic_store(&agent.letting_go, 0);
	if (atomic_load(&agent.started))
		life_set(LIFE_ASLEEP);
	else
		arm();
}

void agent_cuda_started(void)
{
	atomic_store(&agent.cuda, 1);
	if (agent_is_on())
		atomic_store(&agent.ring.header->cuda, 1);
	if (!agent_options() || life_state() != LIFE_ASLEEP || !life_has_begun())
		return;
	if (!let_go())
		return;
	atomic_store(&agent.started, 0);
	arm();
}

/* A process that is gone and never came by here did not leave: it was killed. */
__attribute__((destructor)) static void note_leaving(void)
{
	if (agent_is_on())
		atomic_store(&agent.ring.header->leaving, 1);
	pause_end();
}

/* The options are there. */
static void begin(void)
{
	struct life *page;

	if (!loaded_is_first_agent())
		return;
	memrec_defaults(&life_options);
	page = life_new();
	if (!page || pthread_atfork(NULL, NULL, after_fork))
		return;
	agent_find_unwinder();
	life = page;
	arm();
	life_options_are_there();
}

/* Another life, after one that is over. */
static int begin_anew(const struct memrec_options *options)
{
	if (!let_go())
		return -MT_E_BUSY;
	life_options = *options;
	memrec_defaults(&life_options);
	agent_find_unwinder();
	atomic_store(&agent.started, 0);
	atomic_store(&agent.replaced, 0);
	arm();
	return 0;
}

int agent_attach(const struct memrec_options *options)
{
	uint32_t state = life_state();

	if (state != LIFE_OFF && state != LIFE_ASLEEP)
		return -MT_E_BUSY;
	if (life_has_begun())
		return begin_anew(options);
	life_options = *options;
	begin();
	return life_has_begun() ? 0 : -MT_E_MEMORY;
}

int agent_start(void)
{
	struct visit visit = { NULL, 0 };
	int started;

	if (!enter(&visit, 1))
		return 0;
	started = agent_is_on() || agent_start_or_wait();
	leave(&visit);
	return started;
}

void agent_begin(void)
{
	static _Atomic int begun;

	if (atomic_exchange(&begun, 1))
		return;
	memrec_options_init(&life_options);
	begin();
}

/* Runs in every process of the run, most of which are of no interest: nothing costly, nothing that can be seen. */
__attribute__((constructor)) static void wake_up(void)
{
	const char *text = getenv(MEMREC_OPTIONS_VARIABLE);
	int saved = errno;

	if (text && !memrec_options_decode(&life_options, text))
		begin();
	errno = saved;
}
