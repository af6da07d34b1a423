/* Whose bytes are: of the trained model's critic, its reference or teacher, its reward - where stacks, or the process, tell. */
#include "advise_run.h"

#include <stdio.h>
#include <string.h>
#include "memtrace/base.h"
#include "report/answer.h"

#define SQL_MAX 2048

int advise_frame_condition(char *sql, size_t size, const char *word)
{
	size_t length = strlen(word);

	if (!length || strpbrk(word, "'\""))
		return 0;
	if (word[length - 1] == '/')
		return (size_t)snprintf(sql, size, "instr('/' || file, '/%s')", word) < size;
	return (size_t)snprintf(
		       sql, size,
		       "(function = '%s' OR substr(function, -%zu) = '.%s' OR file = '%s' OR substr(file, -%zu) = '/%s')",
		       word, length + 1, word, word, length + 1, word) < size;
}

/* ---- models ---------------------------------------------------------------------------------------------------------- */

struct marking {
	struct replay *replay;
	uint32_t role; /* bit */
};

static int take_marked(void *context, struct db_stmt *row)
{
	struct marking *marking = context;
	struct replay *replay = marking->replay;
	int64_t id = db_int(row, 0);
	uint32_t at = id > 0 && id < replay->ids ? replay->index[id] : UINT32_MAX;

	if (at != UINT32_MAX)
		replay->site[at].roles |= marking->role;
	return 0;
}

/* Sites whose stacks go through the function, file or folder. 0 or -MT_E_x. */
static int mark(struct advise_run *run, const char *word, uint32_t role)
{
	struct marking marking = { &run->replay, role };
	char sql[SQL_MAX], condition[SQL_MAX / 2];

	if (!advise_frame_condition(condition, sizeof(condition), word))
		return 0;
	snprintf(sql, sizeof(sql),
		 "WITH RECURSIVE own(id) AS (SELECT node.id FROM node JOIN frame ON frame.id = node.frame WHERE %s "
		 "UNION SELECT node.id FROM own JOIN node ON node.parent = own.id) "
		 "SELECT site.id FROM own JOIN site ON site.node = own.id",
		 condition);
	return answer_rows(run->db, sql, NULL, take_marked, &marking);
}

/* It runs for one model alone, and trains none that is not marked: what has no mark, as what was loaded, is that model's, too. */
static void mark_process(struct replay *replay, int64_t process)
{
	uint32_t others = 1u << MT_PHASE_FORWARD | 1u << MT_PHASE_BACKWARD | 1u << MT_PHASE_OPTIMIZER |
			  1u << MT_PHASE_ROLLOUT,
		 roles = 0, i;

	for (i = 0; i < replay->sites; i++) {
		if (replay->site[i].process != process)
			continue;
		if (!replay->site[i].roles && others & 1u << replay->site[i].phase)
			return;
		roles |= replay->site[i].roles;
	}
	if (!roles || roles & (roles - 1))
		return;
	for (i = 0; i < replay->sites; i++)
		if (replay->site[i].process == process)
			replay->site[i].roles = roles;
}

int advise_find_models(struct advise_run *run, const struct mt_knob_file *file)
{
	uint32_t i, k;
	size_t process;
	int error = 0;

	for (i = 0; i < file->models && !error; i++)
		for (k = 0; k < file->model[i].seens && !error; k++)
			error = mark(run, file->model[i].seen[k], 1u << file->model[i].process);
	for (process = 0; process < run->replay.processes && !error && file->models; process++)
		mark_process(&run->replay, run->replay.process[process].id);
	return error;
}

int advise_has_model(const struct advise_run *run, enum mt_knob_process process)
{
	uint32_t i;

	for (i = 0; i < run->replay.sites; i++)
		if (run->replay.site[i].roles & 1u << process)
			return 1;
	return 0;
}
