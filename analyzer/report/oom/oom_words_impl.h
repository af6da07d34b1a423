/*
 * oom_words_impl.h - what the files of oom_words.h share: sentences about what is kept, and who keeps it.
 */
#ifndef MEMANA_OOM_WORDS_IMPL_H
#define MEMANA_OOM_WORDS_IMPL_H

#include "oom_words.h"

/* "rank 0 (pid 4100)", "pid 4200"; and no end of the sentence. */
void oom_say_process(struct sentence *sentence, int64_t rank, int64_t pid);

/* "27 x 2.0 GiB", "75.0 GiB in 2 pieces": what a place keeps. */
void oom_say_pieces(struct sentence *sentence, const struct oom_part *part);

/* RANKS: who else is on the device. `briefly`: without what to do. */
void oom_say_ranks(struct sentence *sentence, const struct oom *oom, int briefly);

/* Growth of somebody else: the process that asked can do nothing about it. */
void oom_say_other_growth(struct sentence *sentence, const struct oom *oom);

/* Places of the process that asked, which keep more and more (oom->growth). `name`: what the user named. */
void oom_say_growth(struct sentence *sentence, const struct oom *oom, const char *name);

/* What is in reserve, but not in one piece, and what pins it. */
void oom_say_fragmentation(struct sentence *sentence, const struct oom *oom, const char *name);

/* The growth of oom->growth in one sentence, without what to do. */
void oom_say_kept(struct sentence *sentence, const struct oom *oom);

/* " When pid 4200 woke up before, at 9.0 s, rank 0 (pid 5100) had 9.3 GiB less." Nothing, unless oom->before is known. `briefly`: without what to do. */
void oom_say_before(struct sentence *sentence, const struct oom *oom, int briefly);

/* " Before, that of pid 4200 slept whenever rank 0 computed (2 sleeps); .. 63.0 GiB of pid 4200 went 1.0 s after this request." Nothing, unless
 * oom->slept is why. `briefly`: without what was before. */
void oom_say_slept(struct sentence *sentence, const struct oom *oom, int briefly);

/* "15.4 GiB beside it are weights of rank 0 (pid 5200), which ..." Nothing, unless oom->beside is known. */
void oom_say_beside(struct sentence *sentence, const struct oom *oom);

/* "22.5 GiB of optimizer state was made by f (x.py:1) in the same load. " Nothing, unless oom->reload is known. */
void oom_say_reload(struct sentence *sentence, const struct oom *oom);

/* ", gathered for f (x.py:1) before the last step of the optimizer, and never sharded again". Nothing, unless oom->unsharded is known. */
void oom_say_unsharded(struct sentence *sentence, const struct oom *oom);

/* "If nothing below f is trained, run it within torch.no_grad(), and it keeps none of that.", where there is such an f. */
int oom_has_apart(const struct oom *oom);
void oom_say_apart(struct sentence *sentence, const struct oom *oom);

/* What is there of oom->again, oom->library and oom->idlers, and no end of the sentence. */
void oom_say_again(struct sentence *sentence, const struct oom *oom);
void oom_say_library(struct sentence *sentence, const struct oom *oom);
void oom_say_idlers(struct sentence *sentence, const struct oom *oom);
void oom_say_crowd(struct sentence *sentence, const struct oom *oom);

/* "9.4 GiB of the GPU is this process's and in no recorded call of CUDA's, ..", and no end of the sentence. */
void oom_say_unseen(struct sentence *sentence, const struct oom *oom);

/* "2 tensors as large as the request are there already, 74.2 GiB, made by f (x.py:1) and g (y.py:2)." Nothing, unless oom->same is known.
 * `briefly`: without what to do. */
void oom_say_same(struct sentence *sentence, const struct oom *oom, int briefly);

/* "It is probably a copy of what f (x.py:1), called from g (y.py:2), has just made. " Nothing, unless oom->clone is known. `briefly`: without
 * why, and what to do. */
void oom_say_clone(struct sentence *sentence, const struct oom *oom, int briefly);

/* ", 56.8 GiB of it pid 4200's": where several have some of the category, and one has most of these bytes. */
void oom_say_whose_most(struct sentence *sentence, const struct oom *oom, const char *category, uint64_t bytes);

/* LARGEST, of logits: an engine's, which samples for all requests at once and has a cache. */
int oom_samples_beside_cache(const struct oom *oom);

/* "The request is twice as large as what f (x.py:1) made, 1.7 GiB: ..." */
void oom_say_wider(struct sentence *sentence, const struct oom *oom);

/* What trains has its own weights beside: a reference, a teacher, which could wait on the host. */
int oom_is_copy_in_the_way(const struct oom *oom);

/* "14.0 GiB of the 28.0 GiB of weights were made by create_reference_model (x.py:640), as many as by from_pretrained. " */
void oom_say_copy(struct sentence *sentence, const struct oom *oom);

#endif
