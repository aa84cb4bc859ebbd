// SPDX-License-Identifier: Apache-2.0
//
// Programs as text; the form is described in docs/program-text.md. What is printed parses to the
// same text again; what was parsed prints in one canonical form (term order, line breaks,
// suffixes).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "ir/expr_text.h"
#include "ir/program.h"

namespace hone {

// The words of the enumerators.
std::string_view to_string(BufferKind kind);
std::string_view to_string(Scope scope);
std::string_view to_string(LoopKind kind);
std::string_view to_string(Tail tail);
std::string_view to_string(AxisKind kind);

// Prints any Program, also one that verify() refuses (a dangling id shows as `?7`).
std::string print(const Program& program);

// Well-formed text with known names and matching types; the rest is verify()'s. `name` stands in
// errors.
Result<Program> parse_program(std::string_view text, const std::string& name);

// Same text: equal up to dead rows and the numbering of ids.
bool equal(const Program& left, const Program& right);

// How an axis, a loop form and a store of a block read, for messages.
ExprNames names_of(const Program& program, const Block& block);
std::string print_form(const Program& program, const Affine& form);

}  // namespace hone
