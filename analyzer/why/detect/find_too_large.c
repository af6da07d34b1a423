/* One request for more than half of the GPU. */
#include "detectors.h"

#define ABSURD 64 /* times the device: no batch needs as much; a number in the program is wrong */
#define HALF 2    /* divisor: a tensor of more than half of the device leaves no room for a copy */

/* A request above the device's size always fails. A request above half of the device leaves no room for its source tensor. */
void find_too_large(struct find *find)
{
	const struct scene_request *request = &find->scene->request;
	int is_larger = request->requested > request->total;
	/* A setting gives the size of a pool: a large pool is no mistake of the program. */
	int is_pool = request->from_driver || request->category == MT_CATEGORY_KV_CACHE;
	struct candidate *candidate;

	if (!request->failure || !request->total || request->requested <= request->total / HALF ||
	    (is_pool && !is_larger))
		return;
	candidate = find_add_request(find);
	candidate->doubt = !is_larger;
	candidate->fact[FACT_GPU] = (int64_t)request->total;
	candidate->fact[FACT_EARLIER] = (int64_t)request->earlier_most;
	candidate->need = request->requested / ABSURD > request->total ? MT_NEED_NEVER : MT_NEED_NOW;
}
