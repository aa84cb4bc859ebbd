// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "rewriting.h"

namespace hone {
namespace {

TEST_CASE("cache: before and after, and every refusal") { run_cases("cache.case", 20); }
TEST_CASE("layout: before and after, and every refusal") { run_cases("layout.case", 8); }

}  // namespace
}  // namespace hone
