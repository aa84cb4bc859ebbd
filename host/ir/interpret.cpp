// SPDX-License-Identifier: Apache-2.0
#include "ir/interpret.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "ir/text.h"

namespace hone {
namespace {

union Cell {
  int64_t i;
  double f;
};

enum class Code : uint8_t {
  push,
  axis,
  load,
  unary,
  binary,
  compare,
  convert,
  fma,
  jump_unless,
  jump
};

struct Instruction {
  Code code = Code::push;
  Op op = Op::constant;
  DType dtype = DType::i64;  // of the operands
  DType to = DType::i64;     // convert
  int32_t target = 0;        // axis, buffer, or how far a jump goes
  Cell value{0};
};

struct StoreCode {
  BufferId buffer;
  int32_t rank = 0;
  std::vector<Instruction> code;  // leaves the indices, then the value, on the stack
};

struct BlockCode {
  std::vector<StoreCode> init;
  std::vector<StoreCode> body;
};

// -- compilation
// -----------------------------------------------------------------------------------

void compile(const Expr& expr, std::vector<Instruction>& code) {
  Instruction instruction;
  instruction.op = expr->op;
  instruction.target = expr->id;
  if (expr->op == Op::select) {
    compile(expr->args[0], code);
    const size_t unless = code.size();
    code.push_back({.code = Code::jump_unless});
    compile(expr->args[1], code);
    const size_t jump = code.size();
    code.push_back({.code = Code::jump});
    compile(expr->args[2], code);
    code[unless].target = static_cast<int32_t>(jump - unless);
    code[jump].target = static_cast<int32_t>(code.size() - 1 - jump);
    return;
  }
  for (const Expr& arg : expr->args) compile(arg, code);
  instruction.dtype = expr->args.empty() ? expr->dtype : expr->args[0]->dtype;
  instruction.to = expr->dtype;
  switch (expr->op) {
    case Op::constant:
      if (is_float(expr->dtype)) {
        instruction.value.f = expr->float_value;
      } else {
        instruction.value.i = expr->int_value;
      }
      break;
    case Op::axis:
      instruction.code = Code::axis;
      break;
    case Op::load:
      instruction.code = Code::load;
      break;
    case Op::cast:
    case Op::saturate:
    case Op::bitcast:
      instruction.code = Code::convert;
      break;
    case Op::fma:
      instruction.code = Code::fma;
      break;
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
      instruction.code = Code::compare;
      break;
    default:
      instruction.code = expr->args.size() == 1 ? Code::unary : Code::binary;
  }
  code.push_back(instruction);
}

std::vector<StoreCode> compile_stores(const std::vector<Store>& stores) {
  std::vector<StoreCode> result;
  for (const Store& store : stores) {
    StoreCode code{store.buffer, static_cast<int32_t>(store.indices.size()), {}};
    for (const Expr& index : store.indices) compile(index, code.code);
    compile(store.value, code.code);
    result.push_back(std::move(code));
  }
  return result;
}

// -- operations
// ------------------------------------------------------------------------------------

Cell unary_value(const Instruction& in, Cell a) {
  if (is_float(in.dtype)) return Cell{.f = fold_float(in.op, in.dtype, a.f, 0)};
  return Cell{.i = fold_int(in.op, in.dtype, a.i, 0)};
}

// The common cases in line; everything else as constants fold.
Cell binary_value(const Instruction& in, Cell a, Cell b) {
  if (in.dtype == DType::f32) {
    switch (in.op) {
      case Op::add:
        return Cell{.f = static_cast<double>(static_cast<float>(a.f + b.f))};
      case Op::sub:
        return Cell{.f = static_cast<double>(static_cast<float>(a.f - b.f))};
      case Op::mul:
        return Cell{.f = static_cast<double>(static_cast<float>(a.f * b.f))};
      default:
        break;
    }
  }
  if (is_float(in.dtype)) return Cell{.f = fold_float(in.op, in.dtype, a.f, b.f)};
  if (in.dtype == DType::i64 && (in.op == Op::add || in.op == Op::mul)) {
    const uint64_t ua = static_cast<uint64_t>(a.i);
    const uint64_t ub = static_cast<uint64_t>(b.i);
    return Cell{.i = static_cast<int64_t>(in.op == Op::add ? ua + ub : ua * ub)};
  }
  return Cell{.i = fold_int(in.op, in.dtype, a.i, b.i)};
}

bool compare_value(const Instruction& in, Cell a, Cell b) {
  if (is_float(in.dtype)) return fold_compare(in.op, in.dtype, 0, 0, a.f, b.f);
  return fold_compare(in.op, in.dtype, a.i, b.i, 0, 0);
}

Cell converted(const Instruction& in, Cell a) {
  const bool from_float = is_float(in.dtype);
  const ScalarValue value =
      fold_cast(in.op, in.to, in.dtype, {from_float ? 0 : a.i, from_float ? a.f : 0});
  return is_float(in.to) ? Cell{.f = value.as_float} : Cell{.i = value.as_int};
}

// -- execution
// -------------------------------------------------------------------------------------

struct Memory {
  Tensor tensor;
  std::vector<uint8_t> written;  // one an element; empty: given by the caller
};

class Machine {
 public:
  Machine(const Program& program, const InterpretOptions& options)
      : program_(program),
        options_(options),
        loops_(static_cast<size_t>(program.loops.size()), 0),
        stack_(64) {
    for (const Block& block : program.blocks) {
      BlockCode code;
      if (block.alive) code = {compile_stores(block.init), compile_stores(block.body)};
      blocks_.push_back(std::move(code));
    }
  }

