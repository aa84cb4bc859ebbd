// SPDX-License-Identifier: Apache-2.0
#include "ir/expr_text.h"
#include "lower/kernel.h"

namespace hone {
namespace {

// Rows of a table share names (the tiles of two versions); a number behind makes each readable
// alone.
class KernelPrinter {
 public:
  explicit KernelPrinter(const Kernel& kernel) : kernel_(kernel) {
    names_.var = [this](int32_t id) { return var(VarId{id}); };
    names_.reg = [this](int32_t id) { return reg(RegId{id}); };
    names_.buffer = [this](BufferId id) { return kernel_.buffers[id].name; };
  }

  std::string run() {
    text_ = fmt::format("kernel {}\n", kernel_.name);
    for (const KernelBuffer& buffer : kernel_.buffers) {
      static constexpr const char* kSpaces[] = {"argument", "constants", "workspace", "per_worker",
                                                "stack"};
      text_ += fmt::format("buffer {} {}[{}] {}", buffer.name, to_string(buffer.dtype),
                           buffer.elements, kSpaces[static_cast<size_t>(buffer.space)]);
      if (buffer.space == Space::argument) {
        text_ += fmt::format(" {}{}", buffer.slot, buffer.written ? " written" : "");
      } else if (buffer.space == Space::constants) {
        text_ += fmt::format(" {} at {}{}", buffer.slot, buffer.offset,
                             buffer.written ? " written" : "");
      } else if (buffer.space != Space::stack) {
        text_ += fmt::format(" at {}", buffer.offset);
      }
      text_ += '\n';
    }
    if (kernel_.workspace_bytes > 0 || kernel_.workspace_bytes_per_worker > 0)
      text_ += fmt::format("workspace {} bytes, {} for each worker\n", kernel_.workspace_bytes,
                           kernel_.workspace_bytes_per_worker);
    body(kernel_.body, 0);
    return std::move(text_);
  }

 private:
  std::string var(VarId id) const {
    int32_t same = 0;
    for (int32_t i = 0; i < id.value; ++i) same += kernel_.vars[VarId{i}] == kernel_.vars[id];
    return same == 0 ? kernel_.vars[id] : fmt::format("{}.{}", kernel_.vars[id], same);
  }
  std::string reg(RegId id) const {
    return fmt::format("{}.{}", kernel_.registers[id].name, id.value);
  }
  std::string expr(const Expr& value, DType wanted) const { return print(value, names_, wanted); }

  void line(int depth, const std::string& text) {
    text_ += std::string(static_cast<size_t>(2 * depth), ' ') + text + '\n';
  }

  void body(const KernelBody& statements, int depth) {
    for (const KernelStmt& stmt : statements) {
      if (const auto* loop = std::get_if<KernelFor>(&stmt.node)) {
        line(depth,
             fmt::format("for {} in {} .. {}{}", var(loop->var), expr(loop->begin, DType::i64),
                         expr(loop->end, DType::i64), loop->parallel ? " parallel" : ""));
        body(loop->body, depth + 1);
      } else if (const auto* branch = std::get_if<KernelIf>(&stmt.node)) {
        line(depth, fmt::format("if {}", expr(branch->condition, DType::b1)));
        body(branch->then_body, depth + 1);
        if (branch->else_body.empty()) continue;
        line(depth, "else");
        body(branch->else_body, depth + 1);
      } else if (const auto* let = std::get_if<KernelLet>(&stmt.node)) {
        line(depth, fmt::format("let {} = {}", var(let->var), expr(let->value, DType::i64)));
      } else if (const auto* set = std::get_if<KernelSet>(&stmt.node)) {
        const Register& row = kernel_.registers[set->reg];
        const std::string lanes = row.lanes == 1 ? "" : fmt::format("x{}", row.lanes);
        line(depth, fmt::format("{}:{}{} = {}", reg(set->reg), to_string(row.dtype), lanes,
                                expr(set->value, row.dtype)));
      } else {
        const KernelStore& store = std::get<KernelStore>(stmt.node);
        const KernelBuffer& buffer = kernel_.buffers[store.buffer];
        const int lanes = store.value->lanes;
        line(depth, fmt::format("{}[{}{}{}] = {}", buffer.name, expr(store.index, DType::i64),
                                lanes == 1 ? "" : fmt::format(" : {}", lanes),
                                store.mask ? ", " + expr(store.mask, DType::b1) : "",
                                expr(store.value, buffer.dtype)));
      }
    }
  }

  const Kernel& kernel_;
  ExprNames names_;
  std::string text_;
};

}  // namespace

std::string print(const Kernel& kernel) { return KernelPrinter(kernel).run(); }

}  // namespace hone
