/* test_pyline.c - source lines, compared with what the interpreters of this machine say themselves. */
#include <glob.h>
#include <inttypes.h>
#include "memtrace/base.h"
#include "ring/intake.h"
#include "test.h"

/*
 * Prints every code object of a made-up module and of some of the standard library: "T first_line table", then
 * "L offset line" as the interpreter's C code has it; -1 stands for no line.
 */
static const char script[] = "import ctypes, sys, types, zlib\n"
			     "made_up = '''\n"
			     "def jumps(a,\n"
			     "          b=(1,\n"
			     "             2)):\n"
			     "    for i in range(10):\n"
			     "        c = [x\n"
			     "             for x in range(i)\n"
			     "             if x % 2]\n"
			     "        try:\n"
			     "            d = jumps(c,\n"
			     "                      b={\n"
			     "                        1: lambda: i,\n"
			     "                      })\n"
			     "        except (ValueError,\n"
			     "                TypeError) as e:\n"
			     "            continue\n"
			     "        finally:\n"
			     "            with a as f, b:\n"
			     "                yield (c +\n"
			     "                       d)\n"
			     "    while a:\n"
			     "''' + chr(10) * 140 + '''\n"
			     "        a = jumps(a,\n"
			     "''' + chr(10) * 700 + '''\n"
			     "                  a[1\n"
			     "                  :2])\n"
			     "    return a\n"
			     "class C:\n"
			     "    @property\n"
			     "    async def p(self): return [await y async for y in self]\n"
			     "'''\n"
			     "addr2line = ctypes.pythonapi.PyCode_Addr2Line\n"
			     "addr2line.argtypes = [ctypes.py_object, ctypes.c_int]\n"
			     "def show(code):\n"
			     "    table = code.co_linetable if hasattr(code, 'co_linetable') else code.co_lnotab\n"
			     "    print('T', code.co_firstlineno, table.hex() or '-')\n"
			     "    print('L', -1, code.co_firstlineno)\n"
			     "    for offset in range(0, len(code.co_code), 2):\n"
			     "        print('L', offset, addr2line(code, offset))\n"
			     "    for const in code.co_consts:\n"
			     "        if isinstance(const, types.CodeType):\n"
			     "            show(const)\n"
			     "print('V', sys.hexversion, zlib.crc32(types.__file__.encode()))\n"
			     "show(compile(made_up, 'made_up', 'exec'))\n"
			     "import argparse, contextlib, json.decoder, textwrap, dataclasses\n"
			     "for module in (argparse, contextlib, json.decoder, textwrap, dataclasses):\n"
			     "    with open(module.__file__, encoding='utf-8') as f:\n"
			     "        show(compile(f.read(), module.__file__, 'exec'))\n";

#define LINE_MAX_BYTES (1 << 20)

struct session {
	uint32_t version, place; /* version and place of the interpreter */
	uint32_t first_line;
	uint8_t table[LINE_MAX_BYTES / 2];
	size_t size;
	unsigned long compared;
};

static void read_table(struct session *session, const char *line)
{
	unsigned int byte;
	int at = 0;

	session->size = 0;
	CHECK(sscanf(line, "%" SCNu32 " %n", &session->first_line, &at) == 1);
	for (line += at; sscanf(line, "%2x", &byte) == 1; line += 2)
		session->table[session->size++] = (uint8_t)byte;
}

static void compare(struct session *session, const char *line)
{
	int offset, want;
	uint32_t got;

	CHECK(sscanf(line, "%d %d", &offset, &want) == 2);
	if (!session->size)
		return; /* no instruction of it is on another line: an empty table says so before 3.10 */
	if (want < 0)
		want = 0;
	got = mt_pyline(session->version, session->table, session->size, session->first_line, (uint32_t)offset);
	if (got != (uint32_t)want)
		printf("# version %" PRIx32 ", code at line %" PRIu32 ", offset %d\n", session->version,
		       session->first_line, offset);
	CHECK_EQ(got, want);
	session->compared++;
}

