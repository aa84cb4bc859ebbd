// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <fmt/format.h>

namespace hone {

uint64_t hash_bytes(std::string_view bytes, uint64_t seed) {
  uint64_t hash = 0xcbf29ce484222325ULL ^ seed;
  for (const char byte : bytes) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 0x100000001b3ULL;
  }
  return hash_combine(hash, bytes.size());
}

uint64_t hash_combine(uint64_t hash, uint64_t value) {
  uint64_t z = hash ^ (value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2));
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::string to_hex(uint64_t hash) { return fmt::format("{:016x}", hash); }

}  // namespace hone
