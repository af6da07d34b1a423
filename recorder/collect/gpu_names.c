/* gpu_names.c - matches the physical GPUs of NVML with the GPUs that a process sees: see gpu_sample.h. */
#include "gpu_sample.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENVIRON_MAX (256u << 10)

static void read_one(const struct nvml *nvml, unsigned int index, struct gpu_name *gpu)
{
	uint64_t used;

	memset(gpu, 0, sizeof(*gpu));
	if (nvml->by_index(index, &gpu->device)) {
		gpu->device = NULL;
		return;
	}
	if (nvml->name(gpu->device, gpu->name, sizeof(gpu->name)))
		gpu->name[0] = '\0';
	if (nvml->uuid(gpu->device, gpu->uuid, sizeof(gpu->uuid)))
		gpu->uuid[0] = '\0';
	if (nvml_read_memory(nvml, gpu->device, &used, &gpu->total))
		gpu->total = 0;
}

/* Points at the value of `name` in NAME=VALUE\0NAME=VALUE\0...; NULL: `name` is not set. */
static const char *find_variable(const char *environ_text, size_t size, const char *name)
{
	size_t length = strlen(name), at = 0;

	while (at < size) {
		const char *entry = environ_text + at;

		if (!strncmp(entry, name, length) && entry[length] == '=')
			return entry + length + 1;
		at += strlen(entry) + 1;
	}
	return NULL;
}

/* The environment at the start of a process. It ends with a NUL, which *size does not count. The caller frees it. */
static char *read_environ(pid_t pid, size_t *size)
{
	char path[40], *text = malloc(ENVIRON_MAX + 1);
	ssize_t n = 1;
	int fd;

	*size = 0;
	if (!text)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && n > 0 && *size < ENVIRON_MAX) {
		n = read(fd, text + *size, ENVIRON_MAX - *size);
		*size += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	text[*size] = '\0';
	return text;
}

static int all_alike(const struct gpu_name *physical, int count)
{
	int i;

	for (i = 1; i < count; i++)
		if (strcmp(physical[i].name, physical[0].name))
			return 0;
	return 1;
}

/* The index of the GPU whose UUID begins with `entry`; -1: no GPU, -2: several GPUs. */
static int by_uuid(const struct gpu_name *physical, int count, const char *entry, size_t size)
{
	int i, found = -1;

	for (i = 0; i < count; i++)
		if (!strncmp(physical[i].uuid, entry, size))
			found = found == -1 ? i : -2;
	return found;
}

static int by_number(int count, const char *entry, size_t size)
{
	char *end;
	long number = strtol(entry, &end, 10);

	return size && end == entry + size && number >= 0 && number < count ? (int)number : -1;
}

int gpu_names_visible(struct gpu_name gpus[GPU_NAMES_MAX], const struct gpu_name *physical, int count,
		      const char *visible, int in_pci_order)
{
	int numbers_tell = in_pci_order || all_alike(physical, count), n = 0;

	if (!visible) {
		for (; n < count; n++)
			gpus[n] = numbers_tell ? physical[n] : (struct gpu_name){ .total = 0 };
		return n;
	}
	while (*visible && n < GPU_NAMES_MAX) {
		size_t size;
		int is_uuid, found;

		visible += strspn(visible, " ");
		size = strcspn(visible, ", ");
		is_uuid = !strncmp(visible, "GPU-", 4);
		found = is_uuid ? by_uuid(physical, count, visible, size) : by_number(count, visible, size);
		if (found < 0)
			break;
		gpus[n++] = is_uuid || numbers_tell ? physical[found] : (struct gpu_name){ .total = 0 };
		visible += size;
		visible += strspn(visible, " ");
		if (*visible++ != ',')
			break;
	}
	return n;
}

int gpu_names_read(struct gpu_name gpus[GPU_NAMES_MAX], const struct nvml *nvml, pid_t pid, const char *visible)
{
	struct gpu_name physical[GPU_NAMES_MAX];
	const char *order;
	unsigned int count = 0, i;
	char *environ_text;
	size_t size;
	int n = 0;

	if (nvml->count(&count))
		count = 0;
	if (count > GPU_NAMES_MAX)
		count = GPU_NAMES_MAX;
	for (i = 0; i < count; i++)
		read_one(nvml, i, &physical[i]);
	environ_text = read_environ(pid, &size);
	if (environ_text && count) {
		order = find_variable(environ_text, size, "CUDA_DEVICE_ORDER");
		n = gpu_names_visible(gpus, physical, (int)count,
				      *visible ? visible : find_variable(environ_text, size, "CUDA_VISIBLE_DEVICES"),
				      order && !strcmp(order, "PCI_BUS_ID"));
	}
	free(environ_text);
	return n;
}
