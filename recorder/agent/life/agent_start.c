/*
 * agent_start.c - how a recording begins: its ring, its sources and its collector; and another collector in place of one that was killed.
 */
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "agent/ring/guest_map.h"
#include "agent/stacks/own_stack.h"
#include "agent/stacks/stack.h"
#include "agent/stacks/stack_python.h"
#include "agent_impl.h"
#include "life.h"
#include "memtrace/base.h"
#include "memtrace/clock.h"
#include "memtrace/error.h"

#define WAIT_STEP_NS 100000
#define START_STEPS 20000 /* 2 s: longest wait of other threads for the thread that starts the recording */
#define LOOK_NS 50000000
#define LOOK_CALLS 32u /* calls after which a thread looks in any case: the program's clock may stand still */
#define REPLACED_MAX 3 /* most collectors started in place of a killed one */

/* ---- Python and the unwinder, for stacks ---- */

void agent_find_python(void)
{
	const char *why;
	uint32_t version;

	if (!(life_options.stacks & MEMREC_STACKS_PYTHON) || !life_options.depth)
		return;
	switch (stack_python_find(&version, &why)) {
	case PYTHON_READY:
		agent_source(MT_SOURCE_PYTHON, MT_SOURCE_ON, "");
		break;
	case PYTHON_REFUSED:
		agent_source(MT_SOURCE_PYTHON, MT_SOURCE_FAILED, why);
		break;
	case PYTHON_ABSENT:
		agent_source(MT_SOURCE_PYTHON, MT_SOURCE_OFF, "there is no Python in the process");
		break;
	case PYTHON_BUSY:
		return;
	}
	agent.ring.header->python_version = version;
}

void agent_find_unwinder(void)
{
	if (!(life_options.stacks & (MEMREC_STACKS_NATIVE | MEMREC_STACKS_NATIVE_ALWAYS)) || !life_options.depth)
		return;
	switch (stack_native_open()) {
	case 0:
		agent_source(MT_SOURCE_NATIVE, MT_SOURCE_ON, "");
		break;
	case -MT_E_MISSING:
		agent_source(MT_SOURCE_NATIVE, MT_SOURCE_FAILED,
			     "libunwind.so.8 was not found: no native frames (install libunwind8)");
		break;
	default:
		agent_source(MT_SOURCE_NATIVE, MT_SOURCE_FAILED,
			     "this libunwind.so.8 cannot be kept from opening files in the program: no native frames "
			     "(install another version)");
	}
}

/* ---- A collector that was killed ---- */

/* On a stack of ours. The new one goes on in the same trace; what the ring has no room for meanwhile is lost and counted. */
static void replace_collector(void *context MT_UNUSED)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (agent_place_is_left(&agent.ring) && atomic_fetch_add(&agent.replaced, 1) < REPLACED_MAX)
		agent_spawn_collector(life_options.collector, agent.ring.path, life_options.run_dir);
	pthread_setcancelstate(cancel, NULL);
}

/* A ring_on_stuck: replaces a collector that is gone. One thread looks, after LOOK_NS or LOOK_CALLS. */
static void look_after_collector(void)
{
	uint64_t now = mt_clock_ns(), last = atomic_load(&agent.looked), held;
	uint32_t idle = 0;

	if (now - last < LOOK_NS && atomic_fetch_add(&agent.calls, 1) < LOOK_CALLS)
		return;
	guest_hold_signals(&held);
	if (atomic_compare_exchange_strong(&agent.looking, &idle, 1)) {
		atomic_store(&agent.calls, 0);
		own_stack_call(replace_collector, NULL);
		atomic_store(&agent.looked, mt_clock_ns());
		atomic_store(&agent.looking, 0);
	}
	guest_release_signals(&held);
}

int agent_is_whole(void)
{
	const struct ring_header *header = agent.ring.header;

	if (!atomic_load_explicit(&life->recordings, memory_order_relaxed) ||
	    atomic_load(&header->whole) == atomic_load(&header->recording))
		return 1;
	look_after_collector();
	return 0;
}

/* ---- Start ---- */

