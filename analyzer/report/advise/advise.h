/*
 * advise.h - the whole answer of `memana advise`: settings that would have helped, with bytes; those that would not, and why;
 * and when no setting does.
 *
 *     run (advise_run.h)          what happened
 *     config (advise_config.h)    what is set
 *     model (advise_model.h)      what a change does to each site
 *     later (advise_replay.h)     what the step takes after the request that failed
 *     replay (advise_replay.h)    what the peaks would have been
 *     choose, refuse              what to say
 *     answer                      the first sentences
 */
#ifndef MEMANA_ADVISE_H
#define MEMANA_ADVISE_H

#include "advise_model.h"
#include "advise_run.h"
#include "base/json.h"
#include "base/text.h"
#include "report/answer.h"
#include "report/settings/advise_config.h"

#define ADVISE_BY_MAX 24u /* bytes of "at least 0.05" */
#define ADVISE_EVIDENCE_MAX 704
#define ADVISE_TURNS_MAX 32   /* changes of --set */
#define ADVISE_TOGETHER_MAX 6 /* settings that are proposed together */

struct advise_range {
	uint64_t low, high;
};

/* What would have been. Bytes in use: tensors, and memory of the driver that is not the allocator's. */
struct advise_outcome {
	struct advise_range phase[MT_PHASE_COUNT]; /* peaks; 0: the device did nothing in it */
	struct advise_range peak;                  /* the highest */
	struct advise_range asked;                 /* with the request that failed; 0: none did */
	uint8_t in;                                /* enum mt_phase of the peak */
};

/* A setting that would have helped. */
struct advise_row {
	const struct mt_knob *knob;
	char now[ADVISE_VALUE_MAX]; /* "": not known, or there is none */
	const char *now_from;       /* as advise_value has it */
	char now_words[192];        /* "0.3 (default, if not set)" */
	char to[ADVISE_VALUE_MAX];
	char by[ADVISE_BY_MAX]; /* of a value that nobody tells: "0.05" less than it is, which is at most `to`; "": it is known */
	enum mt_knob_cost cost;    /* of the setting; or more GPUs, if the recording shows fewer than it takes */
	struct advise_range saved; /* of the peak, or of what was in use with the request */
	struct advise_outcome outcome;
	uint8_t category; /* enum mt_category: what most of it is */
	int fits;         /* 1: with the fewest savings that are possible, all that was asked for fits */
	int sample;       /* 1: one sample was too long, and it is about its length */
	int halves;  /* nobody knows what it is now: `to` stands for half of that, or twice (advise_relative_words) */
	int unread;  /* by defaults another setting keeps it from being read */
	int asks;    /* one look tells whether what it needs is so */
	int aims_if; /* the same of one that may not count */
	int aims;    /* 1: it is about the bytes that were too many, and not about everything */
	int of_most; /* 1: it is about nothing but what there is most of */
	int of_request; /* 1: it makes the failed request less, which is more than all else */
	int probable;   /* what most of those bytes are is a guess */
	char evidence[ADVISE_EVIDENCE_MAX];
	char only[ADVISE_WORDS_MAX]; /* by defaults alone it would not count: why; "": it does */
};

/* One that people would try, and why it would not have helped. */
struct advise_idle {
	const struct mt_knob *knob;
	int from_default; /* 1: only a default says so, and nobody has told what is set */
	uint64_t bytes;   /* in use of what it is about */
	char why[ADVISE_WORDS_MAX];
};

/* Why no setting is the answer. X(NAME, word) */
#define ADVISE_REASON_LIST(X)                                                                                  \
	X(RETENTION, "retention")          /* something is kept that nobody needs */                           \
	X(NEIGHBOUR, "neighbour")          /* another process has it */                                        \
	X(IDLE_CACHE, "idle-cache")        /* the allocator keeps what a library needs */                      \
	X(FRAGMENTATION, "fragmentation")  /* there is enough, in pieces */                                    \
	X(UNRECORDED, "unrecorded")        /* nobody recorded who has it */                                    \
	X(HOST, "host")                    /* it was not the GPU */                                            \
	X(OUTLIER, "outlier")              /* one micro-batch, or one sample, is far larger than all before */ \
	X(UNEVEN, "uneven")                /* another GPU has far less of the same */                          \
	X(LEFT, "left-over")               /* it need not be there, or not all at once */                      \
	X(IGNORED, "setting-ignored")      /* it is set, and the bytes are there all the same */               \
	X(EVIDENCE, "too-little-evidence") /* the recording does not tell */

enum advise_reason {
#define ADVISE_REASON_ENUM(name, word) ADVISE_REASON_##name,
	ADVISE_REASON_LIST(ADVISE_REASON_ENUM)
#undef ADVISE_REASON_ENUM
};

