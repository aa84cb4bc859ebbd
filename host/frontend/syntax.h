// SPDX-License-Identifier: Apache-2.0
//
// What was written, before anything is known about it: the parser and the C++ builder both make
// this tree, and one checker turns it into a Graph. So both ways have the same rules and the same
// messages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/language.h"

namespace hone {

struct Place {
  int line = 0;  // 0: unknown (expressions of the builder); the statement's place stands in
  int column = 0;
};

enum class SyntaxKind : uint8_t {
  integer,      // `integer`
  decimal,      // `decimal`
  boolean,      // `integer` is 0 or 1
  name,         // `text`: an axis, or a result of the fold around
  index,        // `text`[args…]
  call,         // `text`(args…): a function or a cast
  negate,       // -args[0]
  negation,     // !args[0]
  infix,        // args[0] `text` args[1]
  compare,      // args[0] signs[0] args[1] signs[1] args[2] …
  conditional,  // if args[0] then args[1] else args[2]
};

struct SyntaxNode;
using Syntax = std::shared_ptr<const SyntaxNode>;

// Deeper trees are refused, so that recursion over them is safe.
inline constexpr int kMaxDepth = 200;

struct SyntaxNode {
  SyntaxKind kind = SyntaxKind::integer;
  Place place{};
  std::string text{};
  int64_t integer = 0;
  double decimal = 0;
  std::vector<Syntax> args{};
  std::vector<std::string> signs{};
  int depth = 1;
};

inline Syntax make_syntax(SyntaxNode node) {
  for (const Syntax& arg : node.args) node.depth = std::max(node.depth, arg->depth + 1);
  return std::make_shared<const SyntaxNode>(std::move(node));
}

struct SyntaxAxis {
  std::string name;
  Place place;
  std::optional<int64_t> extent;  // empty: to be found from how the axis indexes tensors
  Place extent_place;
};

struct SyntaxName {
  std::string text;
  Place place;
};

enum class StatementKind : uint8_t { input, param, compute };

struct Statement {
  StatementKind kind = StatementKind::compute;
  std::string file;
  Place place;
  std::vector<SyntaxName> names;  // one, or the results of a tuple
  // input, param
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::vector<Place> shape_places;
  // compute
  bool output = false;
  bool tuple = false;  // written as (a, b)[…] = …
  std::vector<SyntaxAxis> axes;
  Reducer reducer = Reducer::none;
  Place reducer_place;
  std::vector<SyntaxAxis> reduce_axes;
  std::vector<Syntax> init;    // fold only
  std::vector<Syntax> values;  // one a name
};

}  // namespace hone
