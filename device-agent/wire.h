// SPDX-License-Identifier: Apache-2.0
//
// Reading fields of a message: little-endian, without padding, whatever the machine's own order and
// alignment are. A reader that ran past the end says so once, at the end.
#ifndef HONE_WIRE_H
#define HONE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hone_reader {
  const uint8_t* bytes;
  size_t left;
  bool failed;  // read more than there was; values are 0 from then on
};

static inline uint64_t hone_read(struct hone_reader* reader, size_t bytes) {
  if (reader->left < bytes) {
    reader->failed = true;
    reader->left = 0;
    return 0;
  }
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value |= (uint64_t)reader->bytes[i] << (8 * i);
  reader->bytes += bytes;
  reader->left -= bytes;
  return value;
}

static inline void hone_store(uint8_t* out, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out[i] = (uint8_t)(value >> (8 * i));
}

#endif