const char *advise_reason_word(enum advise_reason reason);

struct advise_refusal {
	enum advise_reason reason;
	int whole; /* 1: settings of memory do not help, whatever they save */
	int told; /* 1: the evidence is what follows from the failed request: memana oom says it, the verdict in short */
	char evidence[1024], instead[ADVISE_EVIDENCE_MAX];
};

/* What the allocator of the process that keeps most idle would have reserved. Bytes at its peak. */
struct advise_reserved {
	int known; /* 0: it is no GPU's, nothing idle is worth a word, or the model does not fit the recording */
	int64_t process;
	uint64_t idle, recorded, modelled;
	int asked, gets; /* of a request for which there was enough in pieces: it was asked for, and gets it */
	double off;      /* the model on the recording itself: |modelled - recorded| / recorded */
};

struct advice {
	struct advise_run run;
	struct advise_config *config;
	struct mt_knobs *knobs;
	struct advise_facts facts; /* for constraints */
	uint64_t base;             /* in use at the peak, or with the request that failed */
	uint64_t needed;           /* so much must go that it fits; 0: it fits, or nobody knows */
	uint64_t limit;            /* --fit, or what there was; 0: none */
	int fit;                   /* --fit was given */
	int pieces_kept;           /* pieces of logits that should go one by one are all there */
	int points;                /* something at the peak is out of the ordinary, and the verdict says it */
	uint8_t asleep;      /* enum mt_category of what a process that sleeps keeps; MT_CATEGORY_COUNT: nobody does */
	struct advise_doer { /* innermost on the stack that asked, of no library; "": nobody is */
		char function[128], place[128];
	} doer;
	struct advise_apart { /* waits for the backward, and is not computed again, while other layers are; bytes 0: nothing */
		uint64_t bytes, pieces;
		char function[128], place[128]; /* that makes most of it; "": nobody knows */
	} apart;
	int nothing_again; /* 1: most of what waits for the backward is of several layers, and none is below what computes again */
	int blind;              /* nobody has told how the run was configured: values are defaults, at best */
	struct advise_row *row; /* most worth trying first */
	size_t rows, row_room;
	struct advise_idle *idle;
	size_t idles, idle_room;
	struct advise_refusal *refusal;
	size_t refusals, refusal_room;
	struct advise_turn
		turn[ADVISE_TURNS_MAX]; /* --set, or what --fit chose, or what fits together where one does not */
	char turn_to[ADVISE_TURNS_MAX][ADVISE_VALUE_MAX], turn_now[ADVISE_TURNS_MAX][ADVISE_VALUE_MAX];
	uint8_t turn_halves[ADVISE_TURNS_MAX];         /* as struct advise_row has it */
	char turn_by[ADVISE_TURNS_MAX][ADVISE_BY_MAX]; /* the same */
	enum advise_silence silence[ADVISE_TURNS_MAX]; /* of --set: why a change does nothing */
	size_t turns;
	int unforetold; /* --set: what one of the changes adds or moves is not in the recording: the outcome is not to be said */
	int asked, predicted, together_fits; /* asked: they are those of --set; predicted: outcome is of them */
	struct advise_outcome outcome;
	struct advise_reserved reserved; /* with these turns */
	struct sentence answer;  /* what to change, how much that saves, whether it is enough, and how sure that is */
	struct sentence verdict; /* what happened */
};

/* What the user gave. */
struct advise_request {
	const char *framework, *file; /* NULL: auto; none */
	const char **now, **set;
	size_t nows, sets;
	uint64_t fit;     /* bytes, 0: not given */
	const char *name; /* of the trace, for commands to try */
};

/*
 * The answer. 0; -MT_E_ARGUMENT or -MT_E_RULES: what was given is wrong, and advice->config->message says what; -MT_E_MAGIC:
 * nothing was held on a device; or -MT_E_x. Free in any case.
 */
int advise(struct advice *advice, struct db *db, const struct advise_request *request);
void advise_release(struct advice *advice);

/* Fills answer and verdict; all else is there. 0 or -MT_E_x. In advise_answer.c, as are the five below. */
int advise_answer(struct advice *advice);

/* It failed while things were set up, and no step is in the recording: the rest of that, and the steps, are known by nobody. */
int advise_is_starting(const struct advice *advice);

/* How far "enough" goes: for the one request, or for all that its step takes after it. Begins with a space; nothing: "". */
void advise_say_later(struct sentence *answer, const struct advice *advice);

/*
 * "enough", "probably enough", "perhaps enough", "not enough alone": of what is missing; "": nothing is, or nobody knows. "for this
 * request": nothing tells what comes after it; "so far": what is counted is a part of what is set up.
 */
const char *advise_enough_words(const struct advice *advice, const struct advise_row *row);

