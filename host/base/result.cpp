// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <cstdio>
#include <cstdlib>

namespace hone {

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  fmt::print(stderr, "{}:{}: ENSURE({}) failed{}{}\n", file, line, condition,
             message.empty() ? "" : ": ", message);
  std::fflush(stderr);
  std::abort();
}

}  // namespace hone
