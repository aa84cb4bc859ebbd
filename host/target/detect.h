// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "target/target.h"

namespace hone {

// The running machine: the facts of the best x86-64 level that it has, with its own caches and number of
// cores, under the name "native". Error: another architecture than x86-64.
Result<Target> detect_native(const std::string& folder);

}  // namespace hone
