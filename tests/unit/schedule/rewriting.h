// SPDX-License-Identifier: Apache-2.0
//
// Cases of primitives as text (tests/cases/schedule). Sections: `before`, a Program; `do`, one
// primitive a line with names instead of ids; then `after`, the whole text of the result, which
// must be well formed and compute the same, or `error`, the message of the last line, which must
// leave the Program as it was.
#pragma once

#include <string>

#include "ir/program.h"
#include "ir/text.h"

namespace hone {

Program program_of(const std::string& text);

// "compute_at A y_0", "cache_read B X stack", "split y 0 4 tail=peel", …
Result<void> apply_line(Program& program, const std::string& line);

// Runs all cases of a file; `least` guards against a file that is not read.
void run_cases(const std::string& file, size_t least);

}  // namespace hone
