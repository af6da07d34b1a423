#include "facts_kept.h"

#include <stdlib.h>
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "memtrace/event.h"

#define ROWS_MOST (1u << 22)   /* rows of 80 bytes */
#define BYTES_MOST (24u << 20) /* as facts */

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
	ARRAY(io, moment->life, moment->lives, life_members);
	ARRAY(io, moment->sum, moment->sums, sum_members);
	ARRAY(io, moment->passed, moment->passes, life_members);
	ARRAY(io, moment->mapping, moment->mappings, mapping_members);
}

void facts_kept_write(struct facts_io *io, struct kept_moment *moment, struct facts_guess *guess)
{
	struct facts_io own = { .writing = 1 };

	if (moment->lives > ROWS_MOST || moment->passes > ROWS_MOST || moment->sums > ROWS_MOST ||
	    moment->mappings > ROWS_MOST)
		kept_moment_release(moment);
	facts_guess_kept(guess, FACTS_AWAY, moment);
	moment_rows(&own, moment);
	if (own.size > BYTES_MOST) {
		kept_moment_release(moment);
		own.size = 0;
		moment_rows(&own, moment);
	}
	facts_count(io, (uint32_t)own.size, 1, UINT32_MAX);
	facts_bytes(io, own.data, own.size);
	io->error = io->error ? io->error : own.error;
	free(own.data);
}

static void check(struct facts_io *io, const struct analysis *analysis, const struct kept_moment *moment)
{
	uint32_t sites = analysis->attribution.sites, i;
	const struct kept_life *life;

	facts_check(io, moment->device < analysis->devices && moment->before <= KEPT_STEP_BEFORE);
	for (i = 0; i < moment->lives + (uint64_t)moment->passes && !io->error; i++) {
		life = i < moment->lives ? &moment->life[i] : &moment->passed[i - moment->lives];
		facts_check(io, life->site && life->site < sites &&
					life->free_node <= mt_defs_count(analysis->process[0].defs, MT_DEF_NODE));
	}
	for (i = 0; i < moment->sums && !io->error; i++)
		facts_check(io, moment->sum[i].site && moment->sum[i].site < sites);
}

void facts_kept_read(struct facts_io *io, const struct analysis *analysis, struct kept_moment *moment,
		     struct facts_guess *guess)
{
	uint32_t size = facts_count(io, 0, 1, UINT32_MAX);
	struct facts_io own = { .at = io->at, .end = io->at + size };

	if (io->error)
		return;
	io->at += size;
	if (!moment)
		return;
	moment_rows(&own, moment);
	facts_check(&own, own.at == own.end);
	if (!own.error)
		facts_guess_kept(guess, FACTS_BACK, moment);
	if (!own.error && moment->there)
		check(&own, analysis, moment);
	io->error = own.error;
}
