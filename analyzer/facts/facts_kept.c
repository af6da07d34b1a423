#include "facts_kept.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/event.h"

#define ROWS_MOST (1u << 22)
#define LOT 2048u              /* lives of one lot */
#define BYTES_MOST (24u << 20) /* bytes of the lives of a moment */

#define M(member) FACTS_MEMBER(kept_moment, member)
static const struct facts_member moment_members[] = { M(there),       M(device), M(before), M(seq),  M(before_seq),
						      M(before_time), M(advice), M(tokens), M(words) };
#undef M

#define L(member) FACTS_MEMBER(kept_life, member)
static const struct facts_member life_members[] = {
	L(site),  L(step), L(gone_step), L(free_node), L(space),   L(home), L(tensors_inside), L(is_handle),
	L(slept), L(seq),  L(gone_seq),  L(bytes),     L(address), L(time), L(gone_time),
};
#undef L

#define S(member) FACTS_MEMBER(kept_sum, member)
static const struct facts_member sum_members[] = {
	S(site),    S(died),         S(home),         S(tensors_inside), S(made), S(freed), S(freed_home),
	S(largest), S(before_bytes), S(before_count), S(births),         S(most), S(least),
};
#undef S

#define P(member) FACTS_MEMBER(kept_mapping, member)
static const struct facts_member mapping_members[] = {
	P(address), P(bytes), P(handle), P(seq), P(gone_seq), P(time), P(gone_time),
};
#undef P

#define ARRAY(io, rows, count, member) \
	facts_run_array(io, (void **)&(rows), sizeof(*(rows)), &(count), ROWS_MOST, member, MT_ARRAY_SIZE(member))

static void moment_rows(struct facts_io *io, struct kept_moment *moment)
{
	facts_rows(io, moment, sizeof(*moment), 1, moment_members, MT_ARRAY_SIZE(moment_members));
	if (!moment->there)
		return;
	ARRAY(io, moment->sum, moment->sums, sum_members);
	ARRAY(io, moment->passed, moment->passes, life_members);
	ARRAY(io, moment->mapping, moment->mappings, mapping_members);
}

static void lot(struct facts_io *io, struct kept_life *life, uint32_t lives)
{
	facts_runs(io, life, sizeof(*life), lives, life_members, MT_ARRAY_SIZE(life_members));
}

static void write_lives(struct facts_io *io, struct kept_moment *moment)
{
	uint32_t i;

	facts_count(io, moment->lives, 0, ROWS_MOST);
	for (i = 0; i < moment->lives; i += LOT)
		lot(io, moment->life + i, moment->lives - i < LOT ? moment->lives - i : LOT);
}

/* Writes a section: its size, and its bytes. */
static void write_section(struct facts_io *io, struct facts_io *own)
{
	facts_count(io, (uint32_t)own->size, 1, UINT32_MAX);
	facts_bytes(io, own->data, own->size);
	io->error = io->error ? io->error : own->error;
	free(own->data);
}

static struct facts_io read_section(struct facts_io *io)
{
	uint32_t size = facts_count(io, 0, 1, UINT32_MAX);
	struct facts_io own = { .error = io->error, .at = io->at, .end = io->at + size };

	io->at += size;
	return own;
}

void facts_kept_write(struct facts_io *io, struct kept_moment *moment, struct facts_guess *guess)
{
	struct facts_io own = { .writing = 1 }, lives = { .writing = 1 };

	if (moment->lives > ROWS_MOST || moment->passes > ROWS_MOST || moment->sums > ROWS_MOST ||
	    moment->mappings > ROWS_MOST)
		kept_moment_release(moment);
	facts_guess_lives(guess, FACTS_AWAY, moment->life, moment->lives);
	moment_rows(&own, moment);
	write_lives(&lives, moment);
	if (own.size + lives.size > BYTES_MOST) {
		kept_moment_release(moment);
		own.size = lives.size = 0;
		moment_rows(&own, moment);
		write_lives(&lives, moment);
	}
	write_section(io, &own);
	write_section(io, &lives);
}

static void check(struct facts_io *io, const struct analysis *analysis, const struct kept_life *life, uint32_t lives)
{
	const struct kept_life *end = life + lives;

	for (; life < end && !io->error; life++)
		facts_check(io, life->site && life->site < analysis->attribution.sites &&
					life->free_node <= mt_defs_count(analysis->process[0].defs, MT_DEF_NODE));
}

void facts_kept_read(struct facts_io *io, const struct analysis *analysis, struct kept_moment *moment)
{
	struct facts_io own = read_section(io);
	uint32_t i;

	if (own.error || !moment)
		return;
	moment_rows(&own, moment);
	facts_check(&own, own.at == own.end && moment->before <= KEPT_STEP_BEFORE &&
				  (!moment->there || moment->device < analysis->devices));
	check(&own, analysis, moment->passed, moment->passes);
	for (i = 0; i < moment->sums && !own.error; i++)
		facts_check(&own, moment->sum[i].site && moment->sum[i].site < analysis->attribution.sites);
	io->error = own.error;
}

int facts_kept_lives(struct facts_io *io, const struct analysis *analysis, struct facts_guess *guess,
		     facts_tell_lives *tell, void *context)
{
	struct facts_io own = read_section(io);
	struct kept_life *life = tell && !own.error ? malloc(LOT * sizeof(*life)) : NULL;
	uint32_t more, lives;
	int error = tell && !own.error && !life ? -MT_E_MEMORY : 0;

	for (more = life ? facts_count(&own, 0, 0, ROWS_MOST) : 0; more && !own.error && !error; more -= lives) {
		lives = more < LOT ? more : LOT;
		memset(life, 0, lives * sizeof(*life));
		lot(&own, life, lives);
		facts_guess_lives(guess, FACTS_BACK, life, lives);
		check(&own, analysis, life, lives);
		error = own.error ? own.error : tell(context, life, lives);
	}
	free(life);
	facts_check(&own, !tell || error || own.at == own.end);
	return error ? error : own.error;
}
