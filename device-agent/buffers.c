// SPDX-License-Identifier: Apache-2.0
#include "buffers.h"

static uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) & ~(to - 1); }

// Whole pages for each buffer, so that inputs can be protected; guards before and after. The starts
// are staggered by cache lines: buffers that all start at the same place in a page would meet in
// the same cache sets, which no real program's do.
uint64_t lay_out(struct hone_buffer* buffer, uint16_t index, uint64_t offset) {
  const uint64_t page = port_facts()->page_bytes;
  const uint64_t stagger = (uint64_t)(index * 5 % 64) * 64;
  const uint64_t start = HONE_MIN_GUARD_BYTES + stagger;
  buffer->zone = (uint8_t*)(uintptr_t)offset;
  buffer->zone_bytes = round_up(start + buffer->bytes + HONE_MIN_GUARD_BYTES, page);
  buffer->start = buffer->zone + start;
  return offset + buffer->zone_bytes;
}

static uint8_t* after(const struct hone_buffer* buffer) { return buffer->start + buffer->bytes; }
static uint8_t* zone_end(const struct hone_buffer* buffer) {
  return buffer->zone + buffer->zone_bytes;
}

void paint_guards(const struct hone_buffer* buffer) {
  hone_set_bytes(buffer->zone, HONE_GUARD_BYTE, (size_t)(buffer->start - buffer->zone));
  hone_set_bytes(after(buffer), HONE_GUARD_BYTE, (size_t)(zone_end(buffer) - after(buffer)));
}

bool guards_whole(const struct hone_buffer* buffer, uint8_t* side) {
  *side = HONE_BELOW;
  if (!hone_all_bytes(buffer->zone, HONE_GUARD_BYTE, (size_t)(buffer->start - buffer->zone)))
    return false;
  *side = HONE_ABOVE;
  return hone_all_bytes(after(buffer), HONE_GUARD_BYTE, (size_t)(zone_end(buffer) - after(buffer)));
}

void move_to(struct hone_buffer* buffer, uint8_t* base) {
  buffer->zone = base + (uintptr_t)buffer->zone;
  buffer->start = base + (uintptr_t)buffer->start;
}

uint64_t elements_of(const struct hone_buffer* buffer) {
  // Sizes of elements are powers of two.
  return buffer->bytes >> __builtin_ctz((unsigned)hone_dtype_bytes(buffer->dtype));
}
