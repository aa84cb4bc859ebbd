// SPDX-License-Identifier: Apache-2.0
#include "target/target.h"

#include <algorithm>
#include <array>

namespace hone {

namespace {
constexpr std::array<std::string_view, 5> kIsaNames = {"x86_64", "aarch64", "armv7a", "armv7em",
                                                       "riscv64"};
}  // namespace

std::string_view to_string(Isa isa) { return kIsaNames[static_cast<size_t>(isa)]; }

int Target::lanes(DType dtype) const {
  if (std::find(vector_dtypes.begin(), vector_dtypes.end(), dtype) == vector_dtypes.end()) return 1;
  return std::max(1, vector_bits / static_cast<int>(8 * bytes_of(dtype)));
}

}  // namespace hone