/* Interpreters have many names; each is asked once. */
static uint32_t asked[64];
static size_t asked_count;

static int is_asked(uint32_t place)
{
	size_t i;

	for (i = 0; i < asked_count; i++)
		if (asked[i] == place)
			return 1;
	return 0;
}

static void ask_with(struct session *session, const char *python, const char *options, const char *script_path)
{
	static char line[LINE_MAX_BYTES];
	char command[1024];
	FILE *pipe;

	snprintf(command, sizeof(command), "'%s' -S %s '%s' 2>/dev/null", python, options, script_path);
	pipe = popen(command, "r");
	CHECK(pipe);
	while (fgets(line, sizeof(line), pipe)) {
		if (line[0] == 'V')
			CHECK(sscanf(line + 2, "%" SCNu32 " %" SCNu32, &session->version, &session->place) == 2);
		if (session->version < 0x03090000 || is_asked(session->place))
			break;
		if (line[0] == 'T')
			read_table(session, line + 2);
		if (line[0] == 'L')
			compare(session, line + 2);
	}
	pclose(pipe);
}

/* Number of lines compared; 0: not an interpreter we know, or it has no ctypes. */
static unsigned long ask(const char *python, const char *script_path)
{
	static struct session session;

	session = (struct session){ 0 };
	ask_with(&session, python, "", script_path);
	if (session.version >= 0x030b0000 && !is_asked(session.place))
		ask_with(&session, python, "-X no_debug_ranges", script_path); /* tables of another kind */
	if (session.compared && asked_count < MT_ARRAY_SIZE(asked))
		asked[asked_count++] = session.place;
	if (session.compared)
		printf("# %s: %" PRIx32 ", %lu instructions\n", python, session.version, session.compared);
	return session.compared;
}

static unsigned long ask_folder(const char *folder, const char *below, const char *script_path)
{
	unsigned long compared = 0;
	char pattern[1024];
	glob_t found;
	size_t i;

	snprintf(pattern, sizeof(pattern), "%s%s/*/bin/python3", folder, below);
	if (glob(pattern, 0, NULL, &found))
		return 0;
	for (i = 0; i < found.gl_pathc; i++)
		compared += ask(found.gl_pathv[i], script_path);
	globfree(&found);
	return compared;
}

static const char *write_script(void)
{
	static char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/lines.py", test_dir());
	file = fopen(path, "w");
	CHECK(file && fputs(script, file) >= 0 && !fclose(file));
	return path;
}

TEST(agrees_with_every_interpreter)
{
	static const char *const names[] = { "python3",    "/usr/bin/python3", "python3.9",  "python3.10",
					     "python3.11", "python3.12",       "python3.13", "python3.14" };
	const char *path = write_script(), *root = getenv("PYENV_ROOT"), *home = getenv("HOME");
	const char *build = getenv("BUILD");
	unsigned long compared = 0;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(names); i++)
		compared += ask(names[i], path);
	compared += root ? ask_folder(root, "/versions", path) : ask_folder(home ? home : "", "/.pyenv/versions", path);
	compared += ask_folder(build ? build : "", "/pythons", path); /* tests/pythons.sh */
	if (!compared)
		SKIP("no Python from 3.9 on with ctypes here");
	CHECK(compared > 1000);
}

/* One entry of each form, by hand: the machine may have no interpreter of a version. */
TEST(lnotab)
{
	static const uint8_t table[] = { 0, 1, 4, 2, 6, (uint8_t)-3, 255, 0, 45, 10 };

	CHECK_EQ(mt_pyline(0x030912f0, table, sizeof(table), 10, 0), 11);
	CHECK_EQ(mt_pyline(0x030912f0, table, sizeof(table), 10, 2), 11);
	CHECK_EQ(mt_pyline(0x030912f0, table, sizeof(table), 10, 4), 13);
	CHECK_EQ(mt_pyline(0x030912f0, table, sizeof(table), 10, 10), 10);
	CHECK_EQ(mt_pyline(0x030912f0, table, sizeof(table), 10, 308), 10);
	CHECK_EQ(mt_pyline(0x030912f0, table, sizeof(table), 10, 310), 20);
}

