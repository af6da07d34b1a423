/* The host's side of a process, read from made-up /proc and cgroup trees, and from the real ones. */
#include <sys/stat.h>
#include "collect/host_sample.c"
#include "test.h"

#define GIB (1ull << 30)
#define V2_MOUNT "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_MOUNTS                                                                    \
	"30 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"        \
	"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n" \
	"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"

static char root[256];

static void make_folders(char *path)
{
	char *slash = path + strlen(root) + 1;

	while ((slash = strchr(slash, '/'))) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash++ = '/';
	}
}

static void put(const char *name, const char *text)
{
	char path[1024];
	FILE *file;

	if (!*root)
		snprintf(root, sizeof(root), "%s", test_dir());
	snprintf(path, sizeof(path), "%s/%s", root, name);
	make_folders(path);
	file = fopen(path, "w");
	CHECK(file != NULL);
	fputs(text, file);
	CHECK(!fclose(file));
}

static void put_level(const char *folder, const char *use, const char *limit, const char *stat)
{
	char path[512];

	snprintf(path, sizeof(path), "sys/fs/cgroup%s/memory.current", folder);
	put(path, use);
	snprintf(path, sizeof(path), "sys/fs/cgroup%s/memory.max", folder);
	put(path, limit);
	snprintf(path, sizeof(path), "sys/fs/cgroup%s/memory.stat", folder);
	put(path, stat);
}

static void put_process(const char *cgroup, const char *mounts)
{
	put("proc/77/statm", "900000 262144 1000 1 0 9 0\n");
	put("proc/meminfo", "MemTotal:       65536000 kB\nMemFree:   1000 kB\nMemAvailable:    2097152 kB\n");
	put("proc/77/cgroup", cgroup);
	put("proc/self/mountinfo", mounts);
}

static struct host_figures look(struct host_sampler *sampler)
{
	struct host_figures figures;

	host_sampler_read(sampler, &figures);
	return figures;
}

static struct host_figures look_first(void)
{
	struct host_sampler sampler;

	host_sampler_init(&sampler, root, 77);
	return look(&sampler);
}

TEST(a_process_without_a_cgroup)
{
	struct host_figures figures;

	put_process("", "");
	figures = look_first();
	CHECK_EQ(figures.resident, 262144ull * (uint64_t)sysconf(_SC_PAGESIZE));
	CHECK_EQ(figures.available, 2 * GIB);
	CHECK_EQ(figures.cgroup, 0);
	CHECK_EQ(figures.cgroup_limit, 0);
}

TEST(version_2_with_the_limit_of_an_outer_level)
{
	struct host_figures figures;

	put_process("0::/jobs/j1/task\n", V2_MOUNT);
	put_level("/jobs/j1/task", "3221225472\n", "max\n", "anon 1\n");
	put_level("/jobs/j1", "8589934592\n", "10737418240\n", "file 9\ninactive_file 1073741824\nactive_file 0\n");
	put_level("/jobs", "8589934592\n", "107374182400\n", "");
	figures = look_first();
	CHECK_EQ(figures.cgroup, 7 * GIB); /* a GiB of file cache can be dropped */
	CHECK_EQ(figures.cgroup_limit, 10 * GIB);
}

TEST(version_2_without_a_limit_tells_the_innermost_level)
{
	struct host_figures figures;

	put_process("0::/a/b\n", V2_MOUNT);
	put_level("/a/b", "1073741824\n", "max\n", "inactive_file 2147483648\n");
	put_level("/a", "8589934592\n", "max\n", "");
	figures = look_first();
	CHECK_EQ(figures.cgroup, 0); /* never below nothing */
	CHECK_EQ(figures.cgroup_limit, 0);
	put_level("/a/b", "3221225472\n", "max\n", "inactive_file 1073741824\n");
	CHECK_EQ(look_first().cgroup, 2 * GIB);
}

/* RSS is 1 GiB, and all but 1000 pages of it is anonymous. */
TEST(a_level_that_does_not_hold_the_process_is_not_told)
{
	struct host_figures figures;

	put_process("0::/here/child\n", V2_MOUNT);
	put_level("/here/child", "35651584\n", "137438953472\n", "");
	put_level("/here", "3221225472\n", "8589934592\n", "");
	figures = look_first();
	CHECK_EQ(figures.cgroup, 3 * GIB);
	CHECK_EQ(figures.cgroup_limit, 8 * GIB);
	put_level("/here", "35651584\n", "8589934592\n", "");
	figures = look_first();
	CHECK_EQ(figures.cgroup, 0);
	CHECK_EQ(figures.cgroup_limit, 0);
	CHECK(figures.resident && figures.available);
	put("proc/77/statm", "900000 262144 262144 1 0 9 0\n"); /* mapped files: their pages are anybody's */
	CHECK_EQ(look_first().cgroup, 35651584);
}

