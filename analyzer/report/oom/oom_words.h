/* oom_words.h - what is said of a failed request: the same sentence everywhere, and what `memana oom` has to add. */
#ifndef MEMANA_OOM_WORDS_H
#define MEMANA_OOM_WORDS_H

#include "base/text.h"
#include "query_oom.h"
#include "report/answer.h"

/*
 * "Out of memory on GPU 0 (press D): 30.0 GiB asked for by f (x.py:1) of rank 3 in forward of step 4 at 8.2 s, 1.0 GiB free",
 * and no end of the sentence. `what`: its first words; `note`: "(press D)". Left out is what `it` does not have: kind, place,
 * free; the step where steps is 0, and whose place it is where there is one process.
 */
void oom_say_failure(struct sentence *sentence, const char *what, const struct oom_failure *it, const char *note);

/* What failed, and in one more sentence what to do. `name`: what the user named. */
void oom_verdict(struct sentence *sentence, const struct oom *oom, const char *name);

/*
 * The same in two sentences, for who says what to do by himself: what failed, and why. The page of memana oom has the rest.
 */
void oom_say_briefly(struct sentence *sentence, const struct oom *oom);

/* What is to be done, and why, alone. */
void oom_say_next(struct sentence *sentence, const struct oom *oom, const char *name);

/* What makes less of a category: "recompute activations, ..."; NULL: nobody knows. Static storage. */
const char *oom_remedy(const char *category);

/*
 * What helps in the place of the usual remedy, where what is in use shows that it would not: of pieces that are all kept, of
 * gradients that are whole, of copies that no step needs, of what wakes up. NULL: nothing shows that. Static storage.
 */
const char *oom_special_remedy(const struct oom *oom);

/* RETAINED of graphs: what makes less of them. Static storage. */
const char *oom_graphs_remedy(const struct oom *oom);

/* The one, or else the other, as it is here: of an engine that nobody trains beside. NULL: nobody knows. Static storage. */
const char *oom_remedy_here(const struct oom *oom);

/*
 * Where most of the weights are another process's: what makes less of those, as what the one that asked does with its own is no remedy.
 * NULL: they are not. Static storage.
 */
const char *oom_others_remedy(const struct oom *oom);

/* What may keep it, or what to do where oom->before.function has brought it back. Static storage. */
const char *oom_since_remedy(const struct oom *oom);

/* should_sleep: what to do, with whose pool it is, and before which call: "let the engine (pid 4200), or .., sleep before f (x.py:1), ..". */
void oom_sleep_remedy(const struct oom *oom, char *out, size_t room);

/* RANKS: what to do. Static storage. */
const char *oom_ranks_remedy(const struct oom *oom);

/* What oom_special_remedy() says is to be changed in the code that `theirs` names. */
int oom_is_about_code(const struct oom *oom);

/* The largest piece of the place is far above all that it had in earlier steps; of other bytes than logits, which say tokens. */
int oom_is_larger(const struct oom *oom);

/* idle_model: "10.3 GiB of weights, made by f (x.py:1), have computed nothing since the first backward (no code of g did)". */
void oom_say_idle(struct sentence *sentence, const struct oom *oom);

/*
 * What keeps most is below a call of its own (oom->apart), as of a frozen encoder, and would be enough: no graph of that costs nothing.
 * Of a module's own forward() nobody can tell as much.
 */
int oom_goes_for_nothing(const struct oom *oom);

/* FRAGMENTATION: a copy of weights has more than what is idle, and would be enough; and what to do with it. Static storage. */
int oom_copy_leads(const struct oom *oom);
const char *oom_copy_remedy(const struct oom *oom);

/* Somebody else has grown, and this request would fit beside him if the engine that asked had a little less for its cache. */
int oom_is_put_off(const struct oom *oom);

/* It is larger than all before, and so was each of many steps. */
int oom_is_rising(const struct oom *oom);

/* It is about gradients, and they are as large as the layers that are gathered: nothing has sharded them yet. */
int oom_has_whole_gradients(const struct oom *oom);

/* IDLE_CACHE: who asked the driver, "NCCL", "vLLM's pool", "a library"; and whether that is a pool that sleeps, and wakes up here. */
void oom_asker_words(char out[TEXT_SIZE_MAX], const struct oom *oom);
int oom_asker_sleeps(const struct oom *oom);

/* As people call the library of that owner (label/owner.h): "ONNX Runtime"; the owner's own name where there is no other. */
const char *oom_library_name(const char *owner);

/* UNRECORDED: processes that were recorded, and have nothing but a context there, are half of it or more. */
int oom_has_idlers(const struct oom *oom);

/* Contexts of processes that are at work there are most of what no call tells of, and what helps. Static storage. */
int oom_is_crowded(const struct oom *oom);
extern const char oom_crowd_remedy[];

/* With every what it grows: "step", "minute". Static storage. */
const char *oom_growth_part(const struct oom_growth *growth);

/* Who says what was free: "the driver", ... */
const char *oom_free_words(const struct oom_failure *failure);

/* The report of `memana oom` for programs. */

/* As struct answer's json. */
int oom_json(struct doc *doc, struct db *db, const struct answer_options *options);

/* Of oom->unseen. */
extern const char oom_unseen_remedy[];

#endif
