/* test_knobs.c - the built-in knobs, what a row says, and how bad knob files are refused. */
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/knobs.h"
#include "test.h"

#define HEAD "framework: f\nwritten: flag\npackage: p\nreleases: [1.0, 1.1, 2.0]\nknobs:\n"
#define ROW(key)                                                                                              \
	"  - key: " key "\n    what: w\n    source: a.py --k\n    process: [trainer]\n    phase: [forward]\n" \
	"    category: [weights]\n    saves: lower\n    unit: tokens\n    method: tokens\n    cost: free\n"

static char message[512];

/* The error of a file that is alone. */
static int add(struct mt_knobs *knobs, const char *text, size_t size)
{
	memset(knobs, 0, sizeof(*knobs));
	message[0] = '\0';
	return mt_knobs_add(knobs, "x.yaml", text, size, message, sizeof(message));
}

static void drop(struct mt_knobs *knobs)
{
	struct mt_knobs *whole = malloc(sizeof(*whole));

	CHECK(whole != NULL);
	*whole = *knobs;
	mt_knobs_free(whole);
}

static void check_refused(const char *text, const char *words)
{
	struct mt_knobs knobs;

	CHECK_EQ(add(&knobs, text, strlen(text)), -MT_E_RULES);
	CHECK_STR(message, words);
	CHECK_EQ(knobs.files, 0);
	drop(&knobs);
}

TEST(built_in_files_are_good)
{
	static const char *const frameworks[] = { "verl",    "areal",  "relax",        "slime",      "openrlhf",
						  "nemo-rl", "trl",    "transformers", "deepspeed",  "megatron",
						  "vllm",    "sglang", "pytorch",      "accelerate", "skyrl" };
	struct mt_knobs *knobs;
	size_t i;

	CHECK_EQ(mt_knobs_new(&knobs, message, sizeof(message)), 0);
	CHECK_EQ(knobs->files, MT_ARRAY_SIZE(frameworks));
	for (i = 0; i < MT_ARRAY_SIZE(frameworks); i++) {
		CHECK(mt_knobs_find(knobs, frameworks[i]) != NULL);
		CHECK(mt_knobs_find(knobs, frameworks[i])->knobs > 0);
	}
	CHECK(!mt_knobs_find(knobs, "ver"));
	mt_knobs_free(knobs);
}

/* Mistakes of the guides that the data must not have: an offload that does not help the update. */
TEST(offload_of_verl_is_not_about_the_update)
{
	const struct mt_knob_file *verl;
	const struct mt_knob *knob;
	struct mt_knobs *knobs;
	uint32_t i, seen = 0, update = 1u << MT_PHASE_FORWARD | 1u << MT_PHASE_BACKWARD | 1u << MT_PHASE_OPTIMIZER;

	CHECK_EQ(mt_knobs_new(&knobs, message, sizeof(message)), 0);
	verl = mt_knobs_find(knobs, "verl");
	for (i = 0; i < verl->knobs; i++) {
		knob = &verl->knob[i];
		if (strcmp(knob->name.key, "actor_rollout_ref.actor.fsdp_config.optimizer_offload"))
			continue;
		seen++;
		CHECK_EQ(knob->phases & update, 0);
		CHECK(knob->not_so != NULL);
		CHECK_EQ(knob->categories, 1u << MT_CATEGORY_OPTIMIZER_STATE);
	}
	CHECK_EQ(seen, 1);
	mt_knobs_free(knobs);
}

