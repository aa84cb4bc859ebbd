// SPDX-License-Identifier: Apache-2.0
//
// One operation carries everything: digit(Y, d, m) = floor(Y / d) mod m of a form Y (m = 0: no mod).
// Substitution replaces the source of a term by a form, and what comes out is again such a digit.
//
// digit works by three identities, all exact for integers:
//   floor((d·A + B) / d) = A + floor(B / d)          the part of Y whose scales d divides comes out
//   floor((g·B + r) / d) = floor((B + floor(r/g)) / (d/g))   when g divides d
//   (g·Z + r) mod m      = g·(Z mod (m/g)) + r       when g divides m and 0 ≤ r < g
// What they cannot reduce to digits of loops stays a term whose source is a form of its own. The reverse
// direction, (i/14)·14 + i mod 14 = i, is done when terms are merged.
#include "ir/affine.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/hash.h"

namespace hone {
namespace {

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}
int64_t floor_mod(int64_t a, int64_t b) { return a - floor_div(a, b) * b; }

bool same_source(const AffineTerm& a, const AffineTerm& b) {
  if (a.loop != b.loop) return false;
  if (a.inner == b.inner) return true;
  return a.inner && b.inner && equal(*a.inner, *b.inner);
}

uint64_t source_key(const AffineTerm& term) {
  return term.inner ? hash_of(*term.inner) | (uint64_t{1} << 63)
                    : static_cast<uint64_t>(term.loop.value);
}

bool term_before(const AffineTerm& a, const AffineTerm& b) {
  const uint64_t key_a = source_key(a);
  const uint64_t key_b = source_key(b);
  if (key_a != key_b) return key_a < key_b;
  if (a.div != b.div) return a.div > b.div;
  return a.mod < b.mod;
}

// Joins b into a if their sum is one term: equal digits, or neighbouring digits of one source.
bool join(AffineTerm& a, const AffineTerm& b) {
  if (!same_source(a, b)) return false;
  if (a.div == b.div && a.mod == b.mod) {
    a.scale += b.scale;
    return true;
  }
  const auto neighbours = [](const AffineTerm& high, const AffineTerm& low) {
    return low.mod != 0 && high.div == low.div * low.mod && high.scale == low.scale * low.mod;
  };
  if (neighbours(a, b)) {
    a = AffineTerm{a.loop, a.inner, b.div, a.mod == 0 ? 0 : a.mod * b.mod, b.scale};
    return true;
  }
  if (neighbours(b, a)) {
    a = AffineTerm{a.loop, a.inner, a.div, b.mod == 0 ? 0 : a.mod * b.mod, a.scale};
    return true;
  }
  return false;
}

// A term that is a whole form again gives way to that form.
void unwrap(Affine& form, size_t index) {
  const AffineTerm term = form.terms[index];
  if (!term.inner || term.div != 1 || term.mod != 0) return;
  form.terms.erase(form.terms.begin() + static_cast<std::ptrdiff_t>(index));
  const Affine whole = scale(*term.inner, term.scale);
  form.terms.insert(form.terms.end(), whole.terms.begin(), whole.terms.end());
  form.base += whole.base;
}

void canonicalize(Affine& form) {
  std::vector<AffineTerm>& terms = form.terms;
  for (size_t i = 0; i < terms.size(); ++i) {
    for (size_t j = 0; j < terms.size(); ++j) {
      if (i == j || !join(terms[i], terms[j])) continue;
      terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(j));
      unwrap(form, i - (j < i ? 1 : 0));
      i = static_cast<size_t>(-1);  // a join may enable others: start again
      break;
    }
  }
  std::erase_if(terms, [](const AffineTerm& term) { return term.scale == 0; });
  std::sort(terms.begin(), terms.end(), term_before);
}

Interval source_range(const AffineTerm& term, const LoopExtents& extents) {
  return term.inner ? range_of(*term.inner, extents) : Interval{0, extents(term.loop) - 1};
}

Interval digit_range(Interval source, int64_t div, int64_t mod) {
  const Interval q{floor_div(source.low, div), floor_div(source.high, div)};
  if (mod == 0) return q;
  if (floor_div(q.low, mod) == floor_div(q.high, mod))
    return {floor_mod(q.low, mod), floor_mod(q.high, mod)};
  return {0, mod - 1};
}

// A single term as a form; its mod and the term itself go where ranges make them needless. A digit of a
// form that is itself just one plain loop is a digit of that loop.
Affine from_term(AffineTerm term, const LoopExtents& extents) {
  if (term.inner && term.inner->as_loop().valid()) {
    term.loop = term.inner->as_loop();
    term.inner = nullptr;
  }
  const Interval source = source_range(term, extents);
  const Interval plain = digit_range(source, term.div, 0);
  if (term.mod != 0 && plain.low >= 0 && plain.high < term.mod) term.mod = 0;
  const Interval range = digit_range(source, term.div, term.mod);
  if (range.low == range.high) return affine_constant(range.low * term.scale);
  if (term.inner && term.div == 1 && term.mod == 0) return scale(*term.inner, term.scale);
  return Affine{{term}, 0};
}

