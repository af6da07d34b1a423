/*
 * agent_fake_python.c - what the agent may find where Python should be. Built as a library (-DLIBRARY) that exports
 * what an interpreter of VERSION does, and as a program that makes two events.
 *
 * The memory image is that of 3.14 as its _Py_DebugOffsets describe it, but with every published offset moved, so
 * that it can be read by them and not by those that a table knows.
 *
 *     VERSION         PY_VERSION_HEX                     SAYS       what _PyRuntime says, else VERSION
 *     THREADED        1: free-threaded                   COOKIE     the first 8 bytes of _PyRuntime
 *     BROKEN_OFFSET   1: one cannot be                   BROKEN_FRAME, BROKEN_CODE, BROKEN_TEXT: one is not what it is
 */
#include <stdint.h>
#include <string.h>

#ifdef LIBRARY

#ifndef SAYS
#define SAYS VERSION
#endif
#ifndef THREADED
#define THREADED 0
#endif
#ifndef COOKIE
#define COOKIE "xdebugpy"
#endif

/* Indices of _Py_DebugOffsets in 3.14, and where things lie in the image. */
enum { AT_CURRENT = 26, AT_PREVIOUS = 32, AT_FILENAME = 40, AT_BYTES = 48 };
enum { CURRENT = 80, PREVIOUS = 16, EXECUTABLE = 8, INSTR = 64, OWNER = 82 };
enum { FILE_NAME = 144, NAME = 152, QUALNAME = 160, TABLE = 168, LINE = 64, CODE_VERSION = 92, BYTES = 216 };

struct object {
	uint64_t words[64];
};

struct object PyCode_Type, PyUnicode_Type, PyBytes_Type;
uint32_t Py_Version = VERSION;
uint64_t _PyRuntime[128];

static struct object thread, frame[3], code[2], table;
static struct {
	struct object head;
	char text[16];
} name[2], qualname[2], file;

static void put(struct object *object, unsigned int offset, uint64_t value)
{
	memcpy((char *)object + offset, &value, sizeof(value));
}

static void make_text(struct object *object, const char *text)
{
	put(object, 8, (uintptr_t)&PyUnicode_Type);
	put(object, 16, strlen(text));
	put(object, 24, UINT64_MAX);               /* hash: not known */
	put(object, 32, 1 << 2 | 1 << 5 | 1 << 6); /* one byte each, compact, ASCII */
	memcpy((char *)object + 40, text, strlen(text));
}

static void make_code(int i, const char *name_text, const char *qualname_text, uint32_t line)
{
	make_text(&name[i].head, name_text);
	make_text(&qualname[i].head, qualname_text);
	put(&code[i], 8, (uintptr_t)&PyCode_Type);
	put(&code[i], 16, 40); /* instructions */
	put(&code[i], LINE, line);
	put(&code[i], FILE_NAME, (uintptr_t)&file);
	put(&code[i], NAME, (uintptr_t)&name[i]);
	put(&code[i], QUALNAME, (uintptr_t)&qualname[i]);
	put(&code[i], TABLE, (uintptr_t)&table);
	put(&code[i], CODE_VERSION, (uint64_t)(i + 1));
}

static void make_frame(int i, struct object *back, struct object *of, unsigned int owner, uint32_t lasti)
{
	put(&frame[i], PREVIOUS, (uintptr_t)back);
	put(&frame[i], EXECUTABLE, (uintptr_t)of | 1); /* a tag */
	put(&frame[i], INSTR, (uintptr_t)of + BYTES + lasti);
	((char *)&frame[i])[OWNER] = (char)owner;
}

static void publish(void)
{
	const uint64_t frames[] = { PREVIOUS, EXECUTABLE, INSTR, 72, OWNER };
	const uint64_t codes[] = { FILE_NAME, NAME, QUALNAME, TABLE, LINE };

	memcpy(_PyRuntime, COOKIE, 8);
	_PyRuntime[1] = SAYS;
	_PyRuntime[2] = THREADED;
	_PyRuntime[AT_CURRENT] = CURRENT;
	memcpy(_PyRuntime + AT_PREVIOUS, frames, sizeof(frames));
	memcpy(_PyRuntime + AT_FILENAME, codes, sizeof(codes));
	_PyRuntime[AT_BYTES] = BYTES;
#ifdef BROKEN_OFFSET
	_PyRuntime[AT_FILENAME + 2] = 1 << 20;
#endif
}

/* Called by the agent, and by nobody before it. */
const void *PyGILState_GetThisThreadState(void);

const void *PyGILState_GetThisThreadState(void)
{
	return &thread;
}

static __attribute__((constructor)) void make(void)
{
	publish();
	make_text(&file.head, "made.py");
	put(&table, 8, (uintptr_t)&PyBytes_Type);
	put(&table, 16, 4);
	memcpy((char *)&table + 32, "\x88\x00\x80\x00", 4);
	make_code(0, "inner", "Outer.inner", 7);
	make_code(1, "outer", "outer", 3);
	make_frame(0, &frame[1], &code[0], 0, 8);
	make_frame(1, &frame[2], (struct object *)0x10, 4, 0); /* a shim */
	make_frame(2, NULL, &code[1], 0, 4);
	put(&thread, CURRENT, (uintptr_t)&frame[0]);
#ifdef BROKEN_FRAME
	put(&frame[1], PREVIOUS, 0x123450); /* nothing is mapped there */
#endif
#ifdef BROKEN_CODE
	put(&code[1], 8, (uintptr_t)&PyUnicode_Type);
#endif
#ifdef BROKEN_TEXT
	put(&code[1], QUALNAME, (uintptr_t)&table);
#endif
}

#else

struct device {
	signed char type, index;
};

typedef void report_function(void *block, int64_t size, uint64_t total, uint64_t reserved, struct device device);

report_function hook __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE") __attribute__((weak));

int main(void)
{
	struct device gpu = { 1, 0 };

	hook((void *)0x1000, 64, 64, 64, gpu);
	hook((void *)0x2000, 64, 64, 64, gpu);
	return 0;
}

#endif
