// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "search/strategy.h"

namespace hone {

// Draws a skeleton, all of them alike, then its open decisions by their own distributions.
std::unique_ptr<Strategy> make_random(const SearchProblem& problem);

}  // namespace hone