// floor(term / div) mod `mod` of a term with scale 1.
Affine digit_of_term(const AffineTerm& term, int64_t div, int64_t mod, const LoopExtents& extents) {
  AffineTerm result = term;
  if (div > 1) {
    if (term.mod != 0 && term.mod % div != 0)
      return from_term({{}, std::make_shared<Affine>(Affine{{term}, 0}), div, mod, 1}, extents);
    result.div = term.div * div;
    result.mod = term.mod / div;
    if (result.mod == 1) return affine_constant(0);
  }
  if (mod != 0) {
    if (result.mod != 0 && result.mod % mod != 0) {
      if (result.mod < mod) return from_term(result, extents);
      return from_term({{}, std::make_shared<Affine>(Affine{{result}, 0}), 1, mod, 1}, extents);
    }
    result.mod = mod;
  }
  return from_term(result, extents);
}

int64_t gcd_of_scales(const Affine& form, int64_t start) {
  int64_t result = start;
  for (const AffineTerm& term : form.terms) result = std::gcd(result, term.scale);
  return result;
}

// floor(form / g) for a g that divides every scale.
Affine divide_scales(Affine form, int64_t g) {
  for (AffineTerm& term : form.terms) term.scale /= g;
  form.base = floor_div(form.base, g);
  return form;
}

bool is_plain_term(const Affine& form) {
  return form.terms.size() == 1 && form.terms[0].scale == 1 && form.base == 0;
}

Affine floor_quotient(const Affine& form, int64_t divisor, const LoopExtents& extents) {
  Affine whole{{}, floor_div(form.base, divisor)};
  Affine rest{{}, floor_mod(form.base, divisor)};
  for (const AffineTerm& term : form.terms) {
    if (term.scale % divisor == 0) {
      whole.terms.push_back(term);
      whole.terms.back().scale /= divisor;
    } else {
      rest.terms.push_back(term);
    }
  }
  const Interval range = range_of(rest, extents);
  const int64_t low = floor_div(range.low, divisor);
  if (low == floor_div(range.high, divisor)) {
    whole.base += low;
    canonicalize(whole);
    return whole;
  }
  const int64_t g = gcd_of_scales(rest, divisor);
  rest = divide_scales(std::move(rest), g);
  const int64_t left = divisor / g;
  if (left == 1) return add(whole, rest);
  if (is_plain_term(rest)) return add(whole, digit_of_term(rest.terms[0], left, 0, extents));
  return add(whole, from_term({{}, std::make_shared<Affine>(rest), left, 0, 1}, extents));
}

Affine modulo(Affine form, int64_t mod, const LoopExtents& extents) {
  std::erase_if(form.terms, [&](const AffineTerm& term) { return term.scale % mod == 0; });
  form.base = floor_mod(form.base, mod);
  const Interval range = range_of(form, extents);
  if (floor_div(range.low, mod) == floor_div(range.high, mod)) {
    form.base -= floor_div(range.low, mod) * mod;
    return form;
  }
  const int64_t g = gcd_of_scales(form, mod);
  const int64_t kept = floor_mod(form.base, g);
  form = divide_scales(std::move(form), g);
  Affine digit = is_plain_term(form)
                     ? digit_of_term(form.terms[0], 1, mod / g, extents)
                     : from_term({{}, std::make_shared<Affine>(form), 1, mod / g, 1}, extents);
  return add(scale(digit, g), affine_constant(kept));
}

// floor(form / div) mod `mod`. Multiples of div·mod go first: they vanish, and may be all that
// stands in the way of an exact quotient.
Affine digit(Affine form, int64_t div, int64_t mod, const LoopExtents& extents) {
  if (mod != 0) {
    std::erase_if(form.terms, [&](const AffineTerm& t) { return t.scale % (div * mod) == 0; });
    form.base = floor_mod(form.base, div * mod);
  }
  Affine result = div == 1 ? std::move(form) : floor_quotient(form, div, extents);
  return mod == 0 ? result : modulo(std::move(result), mod, extents);
}

}  // namespace

LoopId Affine::as_loop() const {
  const bool plain = terms.size() == 1 && base == 0 && terms[0].scale == 1 && terms[0].div == 1 &&
                     terms[0].mod == 0 && !terms[0].inner;
  return plain ? terms[0].loop : LoopId{};
}

Affine affine_constant(int64_t value) { return Affine{{}, value}; }

