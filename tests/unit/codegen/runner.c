// SPDX-License-Identifier: Apache-2.0
//
// Runs a candidate once. The file argv[1] holds a header, the flat image, and the content of all
// buffers; afterwards the buffers go to stdout. Built for each ISA by the tests; with -DENTRY=name it
// calls that linked function instead of the image.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct hone_parallel {
  void (*run)(const struct hone_parallel *self,
              void (*body)(void *context, intptr_t index, intptr_t worker), void *context,
              intptr_t count);
  int32_t threads;
  void *pool;
};
typedef void (*entry_type)(void *const *buffers, void *workspace,
                           const struct hone_parallel *parallel);

struct header {
  uint64_t load_address;
  uint64_t image_bytes;
  uint64_t bss_bytes;
  uint64_t entry_offset;
  uint64_t workspace_bytes;
  uint64_t threads;
  uint64_t calls;
  uint64_t buffer_count;
  uint64_t buffer_bytes[128];
};

#ifdef ENTRY
void ENTRY(void *const *buffers, void *workspace, const struct hone_parallel *parallel);
#endif

// Backwards, so that a dependence between iterations shows.
static void run(const struct hone_parallel *self,
                void (*body)(void *context, intptr_t index, intptr_t worker), void *context,
                intptr_t count) {
  for (intptr_t i = count - 1; i >= 0; --i) body(context, i, i % self->threads);
}

static void *map(void *at, size_t bytes, int protection) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED_NOREPLACE : 0);
  void *memory = mmap(at, bytes + 4096, protection, flags, -1, 0);
  if (memory == MAP_FAILED) exit(10);
  return memory;
}

static void read_all(void *to, size_t bytes, FILE *file) {
  if (fread(to, 1, bytes, file) != bytes) exit(11);
}

int main(int count, char **arguments) {
  static struct header header;
  static void *buffers[128];
  if (count != 2) return 12;
  FILE *file = fopen(arguments[1], "rb");
  if (!file) return 13;
  read_all(&header, sizeof header, file);
  entry_type entry = NULL;
#ifdef ENTRY
  entry = ENTRY;
#else
  const size_t bytes = (size_t)(header.image_bytes + header.bss_bytes);
  uint8_t *image = map((void *)(uintptr_t)header.load_address, bytes, PROT_READ | PROT_WRITE);
  read_all(image, (size_t)header.image_bytes, file);
  __builtin___clear_cache((char *)image, (char *)image + bytes);
  if (mprotect(image, bytes, PROT_READ | PROT_EXEC) != 0) return 14;
  // Thumb code wants its bit; every image of the tests for 32-bit machines is ARM code.
  entry = (entry_type)(uintptr_t)(header.load_address + header.entry_offset);
#endif
  for (uint64_t i = 0; i < header.buffer_count; ++i) {
    buffers[i] = map(NULL, (size_t)header.buffer_bytes[i], PROT_READ | PROT_WRITE);
    read_all(buffers[i], (size_t)header.buffer_bytes[i], file);
  }
  void *workspace = map(NULL, (size_t)header.workspace_bytes, PROT_READ | PROT_WRITE);
  const struct hone_parallel parallel = {run, (int32_t)header.threads, NULL};
  for (uint64_t i = 0; i < header.calls; ++i) entry(buffers, workspace, &parallel);
  for (uint64_t i = 0; i < header.buffer_count; ++i)
    fwrite(buffers[i], 1, (size_t)header.buffer_bytes[i], stdout);
  return fflush(stdout) == 0 ? 0 : 15;
}
