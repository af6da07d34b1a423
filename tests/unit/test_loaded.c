/* Slots of loaded objects: which are written, which are left for later, which are left to others. */
#include "agent/loaded/loaded.c"
#include "agent/loaded/loaded_patch.c"
#include "test.h"

#include <dlfcn.h>
#include <unistd.h>

static pid_t ours(void)
{
	return 4711;
}

/* All that this program, and its libraries, call getppid() through. */
static void set_slots(void *function)
{
	CHECK(loaded_patch("", "getppid", function) > 0);
}

static const struct loaded_hook hook = { "getppid", (void *)ours };

static struct loaded_pass pass_over(void)
{
	struct loaded_pass pass;

	memset(&done, 0, sizeof(done));
	loaded_rebind(&hook, 1, &pass);
	return pass;
}

static void restore(void)
{
	set_slots(dlsym(RTLD_DEFAULT, "getppid"));
}

TEST(calls_come_to_us)
{
	pid_t real = getppid();

	CHECK(pass_over().bound > 0);
	CHECK_EQ(getppid(), ours());
	CHECK_EQ(pass_over().bound, 0);
	restore();
	CHECK_EQ(getppid(), real);
}

TEST(objects_that_are_done_are_passed_over)
{
	struct loaded_pass pass = pass_over();

	CHECK(pass.bound > 0);
	restore();
	loaded_rebind(&hook, 1, &pass);
	CHECK_EQ(pass.bound, 0);
	CHECK(getppid() != ours());
}

TEST(what_another_tool_has_taken_is_left_to_it)
{
	set_slots((void *)getpid);
	CHECK_EQ(pass_over().bound, 0);
	CHECK_EQ(pass_over().later, 0);
	CHECK_EQ(getppid(), getpid());
	restore();
}

/* Before it is relocated, a slot holds nothing, or an offset into its own file. */
TEST(what_is_not_filled_in_yet_waits)
{
	static const uintptr_t unfinished[] = { 0, 0x1036 };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(unfinished); i++) {
		set_slots((void *)unfinished[i]);
		CHECK_EQ(pass_over().bound, 0);
		CHECK(pass_over().later > 0);
		restore();
	}
	CHECK(pass_over().bound > 0);
	CHECK_EQ(getppid(), ours());
	restore();
}

static pid_t (*volatile pointer)(void);

static int find_sealed(struct dl_phdr_info *object, size_t size, void *context)
{
	struct elf_symbols tables;
	struct slots slots;
	size_t i;

	(void)size;
	find_slots(object, &slots);
	if (!elf_symbols(object, &tables))
		return 0;
	for (i = 0; i < slots.data_count; i++) {
		uintptr_t slot = object->dlpi_addr + slots.data[i].r_offset;
		const char *name = tables.string + tables.symbol[ELF64_R_SYM(slots.data[i].r_info)].st_name;

		if (is_slot(&slots.data[i]) && !strcmp(name, "getppid") && is_sealed(object, slot)) {
			*(void **)context = (void *)(slot & ~(uintptr_t)(PAGE - 1));
			return 1;
		}
	}
	return 0;
}

/* The page of a slot that will be read-only, and is not: the loader is at it. */
TEST(what_is_not_sealed_yet_waits)
{
	void *page = NULL;
	struct loaded_pass pass;

	pointer = getppid;
	if (!dl_iterate_phdr(find_sealed, &page))
		_exit(TEST_SKIP_STATUS);
	CHECK(!mprotect(page, PAGE, PROT_READ | PROT_WRITE));
	CHECK(pass_over().later > 0);
	CHECK(!mprotect(page, PAGE, PROT_READ));
	loaded_rebind(&hook, 1, &pass); /* rebinds the rest */
	CHECK(pass.bound > 0);
	CHECK_EQ(pass.later, 0);
	CHECK(!is_writable((uintptr_t)page));
	restore();
}

TEST(the_maps_tell_what_is_writable)
{
	static const char constant[] = "x";
	static char variable[1];
	void *page = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED);
	CHECK(!is_writable((uintptr_t)constant));
	CHECK(is_writable((uintptr_t)variable));
	CHECK(!is_writable((uintptr_t)page + PAGE));
	CHECK(!mprotect((char *)page + PAGE, PAGE, PROT_READ | PROT_WRITE));
	CHECK(is_writable((uintptr_t)page + PAGE));
	CHECK(!is_writable((uintptr_t)page + PAGE - 1));
	CHECK(!munmap(page, 2 * PAGE));
	CHECK(is_writable((uintptr_t)page)); /* nobody can tell */
}

TEST(libraries_have_many_names)
{
	CHECK(is_library("/a/libx.so", "libx"));
	CHECK(is_library("libx.so.13", "libx"));
	CHECK(is_library("/a/libx-4f1c9a0b.so.12", "libx"));
	CHECK(is_library("/a/libx_4f1c9a0b.so", "libx"));
	CHECK(!is_library("/libx.so/liby.so", "libx"));
	CHECK(!is_library("/a/libxy.so", "libx"));
	CHECK(!is_library("/a/libx", "libx"));
	CHECK(!is_library("", "libx"));
}

TEST(a_caller_reaches_what_it_is_linked_with)
{
	int own;
	void *real = dlsym(RTLD_DEFAULT, "getppid");

	CHECK(loaded_target("getppid", (void *)ours, &own) == real && !own);
	CHECK(loaded_target("getppid", real, &own) == real && own);
	CHECK(!loaded_target("no such function", (void *)ours, &own) && !own);
	CHECK(loaded_target("getppid", NULL, &own) == real);
}

TEST_MAIN()