  Result<void> take_inputs(const Tensors& tensors) {
    for (int32_t i = 0; i < program_.buffers.size(); ++i) {
      const Buffer& buffer = program_.buffers[BufferId{i}];
      Memory memory;
      if (buffer.kind == BufferKind::input || buffer.kind == BufferKind::param) {
        const auto given = tensors.find(BufferId{i});
        if (given == tensors.end()) return fail("no values for {}", buffer.name);
        if (given->second.dtype != buffer.dtype || given->second.shape != buffer.shape)
          return fail("the values for {} are {}[{}], expected {}[{}]", buffer.name,
                      to_string(given->second.dtype), fmt::join(given->second.shape, ","),
                      to_string(buffer.dtype), fmt::join(buffer.shape, ","));
        memory.tensor = given->second;
      } else {
        memory.tensor = zeros(buffer.dtype, buffer.shape);
        memory.written.resize(static_cast<size_t>(memory.tensor.count()), 0);
      }
      memory_.push_back(std::move(memory));
    }
    return {};
  }

  void give_outputs(Tensors& tensors) {
    for (int32_t i = 0; i < program_.buffers.size(); ++i)
      if (program_.buffers[BufferId{i}].kind == BufferKind::output)
        tensors[BufferId{i}] = std::move(memory_[static_cast<size_t>(i)].tensor);
  }

  Result<void> run(const std::vector<Node>& body) {
    for (const Node& node : body) {
      if (node.block.valid()) {
        if (!run_block(node.block)) return std::unexpected(Error{fault_});
        continue;
      }
      const Loop& loop = program_.loops[node.loop];
      const bool free = loop.kind == LoopKind::parallel || loop.kind == LoopKind::vectorized;
      const bool backwards = options_.backwards && free;
      const int64_t first = backwards && adds_up(node.loop) ? 1 : 0;
      for (int64_t i = 0; i < loop.extent; ++i) {
        const bool kept = !backwards || i < first;
        loops_[static_cast<size_t>(node.loop.value)] = kept ? i : loop.extent - 1 - (i - first);
        TRYV(run(loop.body));
      }
    }
    return {};
  }

 private:
  bool adds_up(LoopId loop) const {
    for (const BlockId block : blocks_below(program_, Node{loop, {}}))
      for (const Axis& axis : program_.blocks[block].axes)
        if (axis.kind == AxisKind::reduce && uses(axis.binding, loop)) return true;
    return false;
  }

  int64_t value_of(const Affine& form) const {
    int64_t total = form.base;
    for (const AffineTerm& term : form.terms) {
      int64_t value =
          term.inner ? value_of(*term.inner) : loops_[static_cast<size_t>(term.loop.value)];
      if (term.div != 1) value = fold_int(Op::div, DType::i64, value, term.div);
      if (term.mod != 0) value = fold_int(Op::mod, DType::i64, value, term.mod);
      total += term.scale * value;
    }
    return total;
  }

  bool run_block(BlockId id) {
    const Block& block = program_.blocks[id];
    for (const Predicate& predicate : block.predicates) {
      const int64_t value = value_of(predicate.form);
      if (value < 0 || value >= predicate.bound) return true;
    }
    axes_.resize(block.axes.size());
    bool first = true;
    for (size_t i = 0; i < block.axes.size(); ++i) {
      axes_[i] = value_of(block.axes[i].binding);
      if (axes_[i] < 0 || axes_[i] >= block.axes[i].extent) {
        fault_ = fmt::format("block {}: axis {} is {}, outside its domain of {}", block.name,
                             block.axes[i].name, axes_[i], block.axes[i].extent);
        return false;
      }
      first = first && (block.axes[i].kind == AxisKind::spatial || axes_[i] == 0);
    }
    const BlockCode& code = blocks_[static_cast<size_t>(id.value)];
    block_ = &block;
    if (first && !run_stores(code.init)) return false;
    return run_stores(code.body);
  }

