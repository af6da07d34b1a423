/* query_parameter.h - the newest census of a run: parameters, those of all layers together. As query.h. */
#ifndef MEMANA_QUERY_PARAMETER_H
#define MEMANA_QUERY_PARAMETER_H

#include <stdint.h>
#include "database/db.h"

/* What the census tells apart. X(member, word of parameter.what) */
#define QUERY_PARAMETER_LIST(X)     \
	X(weights, "weights")       \
	X(buffers, "buffers")       \
	X(gradients, "gradients")   \
	X(state, "optimizer state") \
	X(master, "master weights")

struct query_parameter {
	const char *name;                       /* with * for the number of a layer; "": no module has it */
	const char *model, *module, *optimizer; /* "": none */
	const char *dtype, *shape;              /* "": unknown; the shape is that of the whole */
	uint64_t count, processes;              /* names; processes that have them */
	uint64_t bytes;                         /* of all that follow; tied memory counts once */
#define QUERY_PARAMETER_MEMBER(member, word) uint64_t member;
	QUERY_PARAMETER_LIST(QUERY_PARAMETER_MEMBER)
#undef QUERY_PARAMETER_MEMBER
};

typedef int query_parameter_row(void *context, const struct query_parameter *row);

/* The `limit` largest (-1: all), largest first. */
int query_parameters(struct db *db, int64_t limit, query_parameter_row *row, void *context);

/* The sums of all: one row, or none where there was no census. */
int query_parameter_sum(struct db *db, query_parameter_row *row, void *context);

#endif