TEST(version_1)
{
	struct host_figures figures;

	put_process("12:pids:/\n4:memory:/docker/abc\n1:name=systemd:/\n0::/\n", V1_MOUNTS);
	put("sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", "4294967296\n");
	put("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "8589934592\n");
	put("sys/fs/cgroup/memory/docker/abc/memory.stat", "inactive_file 7\ntotal_inactive_file 1073741824\n");
	put("sys/fs/cgroup/memory/memory.usage_in_bytes", "42949672960\n");
	put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	figures = look_first();
	CHECK_EQ(figures.cgroup, 3 * GIB);
	CHECK_EQ(figures.cgroup_limit, 8 * GIB);
}

/* A container: only a part of the tree is mounted, and the path is that of the machine. */
TEST(a_container_sees_its_part_of_the_tree)
{
	put_process("4:memory:/docker/abc/inner\n",
		    "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
	put("sys/fs/cgroup/memory/memory.usage_in_bytes", "4294967296\n");
	put("sys/fs/cgroup/memory/memory.limit_in_bytes", "5368709120\n");
	put("sys/fs/cgroup/memory/inner/memory.usage_in_bytes", "1073741824\n");
	put("sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "9223372036854771712\n");
	CHECK_EQ(look_first().cgroup, 4 * GIB);
	CHECK_EQ(look_first().cgroup_limit, 5 * GIB);
	/* Seen from another namespace. */
	put("proc/77/cgroup", "4:memory:/../../elsewhere\n");
	CHECK_EQ(look_first().cgroup, 4 * GIB);
}

TEST(kills_are_counted_from_the_beginning)
{
	struct host_sampler sampler;

	put_process("0::/a\n", V2_MOUNT);
	put_level("/a", "1\n", "max\n", "");
	put("sys/fs/cgroup/a/memory.events", "low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 0\n");
	host_sampler_init(&sampler, root, 77);
	CHECK_EQ(look(&sampler).killed, 0);
	put("sys/fs/cgroup/a/memory.events", "low 0\noom 4\noom_kill 3\n");
	CHECK_EQ(look(&sampler).killed, 1);
}

TEST(kills_of_version_1)
{
	struct host_sampler sampler;

	put_process("4:memory:/a\n", V1_MOUNTS);
	put("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "1\n");
	put("sys/fs/cgroup/memory/a/memory.oom_control", "oom_kill_disable 7\nunder_oom 0\noom_kill 0\n");
	host_sampler_init(&sampler, root, 77);
	put("sys/fs/cgroup/memory/a/memory.oom_control", "oom_kill_disable 7\nunder_oom 0\noom_kill 1\n");
	CHECK_EQ(look(&sampler).killed, 1);
}

TEST(nonsense_is_not_believed)
{
	char line[3000];

	memset(line, 'x', sizeof(line) - 2);
	line[sizeof(line) - 2] = '\n';
	line[sizeof(line) - 1] = '\0';
	put_process(line, line);
	CHECK_EQ(look_first().cgroup_limit, 0);
	memcpy(line, "0::/", 4);
	put("proc/77/cgroup", line); /* a path longer than there is room for */
	put("proc/self/mountinfo", V2_MOUNT);
	put("proc/77/statm", "");
	put("proc/meminfo", "MemAvailable");
	CHECK_EQ(look_first().resident, 0);
	CHECK_EQ(look_first().available, 0);
	put("proc/self/mountinfo", "a b c\n - \n1 2 3 / /m - cgroup2\n1 2 3 /\n");
	CHECK_EQ(look_first().cgroup, 0);
}

TEST(this_very_process)
{
	struct host_sampler sampler;
	struct host_figures figures;
	uint64_t before;
	char *memory = malloc(64u << 20);

	host_sampler_init(&sampler, "", getpid());
	before = look(&sampler).resident;
	memset(memory, 1, 64u << 20);
	figures = look(&sampler);
	CHECK(memory[12345] == 1 && figures.resident >= before + (60u << 20));
	CHECK(figures.available > 0);
	free(memory);
}

TEST_MAIN()
