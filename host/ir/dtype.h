// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hone {

// Element types, in the order of the agent protocol's codes.
enum class DType : uint8_t { b1, i8, u8, i16, i32, i64, f16, bf16, f32, f64 };

struct DTypeFacts {
  std::string_view name;
  int bytes;
  bool is_float;
  bool is_signed;
};

const DTypeFacts& facts(DType dtype);
inline bool is_float(DType dtype) { return facts(dtype).is_float; }
inline bool is_integer(DType dtype) { return !facts(dtype).is_float && dtype != DType::b1; }
inline int64_t bytes_of(DType dtype) { return facts(dtype).bytes; }
inline std::string_view to_string(DType dtype) { return facts(dtype).name; }
std::optional<DType> parse_dtype(std::string_view name);

// Smallest and largest value of an integer type (b1: 0 and 1). Floats: not asked for.
int64_t lowest(DType dtype);
int64_t highest(DType dtype);

// Rounds a value to the nearest one of a float type (ties to even; f16 and bf16 through their bits).
double round_to(DType dtype, double value);

// Wraps an integer to the width of an integer type (two's complement).
int64_t wrap_to(DType dtype, int64_t value);

uint16_t to_f16_bits(double value);
double from_f16_bits(uint16_t bits);
uint16_t to_bf16_bits(double value);
double from_bf16_bits(uint16_t bits);

}  // namespace hone
