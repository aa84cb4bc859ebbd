// SPDX-License-Identifier: Apache-2.0
//
// What a library is held against before anything is written.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "codegen/archive.h"
#include "emit/emit.h"
#include "emit/library.h"

namespace hone {

// Error: which task passes which limit by how much. A library has one flash, and its tasks run one
// after the other in the same RAM.
Result<void> check_budgets(const Library& library, int64_t flash_bytes, const EmitBudgets& budgets);

// Error: a global symbol without the prefix, or one that the library needs and does not hold.
Result<void> check_symbols(const std::vector<ArchiveMember>& members, const std::string& prefix);

}  // namespace hone
