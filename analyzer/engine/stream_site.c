#include "stream.h"

#include <stdlib.h>
#include <string.h>
#include "label/category_sizes.h"
#include "label/owner.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "merge.h"

/* ---- devices ---- */

/*
 * Finds the device of the run: the GPU by UUID, or the CPU by boot id. TUPLE_NONE: a new device; *key is then free for
 * it. A table is needed: a run of very many processes has as many devices.
 */
static uint32_t find_device(const struct analysis *analysis, uint32_t kind, const char *name, struct tuple *key)
{
	const struct analysis_device *known;
	uint32_t i;

	*key = (struct tuple){ { tuple_text(name), kind, 0, 0 } };
	while ((i = tuple_find(&analysis->known_devices, key)) != TUPLE_NONE) {
		known = &analysis->device[i];
		if (!strcmp(kind == MT_DEVICE_CPU ? known->boot_id : known->uuid, name))
			return i;
		key->at[2]++;
	}
	return TUPLE_NONE;
}

/*
 * Whether two devices have different ranks. Ranks of one run do not share a GPU number, unless each sees other GPUs
 * (CUDA_VISIBLE_DEVICES).
 */
static int other_rank(const struct analysis *analysis, const struct analysis_device *known, int rank)
{
	uint32_t i;
	int other;

	for (i = 0; i < known->users && rank >= 0; i++) {
		other = analysis->process[known->user[i]].info->rank;
		if (other >= 0 && other != rank)
			return 1;
	}
	return 0;
}

/*
 * Whether two entries may be one device although one has no UUID (the recorder was killed too early). All else that is
 * known must agree.
 */
static int may_be_device(const struct stream *stream, const struct analysis_device *known,
			 const struct mt_device *device, const char *uuid)
{
	const struct mt_process *info = stream_process(stream)->info;
	const char *name = mt_defs_string(stream_process(stream)->defs, device->name);

	return known->known && known->kind == MT_DEVICE_CUDA && device->kind == MT_DEVICE_CUDA &&
	       known->index == device->index && !*uuid != !*known->uuid && *info->boot_id &&
	       !strcmp(known->boot_id, info->boot_id) && (!*name || !*known->name || !strcmp(name, known->name)) &&
	       (!device->total || !known->defined || device->total == known->defined) &&
	       !other_rank(stream->analysis, known, info->rank);
}

/* The single device of the run that this may be; STREAM_NO_DEVICE: none, or several. */
static uint32_t likely_device(const struct stream *stream, const struct mt_device *device, const char *uuid)
{
	uint32_t i, found = STREAM_NO_DEVICE;

	for (i = 0; i < stream->analysis->devices; i++) {
		if (!may_be_device(stream, &stream->analysis->device[i], device, uuid))
			continue;
		if (found != STREAM_NO_DEVICE)
			return STREAM_NO_DEVICE;
		found = i;
	}
	return found;
}

static uint32_t add_device(struct analysis *analysis)
{
	size_t count = (size_t)analysis->devices + 1;
	struct analysis_device *device = realloc(analysis->device, count * sizeof(*device));

	if (!device)
		return STREAM_NO_DEVICE;
	analysis->device = device;
	if (attribution_device(&analysis->attribution) < 0)
		return STREAM_NO_DEVICE;
	memset(&device[analysis->devices], 0, sizeof(*device));
	device[analysis->devices].turn = analysis->attribution.turn;
	return analysis->devices++;
}

void stream_bound_free(struct analysis *analysis, struct analysis_oom *oom)
{
	uint64_t total = analysis->device[oom->device].total;

	if (oom->free_by == ANALYSIS_FREE_BOUND)
		oom->free = total > oom->recorded ? (int64_t)(total - oom->recorded) : -1;
}

void stream_total_tell(struct analysis *analysis, uint32_t number, uint64_t total, enum analysis_total by)
{
	struct analysis_device *device = &analysis->device[number];
	uint32_t i;

	if (!total || device->total_by >= by)
		return;
	device->total = total;
	device->total_by = by;
	for (i = 0; i < analysis->ooms; i++)
		if (analysis->oom[i].device == number)
			stream_bound_free(analysis, &analysis->oom[i]);
}

