// SPDX-License-Identifier: Apache-2.0
#include "emit/checks.h"

#include <doctest/doctest.h>

#include "sample_library.h"

using namespace hone;

namespace {
std::string complaint(const EmitBudgets& budgets, int64_t flash_bytes) {
  const auto done = check_budgets(sample_library(), flash_bytes, budgets);
  return done ? "" : done.error().message;
}
}  // namespace

TEST_CASE("budgets that are just kept") {
  CHECK(complaint({}, 1 << 30) == "");
  CHECK(complaint({.flash = 650, .ram = 128 + 2 * 64 + 48, .stack = 48}, 650) == "");
}

TEST_CASE("a budget that is passed names task and amount") {
  CHECK(complaint({.stack = 47}, 0) ==
        "task 'scale' needs 48 bytes of stack, 1 more than the budget of 47");
  CHECK(complaint({.ram = 300}, 0) ==
        "task 'scale' needs 304 bytes of RAM (256 of workspace for 2 thread(s) and 48 of stack), "
        "4 more than the budget of 300");
  CHECK(complaint({.flash = 600}, 650) ==
        "the library needs 650 bytes of flash, 50 more than the budget of 600; of them "
        "'norm */ 2' 500, 'scale' 120");
}
