/*
 * advise_sites.h - a run for tests of settings. The run has places of every process, category and phase, and every stack that a row
 * of formats/knobs can tell apart.
 */
#ifndef ADVISE_SITES_H
#define ADVISE_SITES_H

#include "advise_kit.h"
#include "why/effect/advise_model.h"

#define MIB (1ull << 20)
#define BUCKET (256 * MIB)
#define WORDS 151936ull
#define ROWS 8192ull /* rows of logits */
#define LAYERS 28u
#define STEPS 16u
#define SITES_MAX 32768u
#define NODES_MAX 64u
#define STACKS_MAX (MT_KNOB_WITHIN_MAX + 3)

#define CATEGORY(name) (1u << MT_CATEGORY_##name)
#define PHASE(name) (1u << MT_PHASE_##name)
#define ROLE(name) (1u << MT_KNOB_PROCESS_##name)
#define ALL_PHASES ((1u << MT_PHASE_COUNT) - 1)
#define PASSING \
	(CATEGORY(ACTIVATIONS) | CATEGORY(RECOMPUTED) | CATEGORY(LOGITS) | CATEGORY(WORKSPACE) | CATEGORY(OTHER))

/* How a place allocates. X(NAME) */
#define SHAPE_LIST(X)                                                       \
	X(STANDING)   /* one for each layer, once in a step */              \
	X(COMING)     /* a bucket's size, made again and again in a step */ \
	X(VOCABULARY) /* as large as logits, and not known to be some */

enum shape {
#define SHAPE_ENUM(name) SHAPE_##name,
	SHAPE_LIST(SHAPE_ENUM)
#undef SHAPE_ENUM
		SHAPES
};

/* Stacks: none; a plain one; one with each word of the row among the inner frames; with all of them far outside. */
enum { STACK_NONE, STACK_PLAIN, STACK_FAR, STACK_WORD };

struct place {
	uint32_t roles;
	enum shape shape;
	int stack;
};

static struct replay_site site_at[SITES_MAX];
static struct place place_at[SITES_MAX];
static struct scene_process process_at[MT_KNOB_PROCESSES];
static uint32_t role_at[MT_KNOB_PROCESSES];
static struct scene_frame frame_at[NODES_MAX];
static struct scene_node node_at[NODES_MAX];
static char words_at[NODES_MAX][128];
static struct scene stacks = {
	.process = process_at, .processes = MT_KNOB_PROCESSES, .frame = frame_at, .node = node_at
};
static uint32_t node_of[STACKS_MAX];

static inline uint32_t add_node(uint32_t parent, const char *function, const char *file)
{
	uint32_t at = (uint32_t)stacks.nodes++;

	CHECK(at < NODES_MAX);
	frame_at[at] = (struct scene_frame){ .frame = { .function = function, .file = file, .module = "" } };
	node_at[at] = (struct scene_node){ .id = at + 1, .parent = parent, .frame = at };
	stacks.frames = stacks.nodes;
	return at;
}

/* A function, or a file, of the row. */
static inline uint32_t add_word(uint32_t parent, const char *word)
{
	char *name = words_at[stacks.nodes];
	int is_file = strstr(word, ".py") != NULL;

	snprintf(name, sizeof(words_at[0]), is_file ? "some/%s" : "_do_%s_now", word);
	return is_file ? add_node(parent, "backward", name) : add_node(parent, name, "x.py");
}

/* Returns how many stacks there are. */
static inline int make_stacks(const struct mt_knob *knob)
{
	uint32_t node = SCENE_NONE, i;

	stacks.nodes = 0;
	node_of[STACK_NONE] = SCENE_NONE;
	node_of[STACK_PLAIN] = add_node(add_node(SCENE_NONE, "train", "x.py"), "apply", "x.py");
	for (i = 0; i < knob->withins; i++) {
		node_of[STACK_WORD + i] = add_word(node_of[STACK_PLAIN], knob->within[i]);
		node = add_word(node, knob->within[i]);
	}
	for (i = 0; i < 4; i++)
		node = add_node(node, "apply", "x.py");
	node_of[STACK_FAR] = node;
	return (int)(STACK_WORD + knob->withins);
}

