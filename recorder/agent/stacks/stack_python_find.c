/*
 * stack_python_find.c - finds the Python in this process and checks that its frames can be read. In doubt it is
 * refused.
 */
#include "stack_python.h"

#include <errno.h>
#include "agent/loaded/loaded.h"
#include "memtrace/base.h"
#include "readable.h"
#include "shared/textbuf.h"
#include "stack_python_impl.h"

#define VERSION(minor) (3u << 24 | (uint32_t)(minor) << 16)
#define VERSION_MAJOR(hex) ((hex) >> 24)
#define VERSION_MINOR(hex) ((hex) >> 16 & 0xff)
#define OFFSET_MAX 4096u /* largest offset that _Py_DebugOffsets may have */
#define FRAMES_CHECKED 32u

static const struct python_layout known[] = {
#define PYTHON_ROW(...) { __VA_ARGS__ },
	PYTHON_LAYOUT_LIST(PYTHON_ROW)
#undef PYTHON_ROW
};

/* "3.10.13 (main, ...": the number before and after the first point. */
static uint32_t parse_version(const char *text)
{
	uint32_t minor = 0;

	if (!text || text[0] != '3' || text[1] != '.')
		return 0;
	for (text += 2; *text >= '0' && *text <= '9'; text++)
		minor = minor * 10 + (uint32_t)(*text - '0');
	return VERSION(minor & 0xff);
}

static uint32_t find_version(void)
{
	const uint32_t *hex = loaded_find("Py_Version"); /* since 3.11 */
	const char *(*text)(void) = (const char *(*)(void))loaded_find("Py_GetVersion");

	if (hex)
		return *hex;
	return text ? parse_version(text()) : 0;
}

/* ---- Layout ---- */

static void refuse(const char *why)
{
	struct textbuf text;

	textbuf_init(&text, python_found.why, sizeof(python_found.why));
	textbuf_add(&text, why);
	textbuf_add(&text, ": no Python stacks");
}

static void refuse_version(uint32_t version)
{
	struct textbuf text;

	textbuf_init(&text, python_found.why, sizeof(python_found.why));
	textbuf_add(&text, "Python ");
	textbuf_add_number(&text, VERSION_MAJOR(version));
	textbuf_add(&text, ".");
	textbuf_add_number(&text, VERSION_MINOR(version));
	textbuf_add(&text, " is not known (3.");
	textbuf_add_number(&text, known[0].minor);
	textbuf_add(&text, " to 3.");
	textbuf_add_number(&text, known[MT_ARRAY_SIZE(known) - 1].minor);
	textbuf_add(&text, " are): no Python stacks");
}

/* Indices into _Py_DebugOffsets. */
struct debug_row {
	uint16_t minor, frame, previous, filename, bytes;
};

static const struct debug_row *debug_row_of(uint32_t minor)
{
	static const struct debug_row rows[] = {
#define PYTHON_ROW(...) { __VA_ARGS__ },
		PYTHON_DEBUG_LIST(PYTHON_ROW)
#undef PYTHON_ROW
	};
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(rows); i++)
		if (rows[i].minor == minor)
			return &rows[i];
	return NULL;
}

static int are_offsets(const uint64_t *said, uint32_t first, uint32_t count)
{
	uint32_t i;

	for (i = first; i < first + count; i++)
		if (said[i] >= OFFSET_MAX)
			return 0;
	return 1;
}

/* Corrects the table by the offsets of the running interpreter. 0: they contradict themselves, or it has no GIL. */
static int apply_debug_offsets(struct python_layout *at, uint32_t version)
{
	const struct debug_row *row = debug_row_of(at->minor);
	const uint64_t *said = loaded_find("_PyRuntime");

	if (!row)
		return 1;
	refuse("this Python does not publish where its frames lie");
	if (!said || memcmp(said, PYTHON_DEBUG_COOKIE, 8) || said[1] != version)
		return 0;
	refuse("this is a free-threaded Python");
	if (said[2])
		return 0;
	refuse("this Python says that its frames lie where they cannot");
	if (!are_offsets(said, row->frame, 1) || !are_offsets(said, row->previous, 5) ||
	    !are_offsets(said, row->filename, 5) || !are_offsets(said, row->bytes, 1) ||
	    said[row->bytes] < PYTHON_FIRST_TRACEABLE_BACK)
		return 0;
	at->thread_frame = (uint16_t)said[row->frame];
	at->frame_back = (uint16_t)said[row->previous];
	at->frame_code = (uint16_t)said[row->previous + 1];
	at->frame_instr = (uint16_t)said[row->previous + 2];
	at->frame_locals = (uint16_t)said[row->previous + 3];
	at->frame_owner = (uint16_t)said[row->previous + 4];
	at->code_file = (uint16_t)said[row->filename];
	at->code_name = (uint16_t)said[row->filename + 1];
	at->code_qualname = (uint16_t)said[row->filename + 2];
	at->code_table = (uint16_t)said[row->filename + 3];
	at->code_line = (uint16_t)said[row->filename + 4];
	at->code_bytes = (uint16_t)said[row->bytes];
	return 1;
}

static int find_layout(uint32_t version)
{
	size_t i;

	refuse_version(version);
	if (VERSION_MAJOR(version) != 3)
		return 0;
	for (i = 0; i < MT_ARRAY_SIZE(known); i++) {
		if (known[i].minor != VERSION_MINOR(version))
			continue;
		python_found.at = known[i];
		if (!apply_debug_offsets(&python_found.at, version))
			return 0;
		python_found.usual = memcmp(&python_found.at, &known[i], sizeof(known[i])) ? 0 : known[i].minor;
		return 1;
	}
	return 0;
}