/* Joins the process's device with one that is there, or adds it. */
static uint32_t join_device(struct stream *stream, uint32_t id)
{
	const struct mt_defs *defs = stream_process(stream)->defs;
	const char *boot_id = stream_process(stream)->info->boot_id;
	const struct mt_device *device = mt_defs_device(defs, id);
	const char *uuid = device ? mt_defs_string(defs, device->uuid) : "";
	const char *name = device && device->kind == MT_DEVICE_CPU ? boot_id : uuid;
	struct analysis *analysis = stream->analysis;
	struct analysis_device *joined;
	struct tuple key;
	uint32_t found = device && *name ? find_device(analysis, device->kind, name, &key) : TUPLE_NONE, i = found;

	if (device && device->kind == MT_DEVICE_CUDA && found == TUPLE_NONE && (!*uuid || analysis->nameless))
		i = likely_device(stream, device, uuid);
	if (i == STREAM_NO_DEVICE) {
		i = add_device(analysis);
		if (i == STREAM_NO_DEVICE)
			return i;
		joined = &analysis->device[i];
		joined->known = device != NULL;
		joined->kind = device ? device->kind : MT_DEVICE_CUDA;
		joined->index = device ? device->index : 0;
		joined->uuid = uuid;
		joined->boot_id = boot_id;
		joined->name = "";
		analysis->nameless += joined->kind == MT_DEVICE_CUDA && !*uuid;
	}
	if (*name && found == TUPLE_NONE && tuple_add(&analysis->known_devices, &key, i))
		return STREAM_NO_DEVICE;
	joined = &analysis->device[i];
	if (!*joined->uuid)
		joined->uuid = uuid;
	if (device && !*joined->name)
		joined->name = mt_defs_string(defs, device->name);
	if (device && !joined->defined)
		joined->defined = device->total;
	if (device)
		stream_total_tell(analysis, i, device->total, ANALYSIS_TOTAL_DEFINED);
	stream_total_tell(analysis, i, stream->total[id], stream->total_by[id]);
	return i;
}

/* The process uses the device from now on. */
static int touch_device(struct stream *stream, uint32_t number)
{
	struct analysis_device *device = &stream->analysis->device[number];
	struct analysis_step_peak *peak;
	struct analysis_gpu_total *gpu;
	uint32_t i, *user;

	for (i = 0; i < stream->touched_count; i++)
		if (stream->touched[i] == number)
			return 0;
	if (stream->analysis->sequential && device->users &&
	    !sequential_meet(stream->analysis, device->user[0], stream->process)) {
		stream->analysis->entangled = 1;
		return -MT_E_MEMORY; /* the event does not count */
	}
	user = realloc(device->user, ((size_t)device->users + 1) * sizeof(*user));
	if (!user)
		return -MT_E_MEMORY;
	device->user = user;
	gpu = realloc(device->gpu, ((size_t)device->users + 1) * ANALYSIS_PEAKS * sizeof(*gpu));
	if (!gpu)
		return -MT_E_MEMORY;
	device->gpu = gpu;
	memset(&gpu[device->users * ANALYSIS_PEAKS], 0, ANALYSIS_PEAKS * sizeof(*gpu));
	peak = realloc(device->step_peak, ((size_t)device->users + 1) * sizeof(*peak));
	if (!peak)
		return -MT_E_MEMORY;
	device->step_peak = peak;
	memset(&peak[device->users], 0, sizeof(*peak));
	device->user[device->users++] = stream->process;
	device->watched = 0;
	stream->touched[stream->touched_count++] = number;
	return 0;
}

uint32_t stream_meet_device(struct stream *stream, uint32_t id)
{
	uint32_t joined = join_device(stream, id);

	if (joined == STREAM_NO_DEVICE || touch_device(stream, joined))
		return STREAM_NO_DEVICE;
	stream->device_of[id] = joined;
	return joined;
}

/* ---- sites ---- */

/* The number of the owner's name. UINT32_MAX: out of memory. */
static uint32_t intern_owner(struct analysis *analysis, const char *name)
{
	void *grown;
	uint32_t i;

	for (i = 0; i < analysis->owners; i++)
		if (!strcmp(analysis->owner[i], name))
			return i;
	grown = realloc(analysis->owner, (i + 1) * sizeof(*analysis->owner));
	if (!grown)
		return UINT32_MAX;
	analysis->owner = grown;
	mt_copy_text(analysis->owner[i], OWNER_NAME_MAX, name);
	analysis->owners++;
	return i;
}