  // All values are computed before the first is stored.
  bool run_stores(const std::vector<StoreCode>& stores) {
    pending_.clear();
    for (const StoreCode& store : stores) {
      const Cell* top = execute(store.code);
      if (top == nullptr) return false;
      const int64_t flat = flat_index(store.buffer, {top - store.rank, top}, "stores to");
      if (flat < 0) return false;
      pending_.push_back({store.buffer, flat, *top});
    }
    for (const Pending& pending : pending_) {
      Memory& memory = memory_[static_cast<size_t>(pending.buffer.value)];
      ScalarValue value;
      if (is_float(memory.tensor.dtype)) {
        value.as_float = pending.value.f;
      } else {
        value.as_int = pending.value.i;
      }
      memory.tensor.set(pending.flat, value);
      if (!memory.written.empty()) memory.written[static_cast<size_t>(pending.flat)] = 1;
    }
    return true;
  }

  // -1 and a fault if an index lies outside.
  int64_t flat_index(BufferId buffer, std::span<const Cell> indices, std::string_view what) {
    const std::vector<int64_t>& shape = memory_[static_cast<size_t>(buffer.value)].tensor.shape;
    int64_t flat = 0;
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i].i < 0 || indices[i].i >= shape[i]) {
        fault_ = fault(buffer, indices, what) +
                 fmt::format(", whose shape is [{}]", fmt::join(shape, ","));
        return -1;
      }
      flat = flat * shape[i] + indices[i].i;
    }
    return flat;
  }

  std::string fault(BufferId buffer, std::span<const Cell> indices, std::string_view what) const {
    std::vector<int64_t> values;
    for (const Cell& cell : indices) values.push_back(cell.i);
    std::vector<std::string> axes;
    for (size_t i = 0; i < axes_.size(); ++i)
      axes.push_back(fmt::format("{}={}", block_->axes[i].name, axes_[i]));
    return fmt::format("block {} ({}) {} {}[{}]", block_->name, join(axes, " "), what,
                       program_.buffers[buffer].name, fmt::join(values, ","));
  }

  // Replaces the indices below `top` by the element; null on a fault.
  Cell* load(BufferId buffer, Cell* top) {
    const Memory& memory = memory_[static_cast<size_t>(buffer.value)];
    Cell* const first = top - memory.tensor.shape.size();
    const int64_t flat = flat_index(buffer, {first, top}, "reads");
    if (flat < 0) return nullptr;
    if (!memory.written.empty() && memory.written[static_cast<size_t>(flat)] == 0) {
      fault_ = fault(buffer, {first, top}, "reads") + ", which nothing has written yet";
      return nullptr;
    }
    const ScalarValue value = memory.tensor.at(flat);
    if (is_float(memory.tensor.dtype)) {
      first->f = value.as_float;
    } else {
      first->i = value.as_int;
    }
    return first + 1;
  }

  // The value on top of the stack after all instructions; null on a fault.
  const Cell* execute(const std::vector<Instruction>& code) {
    // No instruction pushes more than one cell.
    if (stack_.size() < code.size() + 1) stack_.resize(code.size() + 1);
    Cell* top = stack_.data();  // one past the last
    for (size_t pc = 0; pc < code.size(); ++pc) {
      const Instruction& in = code[pc];
      switch (in.code) {
        case Code::push:
          *top++ = in.value;
          break;
        case Code::axis:
          (top++)->i = axes_[static_cast<size_t>(in.target)];
          break;
        case Code::load:
          top = load(BufferId{in.target}, top);
          if (top == nullptr) return nullptr;
          break;
        case Code::unary:
          top[-1] = unary_value(in, top[-1]);
          break;
        case Code::binary:
          --top;
          top[-1] = binary_value(in, top[-1], top[0]);
          break;
        case Code::compare:
          --top;
          top[-1].i = compare_value(in, top[-1], top[0]) ? 1 : 0;
          break;
        case Code::convert:
          top[-1] = converted(in, top[-1]);
          break;
        case Code::fma:
          top -= 2;
          top[-1].f = fold_fma(in.dtype, top[-1].f, top[0].f, top[1].f);
          break;
        case Code::jump_unless:
          --top;
          if (top->i == 0) pc += static_cast<size_t>(in.target);
          break;
        case Code::jump:
          pc += static_cast<size_t>(in.target);
          break;
      }
    }
    return top - 1;
  }

  struct Pending {
    BufferId buffer;
    int64_t flat;
    Cell value;
  };

  const Program& program_;
  const InterpretOptions& options_;
  std::vector<int64_t> loops_;
  std::vector<BlockCode> blocks_;
  std::vector<Memory> memory_;
  std::vector<int64_t> axes_;
  std::vector<Cell> stack_;
  std::vector<Pending> pending_;
  const Block* block_ = nullptr;
  std::string fault_;
};

}  // namespace

Result<void> interpret(const Program& program, Tensors& tensors, const InterpretOptions& options) {
  Machine machine(program, options);
  TRYV(machine.take_inputs(tensors));
  if (auto done = machine.run(program.body); !done)
    return std::unexpected(within(done.error(), "program {}", program.name));
  machine.give_outputs(tensors);
  return {};
}

Result<void> interpret(const Program& program, Tensors& tensors) {
  return interpret(program, tensors, InterpretOptions{});
}

}  // namespace hone
