// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "measure/outcome.h"

using namespace hone;

TEST_CASE("every failure kind has a name that parses back") {
  for (int i = 0; i <= static_cast<int>(FailureKind::throttled); ++i) {
    const FailureKind kind = static_cast<FailureKind>(i);
    CHECK_EQ(parse_failure_kind(to_string(kind)), kind);
  }
  CHECK_FALSE(parse_failure_kind("tired").has_value());
}

TEST_CASE("a summary of samples is the textbook's") {
  const Summary summary = summarize({4, 1, 3, 2, 100});
  CHECK_EQ(summary.min, 1);
  CHECK_EQ(summary.median, 3);
  CHECK_EQ(summary.q1, 2);
  CHECK_EQ(summary.q3, 4);
  CHECK_EQ(summary.mad, 1);
}
