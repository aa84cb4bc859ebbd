// SPDX-License-Identifier: Apache-2.0
//
// Inputs and checks, as host and agent both compute them.
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include <doctest/doctest.h>

#include "base/rng.h"
#include "device/agent_data.h"

using namespace hone;

namespace {

template <typename T>
std::vector<T> filled(uint8_t dtype, int64_t elements, const FillSpec& fill) {
  std::vector<T> values(static_cast<size_t>(elements));
  fill_buffer({reinterpret_cast<uint8_t*>(values.data()), values.size() * sizeof(T)}, dtype, fill);
  return values;
}

template <typename T>
uint64_t hash_of(const std::vector<T>& values, uint8_t dtype) {
  return check_output({reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)},
                      dtype, false, 0)
      .hash;
}

double element(uint16_t bits, uint8_t dtype) { return hone_element(&bits, dtype, 0); }

}  // namespace

TEST_CASE("inputs are uniform integers, the same in every dtype that holds them") {
  const FillSpec fill{.seed = 42, .low = -3, .high = 4, .shift = 0};
  const auto i32 = filled<int32_t>(HONE_I32, 8000, fill);
  const auto f32 = filled<float>(HONE_F32, 8000, fill);
  const auto i8 = filled<int8_t>(HONE_I8, 8000, fill);
  const auto f16 = filled<uint16_t>(HONE_F16, 8000, fill);
  const auto bf16 = filled<uint16_t>(HONE_BF16, 8000, fill);
  const auto f64 = filled<double>(HONE_F64, 8000, fill);
  std::map<int32_t, int> seen;
  for (size_t i = 0; i < i32.size(); ++i) {
    ++seen[i32[i]];
    CHECK(f32[i] == static_cast<float>(i32[i]));
    CHECK(i8[i] == i32[i]);
    CHECK(element(f16[i], HONE_F16) == i32[i]);
    CHECK(element(bf16[i], HONE_BF16) == i32[i]);
    CHECK(f64[i] == i32[i]);
  }
  REQUIRE(seen.size() == 8);
  CHECK(seen.begin()->first == -3);
  CHECK(seen.rbegin()->first == 4);
  for (const auto& [value, count] : seen) CHECK(std::abs(count - 1000) < 150);
}

TEST_CASE("inputs depend on seed and place alone") {
  const FillSpec fill{.seed = 1, .low = 0, .high = 1000000, .shift = 0};
  const auto longer = filled<int32_t>(HONE_I32, 100, fill);
  const auto shorter = filled<int32_t>(HONE_I32, 50, fill);
  CHECK(std::equal(shorter.begin(), shorter.end(), longer.begin()));
  CHECK(filled<int32_t>(HONE_I32, 100, {.seed = 2, .low = 0, .high = 1000000, .shift = 0}) !=
        longer);
  // Pinned: a change of the generator would make records of older runs incomparable.
  CHECK(longer[0] == 566562);
  CHECK(longer[99] == 308684);
}

TEST_CASE("a shift gives fractions") {
  const auto values = filled<float>(HONE_F32, 100, {.seed = 3, .low = -64, .high = 64, .shift = 6});
  for (const float value : values) {
    CHECK(std::fabs(value) <= 1);
    CHECK(value * 64 == std::nearbyint(value * 64));
  }
}

TEST_CASE("f16 of integers rounds to nearest even") {
  const auto one = [](int32_t n) {
    return element(filled<uint16_t>(HONE_F16, 1, {.seed = 1, .low = n, .high = n, .shift = 0})[0],
                   HONE_F16);
  };
  CHECK(one(2048) == 2048);
  CHECK(one(2049) == 2048);
  CHECK(one(2051) == 2052);
  CHECK(one(-2050) == -2050);
  CHECK(one(65519) == 65504);
  CHECK(std::isinf(one(65520)));
  const auto tiny = filled<uint16_t>(HONE_F16, 1, {.seed = 1, .low = 3, .high = 3, .shift = 20});
  CHECK(element(tiny[0], HONE_F16) == 3 * 0x1p-20);
}

TEST_CASE("every f16 value is read as what it is") {
  CHECK(element(0x0001, HONE_F16) == 0x1p-24);
  CHECK(element(0x8001, HONE_F16) == -0x1p-24);
  CHECK(element(0x3c00, HONE_F16) == 1);
  CHECK(element(0xc000, HONE_F16) == -2);
  CHECK(element(0x7bff, HONE_F16) == 65504);
  CHECK(std::isinf(element(0x7c00, HONE_F16)));
  CHECK(std::isnan(element(0x7e00, HONE_F16)));
  CHECK(std::signbit(element(0x8000, HONE_F16)));
}