static int grow_owner_of(struct stream *stream, uint32_t stack)
{
	uint32_t room = stack + 1 + stack / 2;
	struct stream_owner *grown = realloc(stream->owner_of, room * sizeof(*grown));

	if (!grown)
		return -MT_E_MEMORY;
	memset(grown + stream->owner_room, 0, (room - stream->owner_room) * sizeof(*grown));
	stream->owner_of = grown;
	stream->owner_room = room;
	return 0;
}

/* The owner that asked the driver with this stack; walked once per stack. NULL: out of memory. */
static const struct stream_owner *driver_owner(struct stream *stream, uint32_t stack)
{
	char name[OWNER_NAME_MAX];
	struct stream_owner *owner;
	uint32_t number;

	if (stack >= stream->owner_room && grow_owner_of(stream, stack))
		return NULL;
	owner = &stream->owner_of[stack];
	if (owner->number)
		return owner;
	owner_of_stack(name, stream_process(stream)->defs, stack);
	number = intern_owner(stream->analysis, name);
	if (number == UINT32_MAX)
		return NULL;
	owner->number = number + 1;
	owner->purpose = owner_purpose(name);
	return owner;
}

/*
 * Whether the stack reads a file, or hands out data that another rank has read. Such tensors may be used without a
 * copy.
 */
static int hands_out(const struct mt_defs *defs, uint32_t stack)
{
	static const char reader[] = "torch/serialization.py", sender[] = "torch/distributed/_state_dict_utils.py";
	const struct mt_node *node;
	const struct mt_frame *frame;
	const char *file;

	for (node = mt_defs_node(defs, stack); node; node = mt_defs_node(defs, node->parent)) {
		frame = mt_defs_frame(defs, node->frame);
		file = frame && frame->kind != MT_FRAME_NATIVE ? mt_defs_string(defs, frame->file) : "";
		if (strstr(file, reader) || strstr(file, sender))
			return 1;
	}
	return 0;
}

/* Notes the source of the first opinion, unless it is the usual one of the phase. */
static void note_opinion(const struct stream *stream, struct category_site *facts, const struct mt_label *label,
			 uint32_t stack, int by_owner)
{
	facts->rule_frame = label->rule_frame;
	facts->by_owner = by_owner != 0;
	facts->by_rule = label->category != MT_CATEGORY_OTHER &&
			 label->category != mt_rules_category(stream->rules, label->role, label->part);
	facts->is_loss = facts->by_rule && label->category == MT_CATEGORY_LOGITS;
	facts->is_handed = facts->by_rule && label->category == MT_CATEGORY_STATE_DICT &&
			   hands_out(stream_process(stream)->defs, stack);
}

/*
 * Sets category and size class of the key. The framework's word comes first. Sizes count for memory that the framework
 * has not named.
 */
static void tell_apart(const struct stream *stream, const struct mt_event *event, struct site_key *key)
{
	const struct census *census = &stream_process(stream)->census;
	struct categories *categories = &stream->analysis->categories;
	enum census_certainty how;
	uint8_t category = census_category(census, event, &how);

	if (how != CENSUS_SILENT) {
		key->category = category;
		key->size = how == CENSUS_KNOWN ? SIZES_KNOWN : SIZES_ALIKE;
		return;
	}
	if (census->words[0] && (mt_phase_is_early(key->phase) || key->phase == MT_PHASE_OPTIMIZER))
		return; /* sizes of weights say nothing of tokens */
	key->size = category_size(categories, stream->process, key->driver, event->size, key->phase, key->stack,
				  event->kind == MT_LIVE);
	if (!key->driver && !mt_phase_is_early(key->phase) && (census->words[0] || !key->size) &&
	    category_is_logits(categories, census, stream->process, event->size))
		key->size = SIZES_LOGITS;
}

