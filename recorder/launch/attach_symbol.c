/* attach_symbol.c - finds the addresses of functions in another process, by the dynamic symbols of a mapped file. */
#include "attach.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct image {
	const uint8_t *bytes;
	uint64_t size;
};

/* Returns `count` items of `each` bytes at `offset`. NULL: `offset` is not aligned, or the file ends before them. */
static const void *part(const struct image *image, uint64_t offset, uint64_t count, uint64_t each)
{
	if (offset % 8 || offset > image->size || count > (image->size - offset) / each)
		return NULL;
	return image->bytes + offset;
}

/* Finds the address in the process for address 0 of the file. 0: the file has no loaded segment. */
static int find_bias(const struct image *image, const Elf64_Ehdr *head, uint64_t base, uint64_t *bias)
{
	const Elf64_Phdr *segment = part(image, head->e_phoff, head->e_phnum, sizeof(*segment));
	int i;

	for (i = 0; segment && i < head->e_phnum; i++) {
		if (segment[i].p_type != PT_LOAD)
			continue;
		*bias = base - (segment[i].p_vaddr - segment[i].p_offset);
		return 1;
	}
	return 0;
}

static void take(const struct attach_symbol *symbols, size_t count, const char *name, uint64_t address)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!*symbols[i].address && !strcmp(symbols[i].name, name))
			*symbols[i].address = address;
}

static void look_through(const struct image *image, const Elf64_Shdr *table, const Elf64_Shdr *names, uint64_t bias,
			 const struct attach_symbol *symbols, size_t count)
{
	uint64_t total = table->sh_size / sizeof(Elf64_Sym), i;
	const Elf64_Sym *symbol = part(image, table->sh_offset, total, sizeof(*symbol));
	const char *text;

	if (!symbol || names->sh_offset > image->size || names->sh_size > image->size - names->sh_offset ||
	    !names->sh_size)
		return;
	text = (const char *)image->bytes + names->sh_offset;
	if (text[names->sh_size - 1])
		return;
	for (i = 0; i < total; i++)
		if (symbol[i].st_shndx != SHN_UNDEF && symbol[i].st_name < names->sh_size &&
		    ELF64_ST_TYPE(symbol[i].st_info) == STT_FUNC)
			take(symbols, count, text + symbol[i].st_name, bias + symbol[i].st_value);
}

static void look_into(const struct image *image, uint64_t base, const struct attach_symbol *symbols, size_t count)
{
	const Elf64_Ehdr *head = part(image, 0, 1, sizeof(*head));
	const Elf64_Shdr *section;
	uint64_t bias;
	int i;

	if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_ident[EI_CLASS] != ELFCLASS64 ||
	    !find_bias(image, head, base, &bias))
		return;
	section = part(image, head->e_shoff, head->e_shnum, sizeof(*section));
	for (i = 0; section && i < head->e_shnum; i++)
		if (section[i].sh_type == SHT_DYNSYM && section[i].sh_link < head->e_shnum)
			look_through(image, &section[i], &section[section[i].sh_link], bias, symbols, count);
}

void attach_symbols(const char *path, uint64_t base, const struct attach_symbol *symbols, size_t count)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct image image;
	struct stat st;
	void *map = MAP_FAILED;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0)
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (map == MAP_FAILED)
		return;
	image = (struct image){ map, (uint64_t)st.st_size };
	look_into(&image, base, symbols, count);
	munmap(map, image.size);
}
