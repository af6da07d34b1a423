#include "facts_course.h"

#include <stdlib.h>
#include "memtrace/base.h"

#define BYTES_FREE (256u << 10)       /* bytes that a course may take in the shortest trace */
#define MOVES_MOST (4u * COURSE_MOST) /* the kept moves, and the changes to the begins of kept steps */

#define C(member) FACTS_MEMBER(course_move, member)
static const struct facts_member members[] = { C(time), C(bytes), C(site), C(count), C(more), C(slack) };
#undef C

void facts_course_write(struct facts_io *io, const struct course_moves *moves, uint64_t events)
{
	struct facts_io own = { .writing = 1 };
	uint64_t changes = moves->changes;

	facts_count(&own, moves->oom, 1, UINT32_MAX);
	facts_number(&own, &changes);
	facts_count(&own, moves->moves, 1, MOVES_MOST);
	if (moves->moves)
		facts_runs(&own, moves->move, sizeof(*moves->move), moves->moves, members, MT_ARRAY_SIZE(members));
	if (own.size > events / 8 + BYTES_FREE || moves->moves > MOVES_MOST || !moves->moves)
		own.size = 0;
	facts_count(io, (uint32_t)own.size, 1, UINT32_MAX);
	facts_bytes(io, own.data, own.size);
	io->error = io->error ? io->error : own.error;
	free(own.data);
}

static void check(struct facts_io *io, const struct analysis *analysis, const struct course_moves *moves)
{
	const struct course_move *move;

	for (move = moves->move; move < moves->move + moves->moves && !io->error; move++)
		facts_check(io, move->site && move->site < analysis->attribution.sites && move->more <= 1 &&
					move->slack <= 1 && (move == moves->move || move->time >= move[-1].time));
}

void facts_course_read(struct facts_io *io, const struct analysis *analysis, struct course_moves *moves)
{
	uint32_t size = facts_count(io, 0, 1, UINT32_MAX);
	struct facts_io own = { .at = io->at, .end = io->at + size };

	if (io->error)
		return;
	io->at += size;
	if (!moves || !size)
		return;
	moves->oom = facts_count(&own, 0, 0, UINT32_MAX);
	facts_number(&own, &moves->changes);
	moves->moves = facts_count(&own, 0, 0, MOVES_MOST);
	facts_check(&own, moves->moves <= (uint64_t)(own.end - own.at) * (FACTS_RUN_MOST + 1));
	moves->move = own.error ? NULL : facts_new_rows(&own, sizeof(*moves->move), moves->moves);
	moves->moves = moves->move ? moves->moves : 0;
	if (moves->move)
		facts_runs(&own, moves->move, sizeof(*moves->move), moves->moves, members, MT_ARRAY_SIZE(members));
	facts_check(&own, own.at == own.end);
	check(&own, analysis, moves);
	io->error = own.error;
}
