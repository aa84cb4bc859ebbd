// SPDX-License-Identifier: Apache-2.0
//
// Quasi-affine forms over loop variables: base + Σ scale · ((source / div) mod m), where a source is a
// loop or, when digits do not line up, another form. A binding of a block's axis and the left side of a
// predicate are such forms; splitting a loop puts a sum in its place, fusing puts quotients and
// remainders in its place, and the two invert each other exactly because the forms are kept canonical:
//   - terms are sorted, equal sources merged, zero scales dropped;
//   - (i/d mod m) has no mod when the quotient stays below m, no term at all when it stays at 0;
//   - a quotient or remainder of a sum is split into digits wherever scales and ranges allow it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"

namespace hone {

using LoopId = Id<struct LoopTag>;

struct Affine;

struct AffineTerm {
  LoopId loop;                          // the source, or invalid when `inner` is the source
  std::shared_ptr<const Affine> inner;  // not a plain loop; null when `loop` is the source
  int64_t div = 1;                      // ≥ 1
  int64_t mod = 0;                      // ≥ 2, or 0: no remainder is taken
  int64_t scale = 1;                    // not 0
};

struct Affine {
  std::vector<AffineTerm> terms;
  int64_t base = 0;

  bool is_constant() const { return terms.empty(); }
  // The loop if the form is exactly one loop variable, else an invalid id.
  LoopId as_loop() const;
};

// Extents of loops by id; loop variables run over [0, extent).
using LoopExtents = std::function<int64_t(LoopId)>;

struct Interval {  // both ends included
  int64_t low = 0;
  int64_t high = 0;
};

Affine affine_constant(int64_t value);
Affine affine_loop(LoopId loop);
Affine add(const Affine& left, const Affine& right);
Affine scale(const Affine& form, int64_t factor);
Affine quotient(const Affine& form, int64_t divisor, const LoopExtents& extents);   // floor
Affine remainder(const Affine& form, int64_t divisor, const LoopExtents& extents);  // in [0, divisor)
// Puts `replacement` in the place of a loop variable, and keeps the form canonical.
Affine substitute(const Affine& form, LoopId loop, const Affine& replacement,
                  const LoopExtents& extents);

Interval range_of(const Affine& form, const LoopExtents& extents);
bool uses(const Affine& form, LoopId loop);
void collect_loops(const Affine& form, std::vector<LoopId>& loops);  // each once, in term order
bool equal(const Affine& left, const Affine& right);
uint64_t hash_of(const Affine& form);
int64_t evaluate(const Affine& form, const std::function<int64_t(LoopId)>& value);
// "i0*14+j/3%4+2" with loop names from `name`.
std::string print(const Affine& form, const std::function<std::string(LoopId)>& name);

}  // namespace hone
