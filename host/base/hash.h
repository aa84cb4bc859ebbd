// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hone {

// 64-bit hash that is the same on every platform and in every version: FNV-1a with a final mix.
// For names in a database and for de-duplication; not against an adversary.
uint64_t hash_bytes(std::string_view bytes, uint64_t seed = 0);

// Folds `value` into `hash`; the order of the calls counts.
uint64_t hash_combine(uint64_t hash, uint64_t value);

// 16 lower-case hexadecimal digits.
std::string to_hex(uint64_t hash);

}  // namespace hone
