/*
 * stack_words.h - finds the words of formats/knobs (README.md there) on the call stacks of the scene.
 *
 * A word is a function ("step" of any class, "AdamW.step"), a file ("x_worker.py") or a folder ("liger_kernel/"). In "update_actor > load_weights"
 * the first function calls the second one, directly or not.
 */
#ifndef MEMANA_STACK_WORDS_H
#define MEMANA_STACK_WORDS_H

#include "why/scene/scene.h"

/* Whether the frame of the node, or of a caller, is the word. */
int stack_has(const struct scene *scene, uint32_t node, const char *word);

/* Whether any recorded stack has the word. */
int stack_is_seen(const struct scene *scene, const char *word);

/*
 * Whether the stack has one of the words of `within`: a part of the name of one of the `depth` inner Python functions, or the file of the innermost
 * one. "evaluate >" can be any function of the stack.
 */
int stack_is_within(const struct scene *scene, uint32_t node, const char *const *word, uint32_t words, uint32_t depth);

/* Returns the tags of the `depth` inner frames (memtrace/why.h): these allocate, and callers further out do not count. */
uint64_t stack_inner_tags(const struct scene *scene, uint32_t node, uint32_t depth);

#endif
