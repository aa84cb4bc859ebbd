// SPDX-License-Identifier: Apache-2.0
//
// Walks over what an instruction struct says about itself, for the files that print, parse, hash
// and run every kind alike.
#pragma once

#include <type_traits>
#include <utility>

#include "schedule/trace.h"

namespace hone {

template <typename T>
concept HasOutput = requires { T::output(); };

template <typename T>
concept Sampling = requires(T t) { t.decision; };

template <typename T>
inline constexpr bool is_vector = false;
template <typename T>
inline constexpr bool is_vector<std::vector<T>> = true;

template <typename T>
concept Variable =
    std::is_same_v<T, BlockVar> || std::is_same_v<T, LoopVar> || std::is_same_v<T, IntVar>;

// visit(field description, value) for each field in order.
template <typename T, typename Visit>
void for_each_field(T& instruction, Visit&& visit) {
  std::apply([&](const auto&... field) { (visit(field, instruction.*(field.member)), ...); },
             std::remove_const_t<T>::fields());
}

// visit(variable) for each output in order.
template <typename T, typename Visit>
void for_each_output(T& instruction, Visit&& visit) {
  using Plain = std::remove_const_t<T>;
  if constexpr (HasOutput<Plain>) {
    auto& output = instruction.*(Plain::output());
    if constexpr (is_vector<std::remove_cvref_t<decltype(output)>>) {
      for (auto& variable : output) visit(variable);
    } else {
      visit(output);
    }
  }
}

// visit(variable) for each variable that a parameter uses.
template <typename P, typename Visit>
void for_each_variable(P& parameter, Visit&& visit) {
  using Plain = std::remove_const_t<P>;
  if constexpr (Variable<Plain>) {
    visit(parameter);
  } else if constexpr (std::is_same_v<Plain, NodeParam>) {
    if (parameter.block.valid()) visit(parameter.block);
    if (parameter.loop.valid()) visit(parameter.loop);
  } else if constexpr (std::is_same_v<Plain, BufferParam>) {
    if (parameter.block.valid()) visit(parameter.block);
  } else if constexpr (std::is_same_v<Plain, IntParam> || std::is_same_v<Plain, TailParam> ||
                       std::is_same_v<Plain, ScopeParam>) {
    if (parameter.var.valid()) visit(parameter.var);
  } else if constexpr (is_vector<Plain>) {
    for (auto& entry : parameter) for_each_variable(entry, visit);
  }
}

template <typename T, typename Visit>
void for_each_input(T& instruction, Visit&& visit) {
  for_each_field(instruction, [&](const auto&, auto& value) { for_each_variable(value, visit); });
}

}  // namespace hone
