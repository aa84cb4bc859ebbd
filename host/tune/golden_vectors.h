// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "emit/golden.h"
#include "frontend/tasks.h"
#include "store/database.h"
#include "tune/tune.h"

namespace hone {

// What an emitted self-test fills its inputs with and expects: the reference answer, as in tuning.
Result<GoldenVectors> golden_vectors(const Task& task, const Places& places, Database& database);

}  // namespace hone
