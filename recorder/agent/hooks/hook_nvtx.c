/*
 * hook_nvtx.c - records ranges and marks of NVTX by the agent's own injection, which needs neither CUPTI nor a GPU.
 *
 * Each library of the program that uses NVTX calls InitializeInjectionNvtx2 at its first range and passes the tables of
 * its own function pointers.
 */
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include "agent/cupti/cupti.h"
#include "agent/life/agent.h"
#include "hooks.h"
#include "memtrace/base.h"
#include "nvtx_abi.h"
#include "shared/textbuf.h"

#define STRINGS_BYTES (4u << 20) /* for domains and registered strings; address space until used */

/* The program's handle of a domain or a registered string. */
struct nvtx_string {
	uint32_t bytes; /* with NUL */
	char text[];
};

/* A text of the program as UTF-8. */
struct nvtx_name {
	const char *text;
	char converted[RING_TEXT_MAX + 1];
};

/* ---- Texts ---- */

static void name_wide(struct nvtx_name *name, const wchar_t *wide)
{
	struct textbuf text;

	textbuf_init(&text, name->converted, sizeof(name->converted));
	for (; wide && *wide && !text.cut; wide++)
		textbuf_add_character(&text, (uint32_t)*wide);
	name->text = name->converted;
}

static const char *string_of(const void *handle)
{
	return handle ? ((const struct nvtx_string *)handle)->text : "";
}

static void name_attributes(struct nvtx_name *name, const struct nvtx_attributes *attributes)
{
	name->text = "";
	if (!attributes || attributes->bytes < sizeof(*attributes))
		return;
	if (attributes->message_type == NVTX_MESSAGE_ASCII)
		name->text = attributes->message.ascii;
	else if (attributes->message_type == NVTX_MESSAGE_WIDE)
		name_wide(name, attributes->message.wide);
	else if (attributes->message_type == NVTX_MESSAGE_REGISTERED)
		name->text = string_of(attributes->message.registered);
}

/* Memory for strings that live as long as the process; NULL: all is used. */
static void *string_room(uint32_t bytes)
{
	static _Atomic(uint8_t *) area;
	static _Atomic uint32_t used;
	uint8_t *mine, *none = NULL;
	uint32_t at;

	if (!atomic_load(&area)) {
		mine = mmap(NULL, STRINGS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			    -1, 0);
		if (mine == MAP_FAILED)
			return NULL;
		if (!atomic_compare_exchange_strong(&area, &none, mine))
			munmap(mine, STRINGS_BYTES);
	}
	bytes = (bytes + 7) & ~7u;
	at = atomic_load(&used);
	do {
		if (bytes > STRINGS_BYTES - at)
			return NULL;
	} while (!atomic_compare_exchange_weak(&used, &at, at + bytes));
	return atomic_load(&area) + at;
}

static const void *new_string(const char *text)
{
	size_t length = text ? strnlen(text, RING_TEXT_MAX) : 0;
	struct nvtx_string *string = string_room((uint32_t)(sizeof(*string) + length + 1));

	if (!string)
		return NULL;
	string->bytes = (uint32_t)length + 1;
	memcpy(string->text, text ? text : "", length);
	return string;
}

static const void *new_wide_string(const wchar_t *wide)
{
	struct nvtx_name name;

	name_wide(&name, wide);
	return new_string(name.text);
}

/* ---- Ranges and marks. A NULL domain is the default one. ---- */

static void mark(enum mt_kind kind, uint64_t handle, const char *name, const char *domain)
{
	cupti_look();
	agent_mark(kind, handle, name, domain);
}

static int nvtx_domain_push(const void *domain, const struct nvtx_attributes *attributes)
{
	struct nvtx_name name;

	name_attributes(&name, attributes);
	mark(MT_RANGE_PUSH, 0, name.text, string_of(domain));
	return NVTX_NOT_TRACKED;
}

static int nvtx_domain_pop(const void *domain)
{
	mark(MT_RANGE_POP, 0, NULL, string_of(domain));
	return NVTX_NOT_TRACKED;
}

static uint64_t start(const char *name, const void *domain)
{
	static _Atomic uint64_t last;
	uint64_t id = atomic_fetch_add(&last, 1) + 1;

	mark(MT_RANGE_START, id, name, string_of(domain));
	return id;
}

static uint64_t nvtx_domain_start(const void *domain, const struct nvtx_attributes *attributes)
{
	struct nvtx_name name;

	name_attributes(&name, attributes);
	return start(name.text, domain);
}

static void nvtx_domain_end(const void *domain, uint64_t id)
{
	mark(MT_RANGE_END, id, NULL, string_of(domain));
}

static void nvtx_domain_mark(const void *domain, const struct nvtx_attributes *attributes)
{
	struct nvtx_name name;

	name_attributes(&name, attributes);
	mark(MT_MARK, 0, name.text, string_of(domain));
}

static int nvtx_push_ex(const struct nvtx_attributes *attributes)
{
	return nvtx_domain_push(NULL, attributes);
}

