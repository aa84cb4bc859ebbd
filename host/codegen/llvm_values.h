// SPDX-License-Identifier: Apache-2.0
//
// Expressions → LLVM values, inside one function. Internal to codegen/.
#pragma once

#include <unordered_map>
#include <vector>

#include <llvm/IR/IRBuilder.h>

#include "lower/kernel.h"
#include "target/target.h"

namespace hone {

// What a function sees of the Kernel while it is written.
struct FunctionState {
  llvm::Function* function = nullptr;
  std::vector<llvm::Value*> buffers;    // base pointer by BufferId
  std::vector<llvm::Value*> vars;       // by VarId; null: not bound here
  std::vector<llvm::Value*> registers;  // current SSA value by RegId; null: not set yet
};

class ValueWriter {
 public:
  ValueWriter(const Kernel& kernel, const Target& target, llvm::IRBuilder<>& builder,
              FunctionState& state)
      : kernel_(kernel), target_(target), builder_(builder), state_(state) {}

  // Value of an expression. An i64 comes in the index type, unless it holds i64 data.
  llvm::Value* value(const Expr& expr);
  // The same as i64-or-index type that loops and addresses count in.
  llvm::Value* index(const Expr& expr);
  void store(const KernelStore& store);

  llvm::Type* type_of(DType dtype, int lanes) const;
  llvm::Type* index_type() const;
  // Values written before this call are not used again: control flow may not pass them.
  void forget() { known_.clear(); }

 private:
  llvm::Value* write(const ExprNode& node);
  llvm::Value* constant(const ExprNode& node);
  llvm::Value* load(const ExprNode& node);
  llvm::Value* select(const ExprNode& node);
  llvm::Value* scalar_branches(const ExprNode& node, llvm::Value* condition);
  llvm::Value* unary(const ExprNode& node, llvm::Value* x);
  llvm::Value* binary(const ExprNode& node, llvm::Value* a, llvm::Value* b);
  llvm::Value* integer_binary(Op op, DType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* float_binary(Op op, llvm::Value* a, llvm::Value* b);
  llvm::Value* compare(Op op, DType operands, llvm::Value* a, llvm::Value* b);
  llvm::Value* floor_division(Op op, DType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* min_max(bool is_min, DType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* rounding(Op op, llvm::Value* x);
  llvm::Value* cast(const ExprNode& node, llvm::Value* x);
  llvm::Value* saturate(DType to, DType from, llvm::Value* x);
  llvm::Value* widen_half(DType from, llvm::Value* bits);   // f16, bf16 bits → f32
  llvm::Value* narrow_half(DType to, llvm::Value* single);  // f32 → bits
  llvm::Value* reduce(const ExprNode& node, llvm::Value* vector);
  llvm::Value* address(BufferId buffer, const Expr& index);
  llvm::Value* addresses(BufferId buffer, const Expr& index);
  void match_integers(llvm::Value*& a, llvm::Value*& b);
  llvm::Value* splat(llvm::Value* scalar, int lanes);
  llvm::Type* memory_type(DType dtype, int lanes) const;
  llvm::Value* from_memory(DType dtype, llvm::Value* stored);
  llvm::Value* to_memory(DType dtype, llvm::Value* value);

  const Kernel& kernel_;
  const Target& target_;
  llvm::IRBuilder<>& builder_;
  FunctionState& state_;
  llvm::Value* mask_ = nullptr;                              // lanes whose loads may run; null: all
  std::unordered_map<const ExprNode*, llvm::Value*> known_;  // within straight-line code
};

}  // namespace hone