Affine affine_loop(LoopId loop) { return Affine{{AffineTerm{loop, nullptr, 1, 0, 1}}, 0}; }

Affine add(const Affine& left, const Affine& right) {
  Affine sum = left;
  sum.terms.insert(sum.terms.end(), right.terms.begin(), right.terms.end());
  sum.base += right.base;
  canonicalize(sum);
  return sum;
}

Affine scale(const Affine& form, int64_t factor) {
  if (factor == 0) return affine_constant(0);
  Affine result = form;
  for (AffineTerm& term : result.terms) term.scale *= factor;
  result.base *= factor;
  return result;
}

Affine quotient(const Affine& form, int64_t divisor, const LoopExtents& extents) {
  ENSURE(divisor > 0);
  return digit(form, divisor, 0, extents);
}

Affine remainder(const Affine& form, int64_t divisor, const LoopExtents& extents) {
  ENSURE(divisor > 0);
  if (divisor == 1) return affine_constant(0);
  return digit(form, 1, divisor, extents);
}

Affine substitute(const Affine& form, LoopId loop, const Affine& replacement,
                  const LoopExtents& extents) {
  if (!uses(form, loop)) return form;
  Affine result = affine_constant(form.base);
  for (const AffineTerm& term : form.terms) {
    Affine part{{term}, 0};
    if (term.inner && uses(*term.inner, loop)) {
      const Affine source = substitute(*term.inner, loop, replacement, extents);
      part = scale(digit(source, term.div, term.mod, extents), term.scale);
    } else if (term.loop == loop) {
      part = scale(digit(replacement, term.div, term.mod, extents), term.scale);
    }
    result = add(result, part);
  }
  return result;
}

Interval range_of(const Affine& form, const LoopExtents& extents) {
  Interval total{form.base, form.base};
  for (const AffineTerm& term : form.terms) {
    const Interval range = digit_range(source_range(term, extents), term.div, term.mod);
    total.low += term.scale * (term.scale > 0 ? range.low : range.high);
    total.high += term.scale * (term.scale > 0 ? range.high : range.low);
  }
  return total;
}

bool uses(const Affine& form, LoopId loop) {
  return std::any_of(form.terms.begin(), form.terms.end(), [&](const AffineTerm& term) {
    return term.inner ? uses(*term.inner, loop) : term.loop == loop;
  });
}

void collect_loops(const Affine& form, std::vector<LoopId>& loops) {
  for (const AffineTerm& term : form.terms) {
    if (term.inner) {
      collect_loops(*term.inner, loops);
    } else if (std::find(loops.begin(), loops.end(), term.loop) == loops.end()) {
      loops.push_back(term.loop);
    }
  }
}

bool equal(const Affine& left, const Affine& right) {
  if (left.base != right.base || left.terms.size() != right.terms.size()) return false;
  for (size_t i = 0; i < left.terms.size(); ++i) {
    const AffineTerm& a = left.terms[i];
    const AffineTerm& b = right.terms[i];
    if (a.div != b.div || a.mod != b.mod || a.scale != b.scale || !same_source(a, b)) return false;
  }
  return true;
}

uint64_t hash_of(const Affine& form) {
  uint64_t hash = hash_combine(0, static_cast<uint64_t>(form.base));
  for (const AffineTerm& term : form.terms) {
    hash = hash_combine(hash, source_key(term));
    for (const int64_t value : {term.div, term.mod, term.scale})
      hash = hash_combine(hash, static_cast<uint64_t>(value));
  }
  return hash;
}

int64_t evaluate(const Affine& form, const std::function<int64_t(LoopId)>& value) {
  int64_t total = form.base;
  for (const AffineTerm& term : form.terms) {
    int64_t source = term.inner ? evaluate(*term.inner, value) : value(term.loop);
    source = floor_div(source, term.div);
    if (term.mod != 0) source = floor_mod(source, term.mod);
    total += term.scale * source;
  }
  return total;
}

std::string print(const Affine& form, const std::function<std::string(LoopId)>& name) {
  std::string text;
  for (const AffineTerm& term : form.terms) {
    std::string part = term.inner ? fmt::format("({})", print(*term.inner, name)) : name(term.loop);
    if (term.div != 1) part += fmt::format("/{}", term.div);
    if (term.mod != 0) part += fmt::format("%{}", term.mod);
    const int64_t size = std::abs(term.scale);
    if (size != 1) part += fmt::format("*{}", size);
    if (text.empty()) {
      text = (term.scale < 0 ? "-" : "") + part;
    } else {
      text += (term.scale < 0 ? "-" : "+") + part;
    }
  }
  if (text.empty()) return fmt::format("{}", form.base);
  if (form.base != 0) text += fmt::format("{:+}", form.base);
  return text;
}

}  // namespace hone
