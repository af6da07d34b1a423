/* One request for more than half of the GPU. */
#include "detectors.h"

#define ABSURD 64 /* times the device: no batch is this large, and the count behind the size is wrong */
#define HALF 2    /* divisor: a tensor of more than half of the device has no room for a copy */

/* A request above the device's size fails in any case. Above half of the device, the tensor's source has no room. */
void find_too_large(struct find *find)
{
	const struct scene_request *request = &find->scene->request;
	int is_larger = request->requested > request->total;
	/* A setting gives the size of an engine's or a library's pool: a large size is no mistake. */
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
