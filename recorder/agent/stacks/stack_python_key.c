/* stack_python_key.c - keys that tell code objects apart, also if both had one address. */
#include "stack_python.h"

#include "agent/ring/hash_set.h"
#include "memtrace/base.h"
#include "own_stack.h"
#include "stack_python_impl.h"

typedef void dealloc_function(void *object);

_Static_assert(sizeof(struct python_kept) <= OWN_STACK_KEPT_BYTES, "codes do not fit");

/*
 * Up to Python 3.11 code objects have no number. A code at a known address is known while no code object has died: a
 * living object does not change, and no other can have its address. So count_death replaces the function that frees
 * code objects. Comparing the contents at each event took longer than the rest of a walk.
 */
static _Atomic uint64_t deaths;
static dealloc_function *real_dealloc; /* constant once deaths are counted */

static void count_death(void *code)
{
	atomic_fetch_add_explicit(&deaths, 1, memory_order_release);
	real_dealloc(code);
}

/* The slot in the type of code objects for the function that frees one. */
static dealloc_function *_Atomic *dealloc_slot(void)
{
	return (dealloc_function * _Atomic *)((uintptr_t)python_found.code_type + PYTHON_TYPE_DEALLOC);
}

void python_count_deaths(void)
{
	dealloc_function *real = atomic_load(dealloc_slot());

	if (python_found.at.code_version != PYTHON_NONE || !real || real == count_death)
		return;
	real_dealloc = real;
	atomic_store(dealloc_slot(), count_death);
}

/* Without a count of deaths an entry is valid for one walk, because no code dies meanwhile. */
struct python_codes *python_codes_begin(void)
{
	struct python_codes *codes = &((struct python_kept *)own_stack_kept())->codes;

	if (python_found.at.code_version == PYTHON_NONE &&
	    atomic_load_explicit(dealloc_slot(), memory_order_relaxed) == count_death)
		codes->stamp = atomic_load_explicit(&deaths, memory_order_acquire) + 1;
	else
		codes->stamp = ++codes->walks | (uint64_t)1 << 63;
	return codes;
}

uint64_t python_numbered_key(const uint8_t *code, uint64_t number)
{
	const struct python_layout *at = &python_found.at;
	uint64_t numbers = number << 32 | (uint32_t)python_int(code, at->code_line);

	return hash_finish(hash_two(hash_start(HASH_CODE) ^ (uintptr_t)code, numbers,
				    python_word(code, at->code_name)));
}

/*
 * Key by contents, for a code without a number. A program that makes code at run time (exec, torch.compile) also frees
 * it. The next code can have the same address, name, file and table address, so the key covers the contents.
 */
static uint64_t contents_key(const uint8_t *code)
{
	const struct python_layout *at = &python_found.at;
	const uint8_t *table = python_pointer(code, at->code_table);
	uint64_t key = hash_start(HASH_CODE) ^ (uintptr_t)code;

	key = hash_two(key, (uint32_t)python_int(code, at->code_line), python_word(code, at->code_name));
	key = hash_two(key, python_text_hash(python_pointer(code, at->code_file)),
		       python_text_hash(python_pointer(code, at->code_name)));
	key = hash_two(key, python_word(code, PYTHON_OBJECT_SIZE), (uintptr_t)table);
	if (python_is_plausible(table))
		key = hash_mix(key,
			       python_bytes_hash(table + PYTHON_BYTES_DATA, python_word(table, PYTHON_OBJECT_SIZE)));
	return hash_finish(key);
}

/* The byte of the code from which on frames are entered. */
static int64_t first_of(const uint8_t *code)
{
	const struct python_layout *at = &python_found.at;

	return at->lasti_scale ? -1 : 2 * (int64_t)python_int(code, at->code_bytes - PYTHON_FIRST_TRACEABLE_BACK);
}

static int holds(const struct python_known *known, const struct python_codes *codes, const uint8_t *code)
{
	return atomic_load_explicit(&known->code, memory_order_relaxed) == code && known->stamp == codes->stamp;
}

/*
 * Writes an entry. `code` comes last, because a signal handler may leave by siglongjmp, and a fork may copy a
 * half-written entry.
 */
static void put(struct python_known *known, const uint8_t *code, uint64_t stamp, uint64_t key, int64_t first)
{
	atomic_store_explicit(&known->code, NULL, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	known->stamp = stamp;
	known->key = key;
	known->first = first;
	atomic_store_explicit(&known->code, code, memory_order_release);
}

/* Returns an unused entry, else each of the four in turn. */
static struct python_known *entry_for(struct python_codes *codes, const uint8_t *code)
{
	uint32_t place = python_place(code), i;

	for (i = 0; i < PYTHON_PLACES; i++)
		if (!atomic_load_explicit(&codes->known[place ^ i].code, memory_order_relaxed) ||
		    codes->known[place ^ i].stamp != codes->stamp)
			return &codes->known[place ^ i];
	return &codes->known[place ^ codes->learnt % PYTHON_PLACES];
}

const struct python_known *python_learn(struct python_codes *codes, const uint8_t *code)
{
	uint32_t place = python_place(code), i;
	struct python_known *known;

	for (i = 1; i < PYTHON_PLACES; i++)
		if (holds(&codes->known[place ^ i], codes, code))
			return &codes->known[place ^ i];
	if (!python_is_plausible(code) || python_pointer(code, PYTHON_OBJECT_TYPE) != python_found.code_type)
		return NULL;
	codes->learnt++;
	known = entry_for(codes, code);
	put(known, code, codes->stamp, contents_key(code), first_of(code));
	return known;
}
