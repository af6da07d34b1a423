/* knobs_impl.h - declarations that the files of struct mt_knobs share; for formats/knobs*.c only. */
#ifndef FORMATS_KNOBS_IMPL_H
#define FORMATS_KNOBS_IMPL_H

#include "memtrace/knobs.h"

/* Copies a text; the copy lives as long as the knobs. NULL: out of memory. */
const char *knobs_keep(struct mt_knobs *knobs, const char *text, size_t size);

/* Reads `text` into *file. *file has a name, and is zero otherwise. The caller frees *file, also after an error. */
int knob_file_read(struct mt_knobs *knobs, struct mt_knob_file *file, const char *text, size_t size, char *message,
		   size_t message_size);

/* The words of the lists in knobs.h, by number. */
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
