// SPDX-License-Identifier: Apache-2.0
//
// What a scheduled Program must keep to be worth lowering: cheap estimates that refuse hopeless
// candidates early. Lowering and the finished code are held against the exact limits.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "ir/program.h"
#include "target/target.h"

namespace hone {

struct Constraint {
  std::string_view name;
  std::string_view doc;
  Result<void> (*check)(const Program& program, const Target& target);
};

std::span<const Constraint> constraint_table();
// The first constraint that is broken, with its name.
Result<void> check_constraints(const Program& program, const Target& target);

}  // namespace hone