static inline void hold(struct replay_site *site, uint32_t phases)
{
	uint32_t phase;

	for (phase = 0; phase < MT_PHASE_COUNT; phase++)
		if (phases & 1u << phase) {
			site->count[phase] = site->largest == BUCKET ? LAYERS : 1;
			site->held[phase] = site->largest * site->count[phase];
			site->many = site->count[phase];
		}
}

/* Passing memory is there in its phase, and until the backward pass if it waits for that; gradients not in a forward
 * pass. */
static inline uint32_t held_in(uint32_t category, uint32_t phase)
{
	if (PASSING & 1u << category)
		return 1u << phase | (phase == MT_PHASE_FORWARD ? PHASE(BACKWARD) : 0);
	return category == MT_CATEGORY_GRADIENTS ? ALL_PHASES & ~PHASE(FORWARD) : ALL_PHASES;
}

static inline void add_place(struct replay *replay, uint32_t process, uint32_t category, uint32_t phase,
			     enum shape shape, int stack)
{
	struct replay_site *site = &site_at[replay->sites];
	int is_logits = category == MT_CATEGORY_LOGITS || shape == SHAPE_VOCABULARY;

	CHECK(replay->sites < SITES_MAX);
	*site = (struct replay_site){ .id = replay->sites + 1,
				      .process = process + 1,
				      .node = node_of[stack],
				      .phase = (uint8_t)phase,
				      .category = (uint8_t)category,
				      .known = 1,
				      .ignored = category == MT_CATEGORY_SLACK,
				      .words = is_logits ? WORDS : 0,
				      .element = is_logits ? 2 : 0 };
	site->largest = site->smallest = is_logits ? WORDS * ROWS * 2 : BUCKET;
	hold(site, held_in(category, phase));
	site->births = LAYERS * STEPS * (shape == SHAPE_STANDING ? 1 : 4);
	if (category == MT_CATEGORY_KV_CACHE && shape == SHAPE_COMING)
		site->smallest = BUCKET / LAYERS;
	place_at[replay->sites++] = (struct place){ 1u << process, shape, stack };
}

/* Places of all kinds, in a process of each role. */
static inline void make_sites(struct replay *replay, int stack_count)
{
	uint32_t process, category, phase, shape;
	int stack;

	for (process = 0; process < MT_KNOB_PROCESSES; process++)
		for (category = 0; category < MT_CATEGORY_COUNT; category++)
			for (phase = 0; phase < MT_PHASE_COUNT; phase++)
				for (shape = 0; shape < SHAPES; shape++)
					for (stack = 0; stack < stack_count; stack++)
						if (shape != SHAPE_VOCABULARY || CATEGORY(LOGITS) != 1u << category)
							add_place(replay, process, category, phase, shape, stack);
}

static inline void make_run(struct advise_run *run, const struct mt_knob *knob)
{
	uint32_t i;

	*run = (struct advise_run){ .db = db,
				    .scene = &stacks,
				    .layers = LAYERS,
				    .total = 80ull << 30,
				    .model = { .words = WORDS, .width = 3584, .layers = LAYERS, .element = 2 },
				    .phases = ALL_PHASES,
				    .tokens = ROWS,
				    .steps = STEPS };
	/* A type of what is computed counts where that is of the wide one. */
	if (knob->weighs && !(knob->categories & ~(CATEGORY(ACTIVATIONS) | CATEGORY(RECOMPUTED) | CATEGORY(LOGITS))))
		run->model.element = 4;
	run->model.elements = 7ull << 30;
	run->model.bytes[MT_CATEGORY_WEIGHTS] = run->model.elements * 2;
	run->model.untrained = run->model.elements;
	for (i = 0; i < MT_KNOB_PROCESSES; i++) {
		process_at[i] = (struct scene_process){ .id = i + 1, .pid = i + 1, .rank = i };
		role_at[i] = 1u << i;
	}
	run->role = role_at;
	run->replay = (struct replay){ .scene = &stacks, .device = 1, .site = site_at };
	make_sites(&run->replay, make_stacks(knob));
}

#endif
