// SPDX-License-Identifier: Apache-2.0
//
// Workload files, read the way that the comparison needs them: shapes only, no graph. The frontend
// reads the same files for Hone itself; a reader of its own here keeps what is compared apart from
// the thing that is measured.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "peers/case.h"

namespace hone::bench {

Result<std::vector<PeerCase>> load_cases(const std::string& path);

// `name` stands before the position in errors.
Result<std::vector<PeerCase>> parse_cases(const std::string& text, const std::string& name);

}  // namespace hone::bench
