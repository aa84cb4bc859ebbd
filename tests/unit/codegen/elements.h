// SPDX-License-Identifier: Apache-2.0
//
// Elements of buffers as bytes and as the constants that ir/ folds.
#pragma once

#include <bit>
#include <cstring>

#include "ir/expr.h"
#include "runner.h"

namespace hone::test {

inline void put(Bytes& bytes, const Expr& constant) {
  uint64_t bits = static_cast<uint64_t>(constant->int_value);
  switch (constant->dtype) {
    case DType::f16:
      bits = to_f16_bits(constant->float_value);
      break;
    case DType::bf16:
      bits = to_bf16_bits(constant->float_value);
      break;
    case DType::f32:
      bits = std::bit_cast<uint32_t>(static_cast<float>(constant->float_value));
      break;
    case DType::f64:
      bits = std::bit_cast<uint64_t>(constant->float_value);
      break;
    default:
      break;
  }
  for (int64_t i = 0; i < bytes_of(constant->dtype); ++i)
    bytes.push_back(static_cast<uint8_t>(bits >> (8 * i)));
}

inline Expr get(const Bytes& bytes, DType dtype, int64_t element) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + element * bytes_of(dtype),
              static_cast<size_t>(bytes_of(dtype)));
  switch (dtype) {
    case DType::f16:
      return float_constant(from_f16_bits(static_cast<uint16_t>(bits)), dtype);
    case DType::bf16:
      return float_constant(from_bf16_bits(static_cast<uint16_t>(bits)), dtype);
    case DType::f32:
      return float_constant(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))),
                            dtype);
    case DType::f64:
      return float_constant(std::bit_cast<double>(bits), dtype);
    default:
      return int_constant(static_cast<int64_t>(bits), dtype);
  }
}

}  // namespace hone::test