TEST(a_row_says_what_is_in_it)
{
	static const char text[] = HEAD
		ROW("k") "    since: 1.1\n    default: { 1.1: 5, 2.0: '' }\n    unset: k\n"
			 "    older:\n      - key: o\n        gone: 1.1\n        default: null\n"
			 "    constraint:\n      - says: s\n        at-least: longest sample\n        times: o\n        beyond: error\n"
			 "      - says: t\n        needs: k\n        value: [a, b]\n"
			 "      - says: u\n        multiple-of: o\n";
	const struct mt_knob *knob;
	struct mt_knobs knobs;

	CHECK_EQ(add(&knobs, text, strlen(text)), 0);
	CHECK_EQ(mt_knobs_check(&knobs, message, sizeof(message)), 0);
	CHECK_EQ(knobs.files, 1);
	CHECK_EQ(knobs.file->knobs, 1);
	knob = knobs.file->knob;
	CHECK_EQ(knob->name.since, 1);
	CHECK_EQ(knob->name.gone, 3);
	CHECK(!mt_knob_default_in(&knob->name, 0));
	CHECK_STR(mt_knob_default_in(&knob->name, 1), "5");
	CHECK_STR(mt_knob_default_in(&knob->name, 2), "");
	CHECK_EQ(knob->olders, 1);
	CHECK_EQ(knob->older[0].gone, 1);
	CHECK_STR(mt_knob_default_in(&knob->older[0], 0), "null");
	CHECK_STR(knob->unset, "k");
	CHECK_EQ(knob->constraints, 3);
	CHECK_EQ(knob->constraint[0].kind, MT_KNOB_CONSTRAINT_AT_LEAST);
	CHECK_EQ(knob->constraint[0].fact, MT_KNOB_FACT_LONGEST_SAMPLE);
	CHECK_STR(knob->constraint[0].times, "o");
	CHECK_EQ(knob->constraint[0].beyond, MT_KNOB_BEYOND_ERROR);
	CHECK_EQ(knob->constraint[1].beyond, MT_KNOB_BEYOND_UNTOLD);
	CHECK_EQ(knob->constraint[2].kind, MT_KNOB_CONSTRAINT_MULTIPLE);
	CHECK_STR(knob->constraint[2].key, "o");
	CHECK_EQ(knob->constraint[1].values, 2);
	CHECK_STR(knob->constraint[1].value[1], "b");
	CHECK_EQ(knob->line, 6);
	drop(&knobs);
}

TEST(a_file_names_who_runs_it)
{
	static const char text[] = "framework: f\nwritten: flag\npackage: p\nreleases: [1.0]\n"
				   "wrappers: { Fork: [init_model, fork/main.py], Other: [other] }\nknobs:\n" ROW("k");
	struct mt_knobs knobs;

	CHECK_EQ(add(&knobs, text, strlen(text)), 0);
	CHECK_EQ(knobs.file->wrappers, 2);
	CHECK_STR(knobs.file->wrapper[0].name, "Fork");
	CHECK_EQ(knobs.file->wrapper[0].seens, 2);
	CHECK_STR(knobs.file->wrapper[0].seen[1], "fork/main.py");
	CHECK_STR(knobs.file->wrapper[1].seen[0], "other");
	drop(&knobs);
	check_refused("framework: f\nwrappers: [a]\n", "x.yaml:2: a mapping is expected here");
}

TEST(null_of_a_key_that_is_in_no_file_is_refused)
{
	static const char text[] = HEAD ROW("k") "    unset: other\n";
	struct mt_knobs knobs;

	CHECK_EQ(add(&knobs, text, strlen(text)), 0);
	CHECK_EQ(mt_knobs_check(&knobs, message, sizeof(message)), -MT_E_RULES);
	CHECK_STR(message, "x.yaml:6: no knob of the file, or of what it builds on, is other");
	drop(&knobs);
}

TEST(unknown_things_are_named_with_their_line)
{
	check_refused(HEAD ROW("k") "    colour: red\n", "x.yaml:16: a knob has no field \"colour\"");
	check_refused(HEAD "  - key: k\n    method: magic\n",
		      "x.yaml:7: unknown method \"magic\" (one of: none, tokens, logits, divided, removed, bucket, share, kept, "
		      "allocator)");
	check_refused(HEAD ROW("k") "    since: 1.5\n", "x.yaml:16: \"1.5\" is none of the releases of the file");
	check_refused(HEAD ROW("k") "    cost: free\n", "x.yaml:16: \"cost\" is there twice");
	check_refused(HEAD ROW("k") ROW("k"), "x.yaml:16: k is there twice");
	check_refused("framework: f\nfoo: 1\n", "x.yaml:2: the file has no field \"foo\"");
	check_refused(HEAD ROW("k") "    constraint:\n      - says: s\n        needs: other\n        value: [1]\n",
		      "x.yaml:6: no knob of the file is other");
	check_refused(HEAD ROW("k") "    constraint:\n      - says: s\n        multiple-of: other\n",
		      "x.yaml:6: no knob of the file is other");
	check_refused(HEAD ROW("k") "    constraint:\n      - says: s\n        divides: layers\n        beyond: error\n",
		      "x.yaml:17: beyond goes with at-least");
}