/* A row that saves more than the first, but counts only where something is so that one look can tell. NULL: there is none. */
const struct advise_row *advise_conditional(const struct advice *advice);

/* It says how many tokens or samples a micro-batch has. */
int advise_is_by_micro_batch(const struct mt_knob *knob);

/* Several engines that are awake on the GPU: what each may have at most, where they are alike, as a share of it; else 0. */
double advise_share_of_each(const struct advice *advice);

/* " of the engine of pid 5000", where there are several; else "". Into `out`, which is returned. */
#define ADVISE_WHOSE_MAX 64
const char *advise_whose_share(const struct advice *advice, const struct mt_knob *knob, char out[ADVISE_WHOSE_MAX]);

/*
 * " of megatron": a key that is not the main framework's, and that it does not hand on; " of pytorch, in the code": an argument of a
 * program whose settings are none. Else "". Into `out`, which is returned.
 */
const char *advise_foreign_words(const struct advice *advice, const struct mt_knob *knob, char out[ADVISE_WHOSE_MAX]);

/* It is a budget beyond which one sample ends the run with an error. _may: nor does anything tell how long a sample can be. */
int advise_ends_run(const struct mt_knob *knob);
int advise_may_end_run(const struct advice *advice, const struct mt_knob *knob);

/* It cuts a mini-batch into more micro-batches, of one sample at least. */
int advise_splits(const struct mt_knob *knob);

/*
 * The row of the same micro-batches that counts where `row` does not: a budget of tokens beside a number of samples, between which
 * a switch decides that nobody has told. *key: the switch, *on: whether it is on where the other counts. NULL: there is none.
 */
const struct advise_row *advise_alternative(const struct advice *advice, const struct advise_row *row, const char **key,
					    int *on);

/* What is proposed where nobody knows what it is now: "half of what it is now", twice that. */
const char *advise_relative_words(const struct mt_knob *knob);

/* "= 8, now 16 (config.yaml:3)", "= half of what it is now (16 by default)". Into `out`, which is returned. */
const char *advise_change_words(const struct advise_row *row, char out[ADVISE_EVIDENCE_MAX]);

/* What need not be there goes before settings, but the first of them is about the same bytes. */
int advise_settings_too(const struct advice *advice);

/* What goes before any setting names this one: it is one. In advise_choose.c. */
int advise_is_named(const struct advice *advice, const struct mt_knob *knob);

/* The first row about what is out of the ordinary: an engine's memory while a trainer has its peak. NULL: none is. */
const struct advise_row *advise_pointed_at(const struct advice *advice);

/* The micro-batch that failed has far more tokens than all before it: one long sample, or many at once. */
int advise_is_outlier(const struct advice *advice);

/* Nothing failed, and a good part of the device was never held: nothing has to change. */
int advise_is_healthy(const struct advice *advice);

/*
 * What the recorded stacks say (advise_seen.c). Whether settings of that part of the configuration do anything: it, or what it
 * is below of, was seen.
 */
int advise_is_there(const struct advice *advice, uint32_t part);

/* Whether what the setting is about runs here: its class, its module of PyTorch, its model, the backend it needs. */
int advise_is_meant(const struct advice *advice, const struct mt_knob *knob);

/* A switch by which an engine lets its memory go while others work. */
int advise_lets_sleep(const struct mt_knob *knob);

/* Functions or files that run only where it is on are on recorded stacks, or its engine's pool slept; `why` says which. */
int advise_is_proved(const struct advice *advice, const struct mt_knob *knob, char why[ADVISE_WORDS_MAX]);

/* Fills apart or nothing_again, after the base is known. 0 or -MT_E_x. */
int advise_find_apart(struct advice *advice);

/* The backend that it needs: 1: the stacks show it, -1: they show another one that excludes it, 0: neither. */
int advise_backend(const struct advice *advice, const struct mt_knob *knob);

/*
 * No backward comes for what the failed request is about, or is there: nothing is trained in that process, its weights are only
 * converted, or that forward had none before. What a setting does to the gradients is nothing then.
 */
int advise_is_forward_only(const struct advice *advice);

/* What else the setting does, as the knob file has it; NULL: nothing, or nothing here. */
const char *advise_effect(const struct advice *advice, const struct mt_knob *knob);

/*
 * States have stacks, and no Adam's is among them, or it is DeepSpeed's, which its own configuration names: it is an optimizer of
 * which nobody knows what it could be instead.
 */
int advise_is_own_optimizer(const struct advice *advice);

/* A change, on top of those that are made in any case, and what comes of it. */
struct advise_trial {
	struct advise_turn turn; /* knob NULL: nothing beside those */
	int works;               /* 1: it does something; 0: `silence` says why not */
	enum advise_silence silence;
	struct advise_outcome outcome; /* also where it does nothing */
	struct advise_reach reach;     /* where nothing was made beside it */
};