static int nvtx_push_a(const char *text)
{
	mark(MT_RANGE_PUSH, 0, text, NULL);
	return NVTX_NOT_TRACKED;
}

static int nvtx_push_w(const wchar_t *wide)
{
	struct nvtx_name name;

	name_wide(&name, wide);
	return nvtx_push_a(name.text);
}

static int nvtx_pop(void)
{
	return nvtx_domain_pop(NULL);
}

static uint64_t nvtx_start_ex(const struct nvtx_attributes *attributes)
{
	return nvtx_domain_start(NULL, attributes);
}

static uint64_t nvtx_start_a(const char *text)
{
	return start(text, NULL);
}

static uint64_t nvtx_start_w(const wchar_t *wide)
{
	struct nvtx_name name;

	name_wide(&name, wide);
	return start(name.text, NULL);
}

static void nvtx_end(uint64_t id)
{
	nvtx_domain_end(NULL, id);
}

static void nvtx_mark_ex(const struct nvtx_attributes *attributes)
{
	nvtx_domain_mark(NULL, attributes);
}

static void nvtx_mark_a(const char *text)
{
	mark(MT_MARK, 0, text, NULL);
}

static void nvtx_mark_w(const wchar_t *wide)
{
	struct nvtx_name name;

	name_wide(&name, wide);
	nvtx_mark_a(name.text);
}

static const void *nvtx_register_a(const void *domain MT_UNUSED, const char *text)
{
	return new_string(text);
}

static const void *nvtx_register_w(const void *domain MT_UNUSED, const wchar_t *wide)
{
	return new_wide_string(wide);
}

static const void *nvtx_domain_create_a(const char *text)
{
	return new_string(text);
}

static const void *nvtx_domain_create_w(const wchar_t *wide)
{
	return new_wide_string(wide);
}

/* ---- Ranges with a payload. NCCL ends all of its ranges this way. The name inside a payload is not read. ---- */

static int nvtx_payload_push(const void *domain, const void *payload MT_UNUSED, size_t count MT_UNUSED)
{
	mark(MT_RANGE_PUSH, 0, "", string_of(domain));
	return NVTX_NOT_TRACKED;
}

static int nvtx_payload_pop(const void *domain, const void *payload MT_UNUSED, size_t count MT_UNUSED)
{
	return nvtx_domain_pop(domain);
}

static uint64_t nvtx_payload_start(const void *domain, const void *payload MT_UNUSED, size_t count MT_UNUSED)
{
	return start("", domain);
}

static void nvtx_payload_end(const void *domain, uint64_t id, const void *payload MT_UNUSED, size_t count MT_UNUSED)
{
	nvtx_domain_end(domain, id);
}

/* ---- Injection ---- */

struct table_row {
	uint32_t index;
	nvtx_function *function;
};

static const struct table_row core[] = {
#define NVTX_ROW(function, index) { (index), (nvtx_function *)(function) },
	NVTX_CORE_LIST(NVTX_ROW)
};

static const struct table_row core2[] = { NVTX_CORE2_LIST(NVTX_ROW) };

static const struct table_row payload[] = { NVTX_PAYLOAD_LIST(NVTX_ROW)
#undef NVTX_ROW
};

/* An older NVTX has shorter tables. */
static int fill_in(const struct nvtx_callbacks *callbacks, int module, const struct table_row *rows, size_t count)
{
	nvtx_function ***table = NULL;
	unsigned int size = 0;
	size_t i;

	if (!callbacks->module(module, &table, &size) || !table)
		return 0;
	for (i = 0; i < count; i++)
		if (rows[i].index < size && table[rows[i].index])
			*table[rows[i].index] = rows[i].function;
	return 1;
}

int hook_nvtx(nvtx_get_table *get_table)
{
	const struct nvtx_callbacks *callbacks;

	if (!agent_options() || !get_table)
		return 0;
	callbacks = get_table(NVTX_TABLE_CALLBACKS);
	if (!callbacks || callbacks->bytes < sizeof(*callbacks) || !callbacks->module)
		return 0;
	if (!fill_in(callbacks, NVTX_MODULE_CORE, core, MT_ARRAY_SIZE(core)))
		return 0;
	fill_in(callbacks, NVTX_MODULE_CORE2, core2, MT_ARRAY_SIZE(core2));
	agent_source(MT_SOURCE_NVTX, MT_SOURCE_ON, "");
	return 1;
}

int hook_nvtx_extension(const struct nvtx_extension *extension)
{
	const struct nvtx_segment *segment;
	size_t i;

	if (!agent_options() || !extension || extension->bytes < sizeof(*extension) ||
	    extension->id != NVTX_EXTENSION_PAYLOAD || !extension->segments || !extension->segment)
		return 0;
	segment = &extension->segment[0]; /* the payload extension has one segment */
	if (!segment->slots)
		return 0;
	for (i = 0; i < MT_ARRAY_SIZE(payload); i++)
		if (payload[i].index < segment->count)
			segment->slots[payload[i].index] = (intptr_t)payload[i].function;
	return 1;
}
