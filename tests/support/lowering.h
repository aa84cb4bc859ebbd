// SPDX-License-Identifier: Apache-2.0
//
// The question of every lowering test: does the Kernel compute what the Program computes?
#pragma once

#include <string>

#include "interpret_kernel.h"
#include "ir/interpret.h"
#include "ir/text.h"
#include "lower/lower.h"

namespace hone::test {

// Machines as lowering sees them, by the facts that change its answers.
struct TargetShape {
  const char* name;
  int vector_bits;
  int vector_registers;
  bool masks;
  bool fma;
};
inline constexpr TargetShape kTargetShapes[] = {{"wide-masked", 512, 32, true, true},
                                                {"wide", 256, 16, false, true},
                                                {"narrow", 128, 32, false, false},
                                                {"scalar", 0, 0, false, false}};

inline Target target_of(const TargetShape& shape) {
  Target target;
  target.name = shape.name;
  target.vector_bits = shape.vector_bits;
  target.vector_registers = shape.vector_registers;
  target.scalar_registers = 13;
  target.float_registers = shape.vector_bits == 0 ? 32 : 0;
  if (shape.vector_bits > 0)
    target.vector_dtypes = {DType::i8,  DType::u8,  DType::i16, DType::i32,
                            DType::i64, DType::f32, DType::f64};
  target.masks = shape.masks;
  target.fma = shape.fma;
  return target;
}

// Runs both on the same inputs, the Kernel after the one that makes its constants. Error: how they
// are wrong.
inline Result<void> check_lowered(const Program& program, const Kernel& constants,
                                  const Kernel& kernel, Tensors tensors) {
  std::vector<Elements> arguments;
  std::vector<BufferId> outputs;
  for (const bool written : {false, true}) {
    for (int32_t i = 0; i < program.buffers.size(); ++i) {
      const Buffer& buffer = program.buffers[BufferId{i}];
      if (buffer.kind == BufferKind::temp || (buffer.kind == BufferKind::output) != written)
        continue;
      Elements elements(static_cast<size_t>(element_count(buffer)), {-77, -77.0});
      if (written) {
        outputs.push_back(BufferId{i});
      } else {
        const Tensor& tensor = tensors.at(BufferId{i});
        for (int64_t at = 0; at < tensor.count(); ++at)
          elements[static_cast<size_t>(at)] = tensor.at(at);
      }
      arguments.push_back(std::move(elements));
    }
  }
  const size_t first_output = arguments.size() - outputs.size();
  TRYV(interpret(program, tensors));
  KernelInterpreter::Memory memory;
  if (auto done = KernelInterpreter(constants).run(arguments, memory); !done)
    return std::unexpected(within(done.error(), "constants"));
  TRYV(KernelInterpreter(kernel).run(arguments, memory));
  const bool rounds = [&] {
    bool found = false;
    for (const BlockId id : all_blocks(program))
      for (const Store& store : program.blocks[id].body)
        walk(store.value, [&](const ExprNode& node) {
          const bool inexact = (node.op >= Op::exp && node.op <= Op::erf) || node.op == Op::pow ||
                               node.op == Op::div || node.dtype == DType::f16 ||
                               node.dtype == DType::bf16;
          found = found || (inexact && is_float(node.dtype));
        });
    return found;
  }();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Buffer& buffer = program.buffers[outputs[i]];
    Tensor got = zeros(buffer.dtype, buffer.shape);
    for (int64_t at = 0; at < got.count(); ++at)
      got.set(at, arguments[first_output + i][static_cast<size_t>(at)]);
    const Tensor& wanted = tensors.at(outputs[i]);
    const double tolerance =
        bytes_of(buffer.dtype) == 2 && is_float(buffer.dtype) ? 0x1p-6 : 0x1p-17;
    if (rounds ? close(got, wanted, tolerance) : equal_bits(got, wanted)) continue;
    for (int64_t at = 0; at < got.count(); ++at)
      if (got.number(at) != wanted.number(at))
        return fail("'{}' is {} at element {}, {} is wanted", buffer.name, got.number(at), at,
                    wanted.number(at));
    return fail("'{}' differs in bits", buffer.name);
  }
  return {};
}

// Lowers, verifies and compares. An Error of lower() itself is a refusal: `refused` says which it
// was.
inline Result<void> check_lowering(const Program& program, const Target& target,
                                   const Tensors& inputs, bool& refused) {
  const Result<Kernel> kernel = lower(program, target, {});
  const Result<Kernel> constants = lower_constants(program, target, {});
  refused = !kernel || !constants;
  for (const Result<Kernel>* one : {&constants, &kernel}) {
    if (!*one) return std::unexpected(one->error());
    if (const auto good = verify(**one); !good)
      return std::unexpected(within(good.error(), "not well formed\n{}", print(**one)));
  }
  if (const auto good = check_lowered(program, *constants, *kernel, inputs); !good)
    return std::unexpected(
        within(good.error(), "wrong\n{}\n{}", print(*constants), print(*kernel)));
  return {};
}

}  // namespace hone::test
