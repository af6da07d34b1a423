/*
 * agent_codes.c - a made-up Python 3.11, where code objects have no number. One frame calls another. Between two events codes
 * change in ways that no interpreter shows at a given moment. Prints the stack that each event must have, "ADDRESS NAME NAME".
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SEEN __attribute__((visibility("default")))
#define PAGE 4096u

enum { CFRAME = 56, CURRENT = 8, PREVIOUS = 48, EXECUTABLE = 32, INSTR = 56 };
enum { FILE_NAME = 112, NAME = 120, QUALNAME = 128, TABLE = 136, LINE = 72, BYTES = 184, DEALLOC = 48 };

struct object {
	uint64_t words[64];
};

struct device {
	signed char type, index;
};

typedef void report_function(void *block, int64_t size, uint64_t total, uint64_t reserved, struct device device);
typedef void dealloc_function(void *object);

report_function hook __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE") __attribute__((weak));

SEEN struct object PyCode_Type, PyUnicode_Type, PyBytes_Type;
SEEN uint32_t Py_Version = 0x030b07f0;

SEEN const void *PyGILState_GetThisThreadState(void);
SEEN const void *_PyThreadState_UncheckedGet(void);
SEEN const void *PyInterpreterState_Head(void);
SEEN const void *PyInterpreterState_Main(void);

static struct object thread, cframe, frame[2], code[3], file;
static struct {
	struct object head;
	char text[16];
} name[3];
static struct object plain_table;
static char *table; /* code 1 has a page of its own */
static sigjmp_buf jump;
static uintptr_t address;
static int died;

const void *PyGILState_GetThisThreadState(void)
{
	return &thread;
}

const void *_PyThreadState_UncheckedGet(void)
{
	return &thread;
}

const void *PyInterpreterState_Head(void)
{
	return &thread;
}

const void *PyInterpreterState_Main(void)
{
	return &thread;
}

static void put(void *object, unsigned int offset, uint64_t value)
{
	memcpy((char *)object + offset, &value, sizeof(value));
}

static void make_text(struct object *object, const char *text)
{
	put(object, 8, (uintptr_t)&PyUnicode_Type);
	put(object, 16, strlen(text));
	put(object, 24, UINT64_MAX);               /* hash: not known */
	put(object, 32, 1 << 2 | 1 << 5 | 1 << 6); /* one byte each, compact, ASCII */
	memcpy((char *)object + 48, text, strlen(text) + 1);
}

static void make_code(int i, const char *text)
{
	make_text(&name[i].head, text);
	put(&code[i], 8, (uintptr_t)&PyCode_Type);
	put(&code[i], 16, 40); /* instructions */
	put(&code[i], LINE, 7);
	put(&code[i], FILE_NAME, (uintptr_t)&file);
	put(&code[i], NAME, (uintptr_t)&name[i]);
	put(&code[i], QUALNAME, (uintptr_t)&name[i]);
	put(&code[i], TABLE, i == 1 ? (uintptr_t)table : (uintptr_t)&plain_table);
}

static void make_table(void *object)
{
	put(object, 8, (uintptr_t)&PyBytes_Type);
	put(object, 16, 4);
}

static void make_frame(int i, struct object *back, struct object *of)
{
	put(&frame[i], PREVIOUS, (uintptr_t)back);
	put(&frame[i], EXECUTABLE, (uintptr_t)of);
	put(&frame[i], INSTR, (uintptr_t)of + BYTES + 8);
}

static void code_dies(void *object)
{
	died += object == &code[1];
}

/* As the interpreter frees a code object: through its type. */
static void kill_caller(void)
{
	dealloc_function *dealloc;

	memcpy(&dealloc, (char *)&PyCode_Type + DEALLOC, sizeof(dealloc));
	dealloc(&code[1]);
}

static void report(uintptr_t at)
{
	hook((void *)at, 64, 64, 64, (struct device){ 1, 0 }); /* NOLINT(performance-no-int-to-ptr) */
}

/* The stack must be `caller` and what it calls. Twice: the second time all of it is known. */
static void expect(const char *caller)
{
	int i;

	for (i = 0; i < 2; i++) {
		address += 0x1000;
		report(address);
		printf("%lx inner %s\n", (unsigned long)address, caller);
	}
}

static void on_fault(int number)
{
	(void)number;
	mprotect(table, PAGE, PROT_READ | PROT_WRITE);
	siglongjmp(jump, 1);
}

/* A handler leaves in the middle of what is read of a code. */
static void interrupted(void)
{
	signal(SIGSEGV, on_fault);
	mprotect(table, PAGE, PROT_NONE);
	if (!sigsetjmp(jump, 1)) {
		report(0x10);
		puts("the table was not read");
		exit(1);
	}
	signal(SIGSEGV, SIG_DFL);
}

int main(void)
{
	table = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	make_table(table);
	make_table(&plain_table);
	make_text(&file, "made.py");
	put(&PyCode_Type, DEALLOC, (uintptr_t)code_dies);
	make_code(0, "inner");
	make_code(1, "one");
	make_code(2, "two");
	make_frame(0, &frame[1], &code[0]);
	make_frame(1, NULL, &code[1]);
	put(&cframe, CURRENT, (uintptr_t)&frame[0]);
	put(&thread, CFRAME, (uintptr_t)&cframe);
	expect("one");

	make_frame(1, NULL,
		   &code[2]); /* another caller of the same size, at the same instruction: its frame lies in the same place */
	expect("two");
	make_frame(1, NULL, &code[1]);
	expect("one");

	kill_caller(); /* the next code lies where the last one lay, all that it consists of likewise */
	make_code(1, "six");
	expect("six");

	kill_caller();
	make_code(1, "ten");
	interrupted();
	expect("ten");

	put(&PyCode_Type, DEALLOC, (uintptr_t)code_dies); /* another tool has the slot: the agent hears of no death */
	kill_caller();
	make_code(1, "sun");
	expect("sun");
	kill_caller();
	make_code(1, "net");
	expect("net");
	return died != 4;
}
