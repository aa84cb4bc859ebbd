// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "rewriting.h"

namespace hone {
namespace {

TEST_CASE("inline: before and after, and every refusal") { run_cases("inline.case", 20); }

}  // namespace
}  // namespace hone
