// SPDX-License-Identifier: Apache-2.0
#include "ir/dtype.h"

#include <array>
#include <bit>
#include <cmath>

#include "base/result.h"

namespace hone {
namespace {

constexpr std::array<DTypeFacts, 10> kFacts = {{
    {"b1", 1, false, false},
    {"i8", 1, false, true},
    {"u8", 1, false, false},
    {"i16", 2, false, true},
    {"i32", 4, false, true},
    {"i64", 8, false, true},
    {"f16", 2, true, true},
    {"bf16", 2, true, true},
    {"f32", 4, true, true},
    {"f64", 8, true, true},
}};

// Rounds to `mantissa` explicit bits with exponents in [lowest_exponent, highest_exponent];
// below the lowest the spacing stays constant (denormals), above the highest lies infinity.
double round_binary(double value, int mantissa, int lowest_exponent, int highest_exponent) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), lowest_exponent);
  const double unit = std::ldexp(1.0, exponent - mantissa);
  const double rounded = std::nearbyint(value / unit) * unit;
  if (std::fabs(rounded) >= std::ldexp(1.0, highest_exponent + 1))
    return std::copysign(INFINITY, value);
  return rounded;
}

}  // namespace

const DTypeFacts& facts(DType dtype) { return kFacts[static_cast<size_t>(dtype)]; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (size_t i = 0; i < kFacts.size(); ++i)
    if (kFacts[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

int64_t lowest(DType dtype) {
  ENSURE(!is_float(dtype));
  if (!facts(dtype).is_signed) return 0;
  return dtype == DType::i64 ? INT64_MIN : -(int64_t{1} << (8 * bytes_of(dtype) - 1));
}

int64_t highest(DType dtype) {
  ENSURE(!is_float(dtype));
  if (dtype == DType::b1) return 1;
  if (dtype == DType::u8) return 255;
  return dtype == DType::i64 ? INT64_MAX : (int64_t{1} << (8 * bytes_of(dtype) - 1)) - 1;
}

double round_to(DType dtype, double value) {
  switch (dtype) {
    case DType::f16: return round_binary(value, 10, -14, 15);
    case DType::bf16: return round_binary(value, 7, -126, 127);
    case DType::f32: return static_cast<double>(static_cast<float>(value));
    case DType::f64: return value;
    default: ENSURE(false, "round_to({})", to_string(dtype)); return 0;
  }
}

int64_t wrap_to(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::b1: return value != 0;
    case DType::i8: return static_cast<int8_t>(value);
    case DType::u8: return static_cast<uint8_t>(value);
    case DType::i16: return static_cast<int16_t>(value);
    case DType::i32: return static_cast<int32_t>(value);
    case DType::i64: return value;
    default: ENSURE(false, "wrap_to({})", to_string(dtype)); return 0;
  }
}

uint16_t to_f16_bits(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7e00;
  const double rounded = std::fabs(round_to(DType::f16, value));
  if (std::isinf(rounded)) return static_cast<uint16_t>(sign | 0x7c00);
  if (rounded < 0x1p-14) return static_cast<uint16_t>(sign | static_cast<int>(rounded * 0x1p24));
  const int exponent = std::ilogb(rounded);
  const int mantissa = static_cast<int>((std::ldexp(rounded, -exponent) - 1) * 1024);
  return static_cast<uint16_t>(sign | ((exponent + 15) << 10) | mantissa);
}

double from_f16_bits(uint16_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * mantissa * 0x1p-24;
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

uint16_t to_bf16_bits(double value) {
  if (std::isnan(value)) return 0x7fc0;
  const float rounded = static_cast<float>(round_to(DType::bf16, value));
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(rounded) >> 16);
}

double from_bf16_bits(uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16));
}

}  // namespace hone
