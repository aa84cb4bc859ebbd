// SPDX-License-Identifier: Apache-2.0
//
// A checked computation: tensors in the order in which they were written, and for each one that is
// computed the stage that says how. Its text form is the text language itself, with every extent
// written out; printing what was parsed from a print gives the same text.
//
// Expressions are those of ir/expr.h: an axis node counts the stage's axes, reduce axes after the
// others; a load's buffer is the tensor's number. A Program made from a Graph keeps both numbers.
//
// A stage of two or more results reduces a tuple. Reducers other than fold are commutative and
// associative up to rounding. fold takes any update of results so far; its author promises that the
// order of the instances does not matter, since schedules change it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "frontend/language.h"
#include "frontend/lexer.h"
#include "frontend/syntax.h"
#include "ir/expr.h"

namespace hone {

enum class TensorRole : uint8_t { input, param, computed };

struct GraphTensor {
  std::string name{};
  DType dtype = DType::f32;
  std::vector<int64_t> shape{};
  TensorRole role = TensorRole::computed;
  bool output = false;
  int stage = -1;  // of a computed tensor: index into Graph::stages
};

struct StageAxis {
  std::string name;
  int64_t extent = 1;
};

struct Stage {
  std::vector<BufferId> results;
  std::vector<StageAxis> axes;         // of the results' elements
  std::vector<StageAxis> reduce_axes;  // empty unless `reducer` is one
  Reducer reducer = Reducer::none;
  std::vector<Expr> init;    // fold: what each result starts from
  std::vector<Expr> values;  // one a result: its value, the term to reduce, or fold's new value,
                             // where a load of an own result is its value so far

  int64_t extent_of(int32_t axis) const;  // by number, reduce axes after the others
};

struct Graph {
  Table<BufferId, GraphTensor> tensors;
  std::vector<Stage> stages;  // each reads only what stands before it
};

std::string print(const Graph& graph);
// One expression of a stage, as it stands in that text.
std::string print(const Graph& graph, const Stage& stage, const Expr& expr);

// Of the canonical text. Names of tensors and axes count, because traces name blocks after tensors;
// the name of the workload does not.
uint64_t hash_of(const Graph& graph);

Result<Graph> parse_graph(const SourceText& source);

// The checker behind the parser and the builder (check.cpp).
Result<Graph> check(const std::vector<Statement>& statements, const std::string& file);

}  // namespace hone
