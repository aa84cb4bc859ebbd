// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "rewriting.h"

namespace hone {
namespace {

TEST_CASE("reduction: before and after, and every refusal") { run_cases("reduction.case", 15); }

}  // namespace
}  // namespace hone
