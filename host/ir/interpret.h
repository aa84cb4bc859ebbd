// SPDX-License-Identifier: Apache-2.0
//
// Runs a Program, scheduled or not, exactly by the semantics at the top of expr.h and program.h:
// the judge of every test. It is stricter than a machine: an index outside its buffer, and an
// element of a temp or an output that is read before it was written, are errors that name block,
// buffer and index.
//
// Expressions become code for a stack machine once. A tree walk (Kernel tests have one) is a tenth
// as fast; machine code would have to be judged itself.
#pragma once

#include <cstdint>
#include <map>

#include "base/result.h"
#include "ir/program.h"
#include "ir/tensor.h"

namespace hone {

using Tensors = std::map<BufferId, Tensor>;

struct InterpretOptions {
  // Parallel and vectorized loops run from their last iteration to the first: a legal schedule
  // computes the same. Of a vectorized loop that adds up terms the first, which has the init, stays
  // first.
  bool backwards = false;
};

// `tensors` holds the inputs and params; the outputs are put into it.
Result<void> interpret(const Program& program, Tensors& tensors);
Result<void> interpret(const Program& program, Tensors& tensors, const InterpretOptions& options);

// Small integers for every input and param, such that sums are exact in any order; a buffer that is
// used as an index holds indices.
Tensors random_inputs(const Program& program, Rng& rng);

// Whether both compute the same outputs (by name) from random inputs (by name): exactly, or within
// a few roundings where division, roots, exp and the like, or 16-bit floats come in. `after` also
// runs backwards.
Result<void> check_equivalent(const Program& before, const Program& after, uint64_t seed);

}  // namespace hone
