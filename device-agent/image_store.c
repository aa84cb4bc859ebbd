// SPDX-License-Identifier: Apache-2.0
#include "image_store.h"

#include "frame.h"
#include "port.h"
#include "port_limits.h"

struct image {
  uint64_t hash;  // 0: free
  uint64_t offset;
  uint32_t bytes;
  uint32_t received;
};

static struct image images[HONE_AGENT_IMAGES];
static uint32_t next_image;
static uint64_t store_cursor;

static struct image* find_image(uint64_t hash) {
  for (uint32_t i = 0; i < HONE_AGENT_IMAGES; ++i)
    if (images[i].hash == hash) return &images[i];
  return NULL;
}

// Room in the store as in a ring: what lies where the new image goes is forgotten.
static struct image* place_image(uint64_t hash, uint32_t bytes) {
  const uint64_t space = port_facts()->image_store_bytes;
  if (bytes > space) return NULL;
  if (store_cursor + bytes > space) store_cursor = 0;
  const uint64_t begin = store_cursor;
  for (uint32_t i = 0; i < HONE_AGENT_IMAGES; ++i) {
    struct image* other = &images[i];
    if (other->offset < begin + bytes && begin < other->offset + other->bytes) other->hash = 0;
  }
  struct image* image = &images[next_image++ % HONE_AGENT_IMAGES];
  *image = (struct image){hash, begin, bytes, 0};
  store_cursor = (begin + bytes + 63) & ~(uint64_t)63;
  return image;
}

void take_image(struct hone_reader* reader) {
  const uint64_t hash = hone_read(reader, 8);
  const uint32_t total = (uint32_t)hone_read(reader, 4);
  const uint32_t crc = (uint32_t)hone_read(reader, 4);
  const uint32_t offset = (uint32_t)hone_read(reader, 4);
  const uint32_t count = (uint32_t)reader->left;
  if (reader->failed || hash == 0) return;
  struct image* image = find_image(hash);
  if (image && image->received == image->bytes) return;
  if (offset == 0) {
    if (image) image->hash = 0;
    image = place_image(hash, total);
  }
  if (!image || image->bytes != total || image->received != offset || count > total - offset)
    return;
  uint8_t* bytes = port_facts()->image_store + image->offset;
  __builtin_memcpy(bytes + offset, reader->bytes, count);
  image->received += count;
  if (image->received == total && hone_crc32(0, bytes, total) != crc) image->hash = 0;
}

const uint8_t* find_whole_image(uint64_t hash, uint32_t* bytes) {
  const struct image* image = find_image(hash);
  if (!image || image->received != image->bytes) return NULL;
  *bytes = image->bytes;
  return port_facts()->image_store + image->offset;
}
