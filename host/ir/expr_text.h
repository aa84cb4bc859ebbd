// SPDX-License-Identifier: Apache-2.0
//
// Expressions as text, for Programs and for Kernels: infix signs with the usual precedence,
// functions by the names of OpFacts, casts as `f32(x)`, `saturate_i8(x)`, `bitcast_i32(x)`.
//
// Types are not written where they follow. A constant takes its type from the operands it meets,
// else from what the place wants (the buffer that is stored to, i64 for an index), and carries it
// as a suffix
// (`1:i32`) where neither says it. Floats always show a point, an exponent, inf or nan; `true` and
// `false` are the constants of b1. Vector nodes: `A[i : 8]` loads 8 elements, `A[i : 8, mask]`
// those that the mask picks, `broadcast(x, 8)`, `ramp(base, stride, 8)`, `extract(v, 3)`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "ir/expr.h"

namespace hone {

struct ExprNames {  // those that cannot occur may stay empty
  std::function<std::string(int32_t)> axis;
  std::function<std::string(int32_t)> var;
  std::function<std::string(int32_t)> reg;
  std::function<std::string(BufferId)> buffer;
};

// `wanted`: the type that the place wants; nullopt: every constant that needs its type shows it.
std::string print(const Expr& expr, const ExprNames& names, std::optional<DType> wanted);
std::string print(const Expr& expr, const ExprNames& names);

struct BufferSymbol {
  BufferId id;
  DType dtype = DType::f32;
  std::optional<size_t> rank;  // nullopt: any number of indices
};

struct ExprSymbols {
  std::function<Expr(std::string_view)> value;  // axis, variable or register; null: no such name
  std::function<std::optional<BufferSymbol>(std::string_view)> buffer;
  std::function<std::vector<std::string>()> all_names;  // for suggestions
};

// Parses the longest expression at the cursor. The result may have another type than `wanted`: the
// caller says what that means.
Result<Expr> parse_expr(TextCursor& cursor, const ExprSymbols& symbols,
                        std::optional<DType> wanted);

// "[index, index, …]" at the cursor: integers, as many as the buffer has dimensions.
Result<std::vector<Expr>> parse_indices(TextCursor& cursor, const ExprSymbols& symbols,
                                        std::string_view buffer_name, const BufferSymbol& buffer);

// "unknown loop 'jo', did you mean 'j0'?" at `where`.
std::unexpected<Error> unknown_name(const TextCursor& cursor, TextPosition where,
                                    std::string_view what, std::string_view name,
                                    const std::vector<std::string>& candidates);

// Whether buffers, loops, blocks and axes may have that name: a word that no text form reserves.
bool is_name(std::string_view name);

}  // namespace hone