static int prepare(void)
{
	int error = agent_place_ring(&agent.ring, &life_options);

	if (error)
		return error;
	error = stacks_init(&agent.stacks, &agent.ring, (uint32_t)life_options.depth, (uint32_t)life_options.stacks,
			    !life_options.no_modules);
	if (error) {
		agent_place_remove(&agent.ring, &life_options);
		ring_forget(&agent.ring);
		return error;
	}
	atomic_store(&agent.mapped, 1);
	agent_source_begin(agent.ring.header);
	agent_find_python();
	agent_source_check_injection();
	agent.ring.on_stuck = look_after_collector;
	atomic_store(&agent.looking, 1); /* until a collector has been started */
	pause_tell(agent.ring.header, agent.ring.path);
	atomic_store(&agent.ring.header->recording, 1);
	ring_publish(&agent.ring);
	if (life_options.attached || pause_tells())
		agent_begin_telling();
	agent_replay_marks();
	return 0;
}

/* A further recording in the same ring: its log has the definitions already. Events of threads that are late are before it. */
static void prepare_again(void)
{
	struct ring_header *header = agent.ring.header;
	int i;

	atomic_store(&agent.looking, 1);
	for (i = 0; i < RING_LOSSES; i++)
		atomic_store(&header->lost[i], 0);
	agent_read_clocks(header);
	pause_tell(header, agent.ring.path);
	stacks_tell_again(&agent.stacks);
	header->first_seq = atomic_load(&header->next_seq);
	atomic_store(&header->stop, 0);
	atomic_fetch_add(&header->recording, 1);
	if (pause_tells())
		agent_begin_telling();
}

/* Notes that were taken while there was no header. */
static void publish_notes(void)
{
	int i;

	agent_source_publish();
	for (i = 0; i < RING_LOSSES; i++)
		atomic_fetch_add(&agent.ring.header->lost[i], atomic_exchange(&agent.lost[i], 0));
	if (agent_has_cuda())
		atomic_store(&agent.ring.header->cuda, 1);
}

/* The collector of the last recording goes on with this one. If that was killed, memrec stop may start another one at the same time. */
static int begin_collecting(void)
{
	int error = 0;

	if (atomic_load(&agent.ring.header->whole) == 0 || agent_place_is_left(&agent.ring))
		error = agent_spawn_collector(life_options.collector, agent.ring.path, life_options.run_dir);
	if (error && atomic_load(&agent.ring.header->collector_pid) && !agent_place_is_left(&agent.ring))
		error = 0;
	atomic_store(&agent.looked, mt_clock_ns());
	atomic_store(&agent.looking, 0);
	if (error)
		agent_place_remove(&agent.ring, &life_options);
	return error;
}

/* On the one thread that goes first, on a stack of ours. The others may write as soon as the state is ON. */
static void start_recording(void *context)
{
	uint32_t word = atomic_load(&life->word);
	int cancel, error = 0, *started = context;

	atomic_store(&agent.started, 1);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (atomic_load_explicit(&life->recordings, memory_order_relaxed))
		prepare_again();
	else
		error = prepare();
	if (!error) {
		atomic_fetch_add(&life->recordings, 1);
		word = ((word | LIFE_STATE_MASK) + 1) | LIFE_ON;
		atomic_store(&life->word, word);
		publish_notes();
		error = begin_collecting();
	}
	if (error) {
		life_change(word, LIFE_ON, LIFE_OFF);
		life_change(word, LIFE_STARTING, LIFE_OFF);
		pause_failed();
		agent_place_failed(&life_options, error);
	}
	pthread_setcancelstate(cancel, NULL);
	*started = !error;
}

int agent_wait_for_start(void)
{
	struct timespec step = { 0, WAIT_STEP_NS };
	int i;

	for (i = 0; i < START_STEPS && life_state() == LIFE_STARTING; i++)
		syscall(SYS_nanosleep, &step, NULL);
	if (life_state() == LIFE_STARTING)
		agent_count_lost(MT_LOSS_NO_SLOT);
	return agent_is_on();
}

int agent_start_or_wait(void)
{
	uint64_t held;
	uint32_t word;
	int started = 0;

	if (life_state() == LIFE_PAUSED && !pause_is_over(1)) /* since a moment ago */
		return 0;
	word = atomic_load(&life->word);
	guest_hold_signals(&held); /* all other threads wait for this one */
	if (!life_change(word, LIFE_ARMED, LIFE_STARTING)) {
		guest_release_signals(&held);
		return agent_wait_for_start();
	}
	if (!own_stack_call(start_recording, &started))
		life_set(LIFE_ARMED); /* the next event tries again */
	guest_release_signals(&held);
	return started;
}