TEST_CASE("the hash sees every element, its place and the length") {
  Rng rng(5);
  std::vector<float> values(1003);
  for (float& value : values) value = static_cast<float>(rng.between(-100, 100));
  const uint64_t hash = hash_of(values, HONE_F32);
  for (size_t i = 0; i < values.size(); ++i) {
    std::vector<float> changed = values;
    changed[i] += 1;
    CHECK(hash_of(changed, HONE_F32) != hash);
  }
  std::vector<float> swapped = values;
  swapped[8] = 1;
  swapped[12] = 2;
  const uint64_t one_way = hash_of(swapped, HONE_F32);
  std::swap(swapped[8], swapped[12]);
  CHECK(hash_of(swapped, HONE_F32) != one_way);
  std::vector<float> shorter(values.begin(), values.end() - 1);
  CHECK(hash_of(shorter, HONE_F32) != hash);
}

TEST_CASE("the hash: two wrong signs do not cancel, and -0 is 0") {
  std::vector<double> values(64, 1.0);
  const uint64_t hash = hash_of(values, HONE_F64);
  values[4] = values[8] = -1.0;
  CHECK(hash_of(values, HONE_F64) != hash);
  CHECK(hash_of(std::vector<float>{0.0f, -0.0f, 5}, HONE_F32) ==
        hash_of(std::vector<float>{-0.0f, 0.0f, 5}, HONE_F32));
  CHECK(hash_of(std::vector<double>{-0.0}, HONE_F64) ==
        hash_of(std::vector<double>{0.0}, HONE_F64));
  CHECK(hash_of(std::vector<uint16_t>{0x8000}, HONE_F16) ==
        hash_of(std::vector<uint16_t>{0}, HONE_F16));
  // The same bits are another number in an integer.
  CHECK(hash_of(std::vector<int32_t>{INT32_MIN}, HONE_I32) !=
        hash_of(std::vector<int32_t>{0}, HONE_I32));
}

TEST_CASE("parts cover all elements, each once") {
  for (const uint64_t elements : {1u, 2u, 63u, 64u, 65u, 1000u, 1024u, 1025u, 100003u}) {
    for (const uint32_t most : {64u, 1024u}) {
      const uint32_t parts = hone_parts(elements, most);
      CHECK(hone_part_start(elements, parts, 0) == 0);
      CHECK(hone_part_start(elements, parts, parts) == elements);
      for (uint32_t k = 0; k < parts; ++k)
        CHECK(hone_part_start(elements, parts, k) < hone_part_start(elements, parts, k + 1));
    }
  }
}

TEST_CASE("a tolerant check of a float output") {
  std::vector<float> values(5000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = i % 2 ? -1.5f : 1.5f;
  const OutputCheck check = check_output(
      {reinterpret_cast<const uint8_t*>(values.data()), values.size() * 4}, HONE_F32, true, 3);
  CHECK(check.tolerant);
  CHECK(check.buffer == 3);
  REQUIRE(check.samples.size() == 1024);
  REQUIRE(check.blocks.size() == 64);
  double magnitude = 0;
  for (const hone_block_sum& block : check.blocks) magnitude += block.magnitude;
  CHECK(magnitude == 7500);
  for (int64_t k = 0; k < 1024; ++k)
    CHECK(check.samples[static_cast<size_t>(k)] ==
          values[static_cast<size_t>(sample_position(5000, 1024, k))]);
  // Integers are exact, whatever was asked for.
  CHECK_FALSE(
      check_output({reinterpret_cast<const uint8_t*>(values.data()), 20000}, HONE_I32, true, 0)
          .tolerant);
}

TEST_CASE("poison shows in floats and changes with the place in integers") {
  float floats[5];
  hone_poison(floats, HONE_F32, sizeof floats);
  for (const float value : floats) CHECK(std::isnan(value));
  uint8_t bytes[1003];
  hone_poison(bytes, HONE_U8, sizeof bytes);
  std::map<int, int> seen;
  for (const uint8_t byte : bytes) ++seen[byte];
  CHECK(seen.size() > 200);
}

TEST_CASE("guard bytes are looked at to the last one") {
  alignas(8) uint8_t bytes[100];
  for (size_t begin = 0; begin < 9; ++begin) {
    for (size_t at = begin; at < 100; ++at) {
      std::memset(bytes, HONE_GUARD_BYTE, sizeof bytes);
      CHECK(hone_all_bytes(bytes + begin, HONE_GUARD_BYTE, 100 - begin));
      bytes[at] = 0;
      CHECK_FALSE(hone_all_bytes(bytes + begin, HONE_GUARD_BYTE, 100 - begin));
    }
  }
}
