/*
 * answer.h - the arguments and small parts of the output that reports on a loaded run share. A report is one struct: its functions print from a
 * database (report.h).
 */
#ifndef MEMANA_ANSWER_H
#define MEMANA_ANSWER_H

#include <stdint.h>
#include "base/json.h"
#include "base/text.h"
#include "command_option.h"
#include "report.h"
#include "source/source.h"

struct answer_options {
	int json, help;
	int brief;        /* --brief: only the verdict, as in memrec's last words; JSON is not shortened */
	int64_t limit;    /* -n: largest number of rows of a list, INT64_MAX: all */
	int64_t number;   /* --number; 0: not given */
	const char *name; /* named_words of the traces, for commands that the report proposes */
	void *own;        /* values of the report's own options, or the argument of answer_command */
};

/* A report. Both functions return 0, an exit status after a message, or -MT_E_x. -MT_E_ARGUMENT: --number names something that does not exist. */
struct answer {
	const struct command_option *options;
	enum load_parts parts;
	int64_t limit; /* largest number of list entries in text; JSON has all unless -n is given */
	/* Takes an option of this report, with `optarg`, into options->own. Returns 0; after a message, the exit status. */
	int (*take_own)(struct answer_options *options, int option);
	int (*text)(const struct text *text, struct db *db, const struct answer_options *options);
	int (*json)(struct doc *doc, struct db *db, const struct answer_options *options);
};

/* Reads the options; the other arguments begin at optind. `own` is for answer->take_own. Returns 0, or the exit status. */
int answer_parse(struct answer_options *options, const struct answer *answer, int argc, char **argv, void *own);

/* Runs a command without options of its own: reads the arguments, opens, answers, closes. `own` becomes options->own. Returns the exit status. */
int answer_command(int argc, char **argv, const struct answer *answer, void *own);

/* Runs a command that takes only traces and --json: opens the traces and calls `answer`. `answer` prints, and returns the exit status. */
int answer_traces(int argc, char **argv, int (*answer)(const struct source *source, int json));

/*
 * Prints the document of a command's answer to stdout: version, type, the members that `fill` adds, and the members that all answers have. Returns 0
 * or -MT_E_x.
 */
int answer_document(const char *command, struct db *db, int (*fill)(struct doc *doc, void *context), void *context);

/* The answer to a question about times, phases or steps of a snapshot without history, with the next action. */
extern const char answer_no_history[];

/* Prints a heading after an empty line. */
void answer_title(const struct text *text, const char *title);

/* Prints the sentence in bold, over the whole width. */
void answer_verdict(const struct text *text, const struct sentence *sentence);

/* "GPU 0", "the CPU" */
const char *answer_device(char out[TEXT_SIZE_MAX], int64_t number, const char *kind);

/* "rank 3"; without a rank (-1) "pid 123"; without a pid (0), too, "the process" */
const char *answer_process(char out[TEXT_SIZE_MAX], int64_t rank, int64_t pid);

/* Says "f (train.py:12)", or only the place if the function is unknown. `place` is never empty. */
void answer_say_place(struct sentence *sentence, const char *function, const char *place);

/* Returns the words for a phase after "from" and in tables: "forward", "before the recording". */
const char *answer_phase(const char *phase);

/* Writes " NVIDIA H100", to follow "GPU 0"; "" without a name. */
const char *answer_model(char out[128], const char *name);

/* Returns "activations", or words for an unknown category. */
const char *answer_category(const char *category);

/* Says ": activations"; ": probably activations" if most bytes are a guess (`is_guess`); or ": of unknown kind". */
void answer_say_category(struct sentence *sentence, const char *category, int is_guess);

/*
 * Read a statement with one row and one number: answer_flag, whether it is not 0; answer_bytes, the number. As db_rows; without a row, nothing
 * changes.
 */
int answer_flag(struct db *db, const char *sql, const int64_t parameter[DB_PARAMETERS], int *flag);
int answer_bytes(struct db *db, const char *sql, const int64_t parameter[DB_PARAMETERS], uint64_t *bytes);

/* Says "12 events of 9,000 are lost. " if it is so; *lost: events of all processes that the recorder lost. Returns 0 or -MT_E_x. */
int answer_say_lost(struct sentence *sentence, struct db *db, uint64_t *lost);

/* Writes the statement's row as an object with the names of its columns. */
void answer_row_json(struct doc *doc, const struct db_stmt *stmt);

#endif
