// SPDX-License-Identifier: Apache-2.0
//
// One statement's expressions: from what was written to typed ir expressions. Names are resolved,
// numbers get their type, operands must agree, every read is proved in range.
//
// A number has no type of its own: it takes the type of the other operand, through any nesting
// (`2 * (1 - X[i])`). So the type of an operation is first looked for below (`type_of`), then both
// sides are converted with it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "frontend/graph.h"
#include "frontend/range.h"
#include "frontend/syntax.h"

namespace hone {

// What a name written in a statement can mean.
struct Names {
  const Graph& graph;                       // tensors defined so far
  std::map<std::string, BufferId> tensors;  // by name
  std::map<std::string, Place> later;       // tensors that are defined further down
};

class ExpressionChecker {
 public:
  // `stage` has axes, reduce axes and results; the results are tensors of the graph only in a fold.
  ExpressionChecker(const Statement& statement, const Stage& stage, const Names& names);

  // The results of the fold that may be read as "the value so far", by name; from then on allowed.
  void allow_results(std::map<std::string, BufferId> results) { results_ = std::move(results); }

  // Every tensor that is read stands above. Needs no extents.
  Result<void> check_tensors(const Syntax& syntax) const;

  Result<Expr> value(const Syntax& syntax, std::optional<DType> wanted);

  bool axis_is_used(size_t axis) const { return axis_used_[axis]; }
  const std::vector<BufferId>& tensors_read() const { return tensors_read_; }

 private:
  std::unexpected<Error> error(const Syntax& at, const std::string& message) const;
  std::optional<DType> type_of(const Syntax& syntax) const;
  std::string written(const Expr& expr) const;

  Result<Expr> converted(const Syntax& syntax, std::optional<DType> wanted);
  Result<Expr> number(const Syntax& syntax, std::optional<DType> wanted) const;
  Result<Expr> name(const Syntax& syntax);
  Result<Expr> load(const Syntax& syntax);
  Result<Expr> index(const Syntax& syntax, const GraphTensor& tensor, size_t position);
  Result<Expr> call(const Syntax& syntax, std::optional<DType> wanted);
  Result<Expr> cast(const Syntax& syntax, const CastFunction& cast);
  Result<Expr> prefix(const Syntax& syntax, std::optional<DType> wanted);
  Result<Expr> infix(const Syntax& syntax, std::optional<DType> wanted);
  Result<Expr> compare(const Syntax& syntax);
  Result<Expr> conditional(const Syntax& syntax, std::optional<DType> wanted);

  Result<void> check_operand(const Syntax& at, std::string_view what, Operands operands,
                             const Expr& operand) const;
  Result<void> check_same(const Syntax& at, std::string_view what, const Expr& left,
                          const Expr& right) const;
  Result<Expr> applied(const Syntax& at, const InfixOperator& row, Expr left, Expr right) const;
  std::optional<int32_t> axis_number(const std::string& name) const;
  std::unexpected<Error> unknown(const Syntax& syntax) const;

  const Statement& statement_;
  const Stage& stage_;
  const Names& names_;
  std::map<std::string, BufferId> results_;
  RangeScope scope_;
  std::vector<bool> axis_used_;
  std::vector<BufferId> tensors_read_;
};

}  // namespace hone
