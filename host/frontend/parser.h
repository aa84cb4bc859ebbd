// SPDX-License-Identifier: Apache-2.0
//
// The grammar of the text language (docs/text-language.md shows it with examples):
//
//   text       = { statement newline }
//   statement  = ("input" | "param") NAME ":" DTYPE "[" [ INT { "," INT } ] "]"
//              | ["output"] results "[" [ axis { "," axis } ] "]" "=" right
//   results    = NAME | "(" NAME { "," NAME } ")"
//   axis       = NAME [ ":" INT ]
//   right      = [ reducer "(" axis { "," axis } ")" [ "from" values "to" ] ] values
//   values     = expression, or "(" expression { "," expression } ")" when there are several
//   results expression = "if" expression "then" expression "else" expression | infix infix      =
//   operators of the table in language.cpp; comparisons chain prefix     = ("-" | "!") prefix |
//   primary primary    = NUMBER | "true" | "false" | "inf" | "nan" | "(" expression ")"
//              | NAME | NAME "[" [ expression { "," expression } ] "]" | FUNCTION "(" expression …
//              ")"
#pragma once

#include <vector>

#include "base/result.h"
#include "frontend/lexer.h"
#include "frontend/syntax.h"

namespace hone {

Result<std::vector<Statement>> parse_statements(const SourceText& source);

}  // namespace hone