TEST(missing_things_are_named)
{
	check_refused(HEAD "  - key: k\n", "x.yaml:6: a knob has no \"what\"");
	check_refused(HEAD
		      "  - key: k\n    what: w\n    process: [trainer]\n    phase: [forward]\n    category: [host]\n"
		      "    saves: on\n    unit: tokens\n    method: none\n    cost: free\n",
		      "x.yaml:6: a knob has no \"source\"");
	check_refused(HEAD ROW("k") "    gone: 2.0\n", "x.yaml:6: k is gone: say what replaced it, with \"instead\"");
	check_refused(HEAD ROW("k") "    instead: nothing\n", "x.yaml:6: \"instead\" is for a key that is gone");
	check_refused(HEAD ROW("k") "    gone: 1.0\n    instead: i\n", "x.yaml:6: k is gone before it is there");
	check_refused("framework: f\nknobs: [{key: k}]\n", "x.yaml:2: \"releases\" stand before \"knobs\"");
	check_refused("framework: f\nwritten: flag\nreleases: [1]\nknobs: []\n",
		      "x.yaml:1: release 1 is of a \"package\" that is not given");
	check_refused("framework: f\npackage: p\nreleases: [1@ab]\nknobs: []\n",
		      "x.yaml:3: releases are versions, or VERSION@COMMIT with all 40 digits");
}

TEST(frameworks_that_are_not_there_are_named)
{
	static const char text[] = "framework: f\npackage: p\nwritten: flag\nreleases: [1]\nbuilds-on: [g]\nknobs: []\n";
	struct mt_knobs knobs;

	CHECK_EQ(add(&knobs, text, strlen(text)), 0);
	CHECK_EQ(mt_knobs_check(&knobs, message, sizeof(message)), -MT_E_RULES);
	CHECK_STR(message, "x.yaml:1: no file is about g");
	CHECK_EQ(mt_knobs_add(&knobs, "y.yaml", text, strlen(text), message, sizeof(message)), -MT_E_RULES);
	CHECK_STR(message, "y.yaml:1: another file is about f already");
	CHECK_EQ(knobs.files, 1);
	drop(&knobs);
}

#define FILE_HEAD "framework: f\npackage: p\nreleases: [1]\nwritten: argument\n"

TEST(how_values_are_written_is_said_by_the_file_or_the_row)
{
	static const char text[] = FILE_HEAD
		"class: C\nframes: [a/b, c.py]\nvariables: [V]\nhands-on: { f: x.y. }\nknobs:\n" ROW("k")
			ROW("e") "    written: environment\n";
	struct mt_knobs knobs;

	CHECK_EQ(add(&knobs, text, strlen(text)), 0);
	CHECK_EQ(mt_knobs_check(&knobs, message, sizeof(message)), 0);
	CHECK_EQ(knobs.file->knob[0].written, MT_KNOB_WRITTEN_ARGUMENT);
	CHECK_EQ(knobs.file->knob[1].written, MT_KNOB_WRITTEN_ENVIRONMENT);
	CHECK_EQ(knobs.file->knob[0].measure, MT_KNOB_UNIT_TOKENS);
	CHECK_STR(knobs.file->knob[0].unit, "tokens");
	CHECK_EQ(knobs.file->frames, 2);
	CHECK_STR(knobs.file->frame[1], "c.py");
	CHECK_STR(knobs.file->hand[0].before, "x.y.");
	CHECK_STR(knobs.file->variable[0], "V");
	drop(&knobs);
	check_refused(FILE_HEAD "knobs:\n" ROW("k"),
		      "x.yaml:6: k is an argument of nothing, and no \"class\" is given");
	check_refused(FILE_HEAD "knobs:\n" ROW("a.k") "    written: environment\n",
		      "x.yaml:6: no \"variables\" of the environment are given");
	check_refused(
		FILE_HEAD "knobs:\n" ROW("a.k") "    written: by hand\n",
		"x.yaml:16: unknown written \"by hand\" (one of: hydra, dotlist, yaml, flag, argument, environment, json, code)");
	check_refused("framework: f\npackage: p\nreleases: [1]\nknobs: []\n", "x.yaml:1: the file has no \"written\"");
}

