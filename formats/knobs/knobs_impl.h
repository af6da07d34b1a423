/* knobs_impl.h - declarations shared by the files behind struct mt_knobs; for formats/knobs*.c only. */
#ifndef FORMATS_KNOBS_IMPL_H
#define FORMATS_KNOBS_IMPL_H

#include "memtrace/knobs.h"

/* Texts, newest first. */
struct knobs_text {
	struct knobs_text *next;
	char text[];
};

/* Copies a text for as long as the knobs live; NULL: out of memory. */
const char *knobs_keep(struct mt_knobs *knobs, const char *text, size_t size);

/* Reads `text` into *file, which is zero except for its name. The caller frees it in any case. */
int knob_file_read(struct mt_knobs *knobs, struct mt_knob_file *file, const char *text, size_t size, char *message,
		   size_t message_size);

/* The lists of knobs.h, by number. */
extern const char *const knob_process_words[MT_KNOB_PROCESSES];
extern const char *const knob_saves_words[MT_KNOB_SAVES_WORDS];
extern const char *const knob_method_words[MT_KNOB_METHODS];
extern const char *const knob_of_words[MT_KNOB_OFS];
extern const char *const knob_leaves_words[MT_KNOB_LEAVES_WORDS];
extern const char *const knob_cost_word[MT_KNOB_COSTS];
extern const char *const knob_fact_word[MT_KNOB_FACTS];
extern const char *const knob_written_words[MT_KNOB_WRITTENS];
extern const char *const knob_unit_words[MT_KNOB_UNITS];
extern const char *const knob_beyond_words[MT_KNOB_BEYONDS];
extern const char *const knob_constraint_keys[MT_KNOB_CONSTRAINTS];

#endif
