/* why_held.h - the bytes in use at the moment of the scene, by place, category, phase and owner. */
#ifndef MEMANA_WHY_HELD_H
#define MEMANA_WHY_HELD_H

#include "report/balance/balance.h"
#include "why/scene/scene.h"

/* Bytes of one process, category, phase, owner and place. */
struct held_part {
	uint32_t process; /* index in the scene */
	enum mt_category category;
	enum mt_phase phase;
	const char *owner;              /* a text of the scene */
	char function[256], place[256]; /* "": unknown */
	uint64_t bytes, count;
};

struct held {
	struct held_part *part; /* largest first */
	size_t parts;
};

/* 0 or -MT_E_x. Release after an error, too. */
int held_load(struct held *held, const struct scene *scene);
void held_release(struct held *held);

enum held_by { HELD_BY_CATEGORY, HELD_BY_PHASE, HELD_BY_OWNER };

struct held_sum {
	const char *word;
	uint64_t bytes, count;
};

#define HELD_SUMS_MAX 64

/* Fills sums, largest first, at most HELD_SUMS_MAX. Returns their number. */
size_t held_sums(const struct held *held, enum held_by by, struct held_sum sum[HELD_SUMS_MAX]);

/* All bytes of the device at the failed request, which must exist. 0 or -MT_E_x. */
int why_balance(struct balance *balance, const struct scene *scene);

/* Allocated bytes without resident pages. */
uint64_t why_asleep(const struct scene *scene);

/* Indices of the scene's processes, largest holder first. The caller frees them. NULL: out of memory. */
uint32_t *why_holders(const struct scene *scene);

#endif