TEST(what_stacks_tell_is_said_by_file_and_row)
{
	static const char text[] = FILE_HEAD
		"class: C\nmodels: { critic: [update_critic, dp.py], reward: [score] }\nknobs:\n" ROW(
			"k") "    outside: [gather]\n    proof: [a.py, b/, f > g]\n    seen: [h]\n    turned-on: w\n    with: ['a: k=1=2']\n";
	const struct mt_knob *knob;
	struct mt_knobs knobs;

	CHECK_EQ(add(&knobs, text, strlen(text)), 0);
	CHECK_EQ(knobs.file->models, 2);
	CHECK_EQ(knobs.file->model[0].process, MT_KNOB_PROCESS_CRITIC);
	CHECK_EQ(knobs.file->model[0].seens, 2);
	CHECK_STR(knobs.file->model[0].seen[1], "dp.py");
	CHECK_EQ(knobs.file->model[1].process, MT_KNOB_PROCESS_REWARD);
	knob = knobs.file->knob;
	CHECK_EQ(knob->outsides, 1);
	CHECK_STR(knob->outside[0], "gather");
	CHECK_EQ(knob->proofs, 3);
	CHECK_STR(knob->proof[2], "f > g");
	CHECK_EQ(knob->seens, 1);
	CHECK_STR(knob->turned_on, "w");
	CHECK_EQ(knob->withs, 1);
	CHECK_STR(knob->with[0].value, "a");
	CHECK_STR(knob->with[0].key, "k");
	CHECK_STR(knob->with[0].to, "1=2");
	drop(&knobs);
	check_refused(FILE_HEAD "class: C\nknobs:\n" ROW("k") "    turned-off: none\n",
		      "x.yaml:7: \"turned-off\" goes with a word that saves where it is off");
	check_refused(FILE_HEAD "class: C\nmodels: { critic: [a], critic: [b] }\nknobs: []\n",
		      "x.yaml:6: critic is there twice");
	check_refused(FILE_HEAD "class: C\nmodels: { boss: [a] }\nknobs: []\n",
		      "x.yaml:6: unknown models \"boss\" (one of: trainer, reference, critic, reward, engine, loader)");
	check_refused(FILE_HEAD "class: C\nmodels: [a]\nknobs: []\n", "x.yaml:6: a mapping is expected here");
	check_refused(FILE_HEAD "class: C\nmodels: { critic: [a, b, c, d, e, f, g, h, i] }\nknobs: []\n",
		      "x.yaml:6: more than 8 of models");
	check_refused(FILE_HEAD "class: C\nmodels: { critic: x }\nknobs: []\n", "x.yaml:6: a list is expected here");
}

TEST(a_hand_is_of_a_framework_that_is_there)
{
	static const char text[] = FILE_HEAD "class: C\nhands-on: { g: x. }\nknobs: []\n";
	struct mt_knobs knobs;

	CHECK_EQ(add(&knobs, text, strlen(text)), 0);
	CHECK_EQ(mt_knobs_check(&knobs, message, sizeof(message)), -MT_E_RULES);
	CHECK_STR(message, "x.yaml:1: no file is about g");
	drop(&knobs);
}

TEST(limits_hold)
{
	static char text[1 << 20];
	size_t i, used;

	used = (size_t)snprintf(text, sizeof(text), "framework: f\npackage: p\nreleases: [");
	for (i = 0; i < MT_KNOB_RELEASES_MAX + 1; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%zu, ", i);
	snprintf(text + used, sizeof(text) - used, "]\nknobs: []\n");
	check_refused(text, "x.yaml:3: more than 32 of releases");

	used = (size_t)snprintf(text, sizeof(text), HEAD ROW("k") "    constraint:\n");
	for (i = 0; i < MT_KNOB_CONSTRAINTS_MAX + 1; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "      - says: s\n");
	check_refused(text, "x.yaml:23: more than 6 of constraint");

	used = (size_t)snprintf(text, sizeof(text), "framework: ");
	memset(text + used, 'a', 3000);
	text[used + 3000] = '\0';
	check_refused(text, "x.yaml:1: a text longer than 2048 bytes");
	check_refused("framework: &a f\npackage: *a\n", "x.yaml:2: aliases are not allowed here");
	check_refused("", "x.yaml:1: the file is empty");
	check_refused("- a\n", "x.yaml:1: a mapping is expected here");
}

/* A file that ends anywhere, and one with any byte changed, is an error or a file, never a crash. */
TEST(hostile_files_do_no_harm)
{
	static const char text[] = HEAD ROW("k") "    default: { 1.0: 5 }\n    older:\n      - {key: o, gone: 1.1}\n"
						 "    constraint: [{says: s, needs: k, value: [1]}]\n";
	static const char bytes[] = { '\0', '\n', '[', '{', ':', '*', '\xff', ' ' };
	char changed[sizeof(text)];
	struct mt_knobs knobs;
	size_t i, b;

	for (i = 0; i < sizeof(text); i++) {
		if (add(&knobs, text, i))
			CHECK(*message);
		drop(&knobs);
		for (b = 0; b < sizeof(bytes); b++) {
			memcpy(changed, text, sizeof(text));
			changed[i] = bytes[b];
			if (add(&knobs, changed, sizeof(text) - 1))
				CHECK(*message);
			drop(&knobs);
		}
	}
}

TEST_MAIN()