/* Of each trial by itself. A value that a knob cannot have does nothing. 0 or -MT_E_x. */
int advise_try(struct advice *advice, const struct advise_turn *made, size_t makes, struct advise_trial *trial,
	       size_t trials);

/* The outcome of no change. */
int advise_as_it_was(struct advice *advice, struct advise_outcome *outcome);

/* Fills rows and idles, and where one row is not enough turn and outcome (advise_choose.c). 0 or -MT_E_x. */
int advise_choose(struct advice *advice);

/* One refusal more; `whole`: nothing else counts then. 0 or -MT_E_MEMORY. _told: of what the verdict has said already. */
int advise_add_refusal(struct advice *advice, enum advise_reason reason, int whole, const char *evidence,
		       const char *instead);
int advise_add_told(struct advice *advice, enum advise_reason reason, int whole, const char *evidence,
		    const char *instead);

/*
 * What is larger than all before (advise_larger.c): a sample, where no other remedy is, or beside one about what passes; the tokens of
 * a micro-batch, by its logits, once rows are there; what one rank has. 0 or -MT_E_x.
 */
int advise_refuse_outlier(struct advice *advice);
int advise_refuse_tokens(struct advice *advice);
int advise_refuse_uneven(struct advice *advice);

/* After the rows are chosen: logits that a function of the program makes float32 all at once, or copies once more, where no row does it in
 * pieces. 0 or -MT_E_x. */
int advise_refuse_cast(struct advice *advice);

/* An engine alone was recorded, and is sent too much at once. 0 or -MT_E_x. */
int advise_refuse_messages(struct advice *advice);

/* An autoencoder that decodes: what was told of inference in general is told of it. */
void advise_say_tiles(struct advice *advice);

/* Fills refusals: what the failure itself tells, and what does beside it (advise_refuse.c). 0 or -MT_E_x. */
int advise_refuse(struct advice *advice, const char *name);
int advise_refuse_beside(struct advice *advice);

/* Of copies that fill the device while no row is about them: what makes fewer of them. Rows are there. 0 or -MT_E_x. */
int advise_refuse_untouched(struct advice *advice);

/* Where the host ended the run: what shows it, and what to do about that. 1: that is so; 0: it did not, or -MT_E_x. */
int advise_host_says(struct advice *advice, char evidence[ADVISE_EVIDENCE_MAX], char instead[ADVISE_EVIDENCE_MAX]);

/* With the allocator's settings among these turns (advise_allocator.c). 0 or -MT_E_x. */
int advise_allocator(struct advice *advice, const struct advise_turn *turn, size_t turns,
		     struct advise_reserved *reserved);

/* Fills a row for a setting of the allocator, but for `outcome`. 1: it saves something; 0, or -MT_E_x. */
int advise_allocator_row(struct advice *advice, const struct mt_knob *knob, struct advise_value now,
			 struct advise_row *row);

/*
 * FRAGMENTATION: what to do about it; whether what is idle would be enough, with what comes after the request; and whether a copy of weights is
 * named in its place, as it is not. In advise_allocator.c.
 */
void advise_say_pieces(const struct advice *advice, char out[ADVISE_EVIDENCE_MAX]);
int advise_pieces_are_enough(const struct advice *advice);
int advise_copy_leads(const struct advice *advice);

/* Slack that stands beside what is in use in an outcome: none at best, as much as there was at worst. */
struct advise_range advise_held_range(const struct advice *advice, struct advise_range in_use);

/* The answer where advise() says -MT_E_MAGIC. */
extern const char advise_nothing_held[];

/* "8.2 to 9.3 GiB", "9.3 GiB" where both say the same. */
#define ADVISE_RANGE_MAX (2 * TEXT_SIZE_MAX)
const char *advise_range_words(char out[ADVISE_RANGE_MAX], struct advise_range range);

/* Its line can be pasted as it is: the value is known (`by` as in struct advise_row), and whose it is. */
int advise_can_paste(const struct advice *advice, const struct mt_knob *knob, const char *by);

/* Its setting is at a default by which it has no effect, and no look tells more. In advise_answer.c. */
int advise_is_idle_by_default(const struct advise_row *row);

/* "costs nothing" */
const char *advise_cost_words(enum mt_knob_cost cost);

/* Nothing failed, nothing else is wrong, and a good part of the device was never in use: nothing has to change. */
int advise_is_healthy(const struct advice *advice);

/* The page, and the same for programs. 0 or -MT_E_x. */
void advise_brief(const struct text *text, const struct advice *advice); /* answer and verdict alone */
int advise_text(const struct text *text, const struct advice *advice, int64_t limit);
int advise_json(struct doc *doc, const struct advice *advice, int64_t limit);

#endif