static int find_symbols(uint32_t version)
{
	python_found.code_type = loaded_find("PyCode_Type");
	python_found.text_type = loaded_find("PyUnicode_Type");
	python_found.bytes_type = loaded_find("PyBytes_Type");
	python_found.cell_type = loaded_find("PyCell_Type");
	python_found.thread = (const uint8_t *(*)(void))loaded_find("PyGILState_GetThisThreadState");
	refuse("this Python does not export what its stacks need");
	if (!python_found.code_type || !python_found.text_type || !python_found.bytes_type || !python_found.thread)
		return 0;
	if (VERSION_MINOR(version) > PYTHON_FIRST_STATE_LAST_MINOR)
		return 1;
	python_found.newest_interpreter = (const void *(*)(void))loaded_find("PyInterpreterState_Head");
	python_found.main_interpreter = (const void *(*)(void))loaded_find("PyInterpreterState_Main");
	python_found.running_thread = (const uint8_t *(*)(void))loaded_find("_PyThreadState_UncheckedGet");
	return python_found.newest_interpreter && python_found.main_interpreter && python_found.running_thread;
}

static enum python_stage look(void)
{
	uint32_t version = find_version();

	if (!version)
		return PYTHON_STAGE_NONE;
	python_found.version = version;
	if (!find_layout(version) || !find_symbols(version))
		return PYTHON_STAGE_REFUSED;
	python_found.why[0] = '\0';
	return PYTHON_STAGE_FOUND;
}

enum python_state stack_python_find(uint32_t *version, const char **why)
{
	uint32_t stage = PYTHON_STAGE_NONE;

	*version = 0;
	*why = "";
	if (atomic_compare_exchange_strong(&python_found.stage, &stage, PYTHON_STAGE_LOOKING)) {
		stage = look();
		atomic_store(&python_found.stage, stage);
	}
	if (stage == PYTHON_STAGE_LOOKING)
		return PYTHON_BUSY;
	if (stage == PYTHON_STAGE_NONE)
		return PYTHON_ABSENT;
	*version = python_found.version;
	*why = python_found.why;
	return stage == PYTHON_STAGE_REFUSED ? PYTHON_REFUSED : PYTHON_READY;
}

/* ---- The first frames ---- */

int python_is_readable(const uint8_t *at)
{
	int saved = errno, readable = readable_range(at, sizeof(void *));

	errno = saved;
	return readable;
}

static int is_object(const uint8_t *object, const void *type)
{
	return python_is_plausible(object) && readable_range(object, PYTHON_OBJECT_TYPE + sizeof(void *)) &&
	       python_pointer(object, PYTHON_OBJECT_TYPE) == type;
}

static int is_code(const uint8_t *code)
{
	const struct python_layout *at = &python_found.at;
	uint32_t end = at->code_bytes == PYTHON_NONE ? at->code_table : at->code_bytes;

	return is_object(code, python_found.code_type) && readable_range(code, end + sizeof(void *)) &&
	       is_object(python_pointer(code, at->code_file), python_found.text_type) &&
	       is_object(python_pointer(code, at->code_name), python_found.text_type) &&
	       (at->code_qualname == PYTHON_NONE ||
		is_object(python_pointer(code, at->code_qualname), python_found.text_type)) &&
	       is_object(python_pointer(code, at->code_table), python_found.bytes_type) &&
	       python_int(code, at->code_line) >= 0;
}

/* 1: the instruction is in the code, or before it: the frame is then not entered yet. */
static int is_instruction(const uint8_t *frame, const uint8_t *code)
{
	const struct python_layout *at = &python_found.at;
	int64_t offset;

	if (at->lasti_scale)
		return python_int(frame, at->frame_instr) >= -1;
	offset = python_pointer(frame, at->frame_instr) - (code + at->code_bytes);
	return offset >= -2 && !(offset & 1) && (uint64_t)(offset + 2) / 2 <= python_word(code, PYTHON_OBJECT_SIZE);
}

static int is_frame(const uint8_t *frame)
{
	const struct python_layout *at = &python_found.at;

	if (!python_is_plausible(frame) || !readable_range(frame + at->frame_back, sizeof(void *)) ||
	    !readable_range(frame + at->frame_code, sizeof(void *)) ||
	    !readable_range(frame + at->frame_instr, sizeof(void *)))
		return 0;
	if (python_owner(at, frame) >= PYTHON_OWNER_SHIM)
		return 1;
	return is_code(python_code(at, frame)) && is_instruction(frame, python_code(at, frame));
}

int python_check_frames(const uint8_t *frame)
{
	uint32_t found = PYTHON_STAGE_FOUND, i;
	int saved = errno;

	for (i = 0; i < FRAMES_CHECKED && frame; i++) {
		if (!is_frame(frame))
			break;
		frame = python_pointer(frame, python_found.at.frame_back);
	}
	errno = saved;
	if (i == FRAMES_CHECKED || !frame) {
		if (atomic_compare_exchange_strong(&python_found.stage, &found, PYTHON_STAGE_CHECKED))
			python_count_deaths();
		return 1;
	}
	if (atomic_compare_exchange_strong(&python_found.stage, &found, PYTHON_STAGE_LOOKING)) {
		refuse("the frames of this Python are not what those of its version are");
		atomic_store(&python_found.stage, PYTHON_STAGE_REFUSED);
	}
	return 0;
}
