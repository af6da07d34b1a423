#include "asked.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "command.h"
#include "database/schema.h"
#include "memtrace/error.h"
#include "report.h"
#include "store/load.h"

int asked_database(struct db **db)
{
	const char *folder = getenv("TMPDIR");
	char path[4096], dir[4000];
	int error;

	*db = NULL;
	snprintf(dir, sizeof(dir), "%s/memana-XXXXXX", folder && *folder ? folder : "/tmp");
	if (!mkdtemp(dir))
		return -MT_E_SYSTEM;
	snprintf(path, sizeof(path), "%s/run.db", dir);
	error = db_create(db, path, schema_sql);
	unlink(path);
	rmdir(dir);
	return error;
}

static int load_traces(struct asked *asked)
{
	struct source *source = &asked->source;
	int error = asked_database(&asked->db);

	if (!error)
		error = load_run(asked->db, &asked->analysis, source->input, source->inputs, source->rules);
	if (!error)
		error = load_names(asked->db);
	return error ? error : db_commit(asked->db);
}

int asked_open(struct asked *asked, const char *command, char *const *paths, uint32_t count)
{
	const char *words;
	int error;

	memset(asked, 0, sizeof(*asked));
	error = source_open(&asked->source, paths, count);
	if (error)
		return command_fail(mt_exit_code(error), "%s", asked->source.message);
	asked->name = paths[0];
	asked->db = asked->source.db;
	if (asked->db)
		return 0;
	error = load_traces(asked);
	if (!error)
		return 0;
	asked->told = 1; /* one line is enough */
	words = error == -MT_E_SYSTEM ? strerror(errno) : mt_strerror(error);
	if (error == -MT_E_SYSTEM && !asked->db)
		return command_fail(mt_exit_code(error), "%s: no temporary database could be made: %s (see TMPDIR)",
				    command, words);
	if (error == -MT_E_SYSTEM || error == -MT_E_SPACE)
		return command_fail(mt_exit_code(error),
				    "%s: %s: %s (is there space left for a temporary database? see TMPDIR)", command,
				    paths[0], words);
	return command_fail(mt_exit_code(error), "%s: %s: %s", command, paths[0], words);
}

int asked_close(struct asked *asked)
{
	int status = asked->told ? 0 : report_damage(&asked->analysis, "in the answer");

	if (asked->db != asked->source.db)
		db_close(asked->db);
	analysis_release(&asked->analysis);
	source_release(&asked->source);
	memset(asked, 0, sizeof(*asked));
	return status;
}
