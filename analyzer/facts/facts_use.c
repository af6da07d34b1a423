#include "facts_use.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

#define U(member) FACTS_MEMBER(phase_use_row, member)
static const struct facts_member members[] = { U(device), U(phase), U(grew), U(bytes), U(count), U(left) };
#undef U

void facts_use_write(struct facts_io *io, const struct phase_use_list *list)
{
	facts_count(io, list->rows, MT_ARRAY_SIZE(members), UINT32_MAX);
	if (list->rows)
		facts_rows(io, list->row, sizeof(*list->row), list->rows, members, MT_ARRAY_SIZE(members));
}

static int add(struct phase_use_list *list, const struct phase_use_row *row, uint32_t rows)
{
	struct phase_use_row *grown = realloc(list->row, ((size_t)list->rows + rows + 1) * sizeof(*grown));

	if (!grown)
		return -MT_E_MEMORY;
	list->row = grown;
	memcpy(grown + list->rows, row, rows * sizeof(*row));
	list->rows += rows;
	return 0;
}

void facts_use_read(struct facts_io *io, const struct facts_place *place, struct phase_use_list *list)
{
	uint32_t rows = facts_count(io, 0, MT_ARRAY_SIZE(members), MT_LEDGER_DEVICES * MT_PHASE_COUNT), i;
	struct phase_use_row *row = NULL;

	facts_array(io, (void **)&row, sizeof(*row), rows, members, MT_ARRAY_SIZE(members));
	for (i = 0; i < rows && !io->error; i++) {
		facts_check(io, row[i].device < place->devices && row[i].phase < MT_PHASE_COUNT);
		if (!io->error)
			row[i].device = place->device[row[i].device];
	}
	if (!io->error && rows && list)
		io->error = add(list, row, rows);
	free(row);
}