TEST(linetable_3_10)
{
	static const uint8_t table[] = { 4, 1, 2, (uint8_t)-128, 6, 2, 0, 127, 2, 100, 2, (uint8_t)-50 };

	CHECK_EQ(mt_pyline(0x030a0df0, table, sizeof(table), 10, 0), 11);
	CHECK_EQ(mt_pyline(0x030a0df0, table, sizeof(table), 10, 4), 0);
	CHECK_EQ(mt_pyline(0x030a0df0, table, sizeof(table), 10, 6), 13);
	CHECK_EQ(mt_pyline(0x030a0df0, table, sizeof(table), 10, 12), 240);
	CHECK_EQ(mt_pyline(0x030a0df0, table, sizeof(table), 10, 14), 190);
	CHECK_EQ(mt_pyline(0x030a0df0, table, sizeof(table), 10, 16), 0);
}

TEST(locations_3_11)
{
	/* short; one line; no column, line +33 (66: 2, then 1 group more); long, line -1; no line */
	static const uint8_t table[] = { 0x80 | 0 << 3 | 1,
					 0x12,
					 0x80 | 11 << 3 | 0,
					 4,
					 9,
					 0x80 | 13 << 3 | 0,
					 64 | 2,
					 1,
					 0x80 | 14 << 3 | 2,
					 3,
					 0,
					 1,
					 1,
					 0x80 | 15 << 3 | 0 };

	CHECK_EQ(mt_pyline(0x030b07f0, table, sizeof(table), 10, 0), 10);
	CHECK_EQ(mt_pyline(0x030b07f0, table, sizeof(table), 10, 2), 10);
	CHECK_EQ(mt_pyline(0x030b07f0, table, sizeof(table), 10, 4), 11);
	CHECK_EQ(mt_pyline(0x030e00f0, table, sizeof(table), 10, 6), 44);
	CHECK_EQ(mt_pyline(0x030e00f0, table, sizeof(table), 10, 8), 43);
	CHECK_EQ(mt_pyline(0x030e00f0, table, sizeof(table), 10, 12), 43);
	CHECK_EQ(mt_pyline(0x030e00f0, table, sizeof(table), 10, 14), 0);
	CHECK_EQ(mt_pyline(0x030e00f0, table, sizeof(table), 10, 16), 0);
}

TEST(unknown_is_the_first_line)
{
	static const uint8_t table[] = { 2, 1 };

	CHECK_EQ(mt_pyline(0, table, sizeof(table), 7, 4), 7);
	CHECK_EQ(mt_pyline(0x02070000, table, sizeof(table), 7, 4), 7);
	CHECK_EQ(mt_pyline(0x030b0000, NULL, 0, 7, 4), 7);
	CHECK_EQ(mt_pyline(0x030b0000, table, sizeof(table), 7, (uint32_t)-1), 7);
}

/* Nothing to compare with: it must come back, and with a line that a file can have. */
TEST(random_tables)
{
	static const uint32_t versions[] = { 0x03090000, 0x030a0000, 0x030b0000, 0x030e0000 };
	uint32_t random = 1;
	size_t i, round;

	for (round = 0; round < 200000; round++) {
		size_t size = round % 64;
		uint8_t *exact = malloc(size ? size : 1);

		for (i = 0; i < size; i++) {
			random = random * 1664525u + 1013904223u;
			exact[i] = (uint8_t)(random >> 24);
		}
		CHECK(mt_pyline(versions[round & 3], exact, size, random, (random >> 8) & 255) <= INT32_MAX);
		free(exact);
	}
}

TEST_MAIN()