static uint32_t find_site(struct stream *stream, const struct mt_event *event, const struct mt_label *label, int driver)
{
	struct analysis *analysis = stream->analysis;
	struct site_key key = { .process = stream->process, .phase = label->phase, .category = label->category };
	const struct stream_owner *owner = NULL;
	struct category_site *facts;
	uint32_t site;

	/* A reader lets no undefined id pass. An index into an array is checked all the same. */
	if (event->stack <= mt_defs_count(stream_process(stream)->defs, MT_DEF_NODE))
		key.stack = (uint32_t)event->stack;
	key.device = stream_device(stream, event->device);
	if (key.device == STREAM_NO_DEVICE)
		return 0;
	if (driver) {
		owner = driver_owner(stream, key.stack);
		if (!owner)
			return 0;
		key.driver = 1;
		key.category = owner->purpose == OWNER_ANY ? label->category : (uint8_t)owner->purpose;
	}
	tell_apart(stream, event, &key);
	site = attribution_site(&analysis->attribution, &key);
	if (!site)
		return 0;
	if (key.size == SIZES_KNOWN)
		census_found(&stream_process(stream)->census, event->seq, site);
	analysis->attribution.site[site].owner = owner ? owner->number - 1 : 0;
	facts = category_site(&analysis->categories, site);
	if (!facts)
		return 0;
	if (!facts->born)
		note_opinion(stream, facts, label, key.stack, owner && owner->purpose != OWNER_ANY);
	return site;
}

/* ---- sites that are known ---- */

/*
 * The cache key of a birth. Equal keys have one site, unless the census names this very block or the sizes of the
 * process have changed.
 */
static struct analysis_site birth_of(const struct stream *stream, const struct mt_event *event,
				     const struct mt_label *label, int driver)
{
	const struct categories *categories = &stream->analysis->categories;
	struct category_sizes *sizes = stream->process < categories->processes
					       ? categories->sizes[stream->process * 2 + (driver != 0)]
					       : NULL;

	if (!sizes || event->kind == MT_LIVE || event->stack > UINT32_MAX || event->device >= MT_LEDGER_DEVICES)
		return (struct analysis_site){ 0 };
	return (struct analysis_site){ .sizes = sizes,
				       .size = event->size,
				       .stack = (uint32_t)event->stack,
				       .label = label->phase | (uint32_t)label->category << 8 |
						(uint32_t)event->device << 16,
				       .changes = sizes->changes };
}

static struct analysis_site *known_slot(const struct stream *stream, const struct analysis_site *birth)
{
	uint64_t hash = (birth->size ^ (uint64_t)birth->stack << 32) * 0x9e3779b97f4a7c15ull;

	hash = (hash ^ birth->label ^ stream->process) * 0xff51afd7ed558ccdull;
	return &stream->analysis->site_known[hash >> 32 & (ANALYSIS_SITES_KNOWN - 1)];
}

static int is_known(const struct stream *stream, const struct mt_event *event, const struct analysis_site *birth,
		    const struct analysis_site *known)
{
	return birth->sizes && known->sizes == birth->sizes && known->size == birth->size &&
	       known->stack == birth->stack && known->label == birth->label && known->changes == birth->changes &&
	       stream->analysis->categories.site[known->site].born &&
	       !census_known(&stream_process(stream)->census, event->seq);
}

uint32_t stream_site(struct stream *stream, const struct mt_event *event, const struct mt_label *label, int driver)
{
	struct analysis_site birth = birth_of(stream, event, label, driver);
	struct analysis_site *known = known_slot(stream, &birth);

	if (is_known(stream, event, &birth, known)) {
		sizes_count(birth.sizes, stream->analysis->attribution.site[known->site].key.size);
		return known->site;
	}
	birth.site = find_site(stream, event, label, driver);
	/* A new size has changed the sizes: the entry would be out of date. */
	if (birth.sizes && birth.site && birth.changes == birth.sizes->changes &&
	    !census_known(&stream_process(stream)->census, event->seq))
		*known = birth;
	return birth.site;
}

void stream_move(void *context, uint32_t device, uint64_t tag, int slack, int64_t bytes)
{
	struct stream *stream = context;
	struct attribution *attribution = &stream->analysis->attribution;
	uint32_t where = stream_device(stream, device), site = 0;

	if (where == STREAM_NO_DEVICE || !tag || tag >= attribution->sites)
		attribution->failed = 1;
	else
		site = attribution_move(attribution, where, (uint32_t)tag, slack, bytes);
	if (site && stream->sink->moved && stream->end == STREAM_ENDS)
		stream_sums_add(stream, site, slack, bytes, 0);
	else if (site && stream->sink->moved)
		stream->sink->moved(stream->sink->context, site, slack, bytes, stream->time);
	if (!attribution->failed && !attribution->site[tag].key.driver)
		stream->analysis->device[where].tensors_now += (uint64_t)bytes;
	stream_moved(stream, device);
}
