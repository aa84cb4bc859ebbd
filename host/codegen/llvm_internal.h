// SPDX-License-Identifier: Apache-2.0
//
// What the files that make LLVM IR share. Only llvm_*.cpp include it.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "codegen/codegen.h"
#include "codegen/linear.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#pragma GCC diagnostic pop

namespace hone {

// What must be spelled out for an instruction set, because LLVM would call a library for it.
struct IsaTraits {
  bool rounding;    // floor, ceil and round are instructions or short sequences
  bool number_min;  // so are min and max that pass over a NaN
  bool wide;        // so are 64-bit integer division and conversion from and to floats
};
const IsaTraits& traits_of(Isa isa);

using Builder = llvm::IRBuilder<>;

// -- llvm_convert.cpp: conversions as integer operations
// --------------------------------------------

// The type of the same shape (scalar or lanes) with another element.
llvm::Type* like(llvm::Type* shape, llvm::Type* element);
llvm::Value* f16_bits_to_f32(Builder& b, llvm::Value* bits);
llvm::Value* f32_to_f16_bits(Builder& b, llvm::Value* value);
llvm::Value* bf16_bits_to_f32(Builder& b, llvm::Value* bits);
llvm::Value* f32_to_bf16_bits(Builder& b, llvm::Value* value);
// Rounds f64 to f32 such that a later rounding to fewer bits gives what rounding once gives.
llvm::Value* f64_to_f32_odd(Builder& b, llvm::Value* value);
// Without 64-bit conversion instructions. `value` and the result are i64.
llvm::Value* i64_to_float(Builder& b, llvm::Value* value, llvm::Type* to);
llvm::Value* float_to_i64(Builder& b, llvm::Value* value);
// floor(a / b) and a - b * floor(a / b), a zero divisor gives 0.
llvm::Value* floor_division(Builder& b, Op op, llvm::Value* left, llvm::Value* right,
                            bool is_signed, bool wide);
// a * b + c rounded once, without an instruction for it; float or double.
llvm::Value* exact_fma(Builder& b, llvm::Value* x, llvm::Value* y, llvm::Value* z);
// Rounds to whole numbers by adding and subtracting a large one.
enum class RoundTo : uint8_t { nearest, below, above, zero };
llvm::Value* round_by_adding(Builder& b, RoundTo direction, llvm::Value* value);

// -- llvm_expr.cpp
// ----------------------------------------------------------------------------------

// Values of one function while it is being built.
struct Frame {
  llvm::Function* function = nullptr;
  std::vector<llvm::Value*> vars;       // by VarId; null: not bound
  std::vector<int> depths;              // by VarId: how deep it is bound
  std::vector<llvm::Value*> registers;  // by RegId; null: not set
  std::vector<llvm::Value*> bases;      // by BufferId; null: not used here
};

class ExprEmitter {
 public:
  ExprEmitter(const Kernel& kernel, const Target& target, llvm::LLVMContext& context);

  Builder& builder() { return builder_; }
  Frame& frame() { return frame_; }
  llvm::Type* type_of(DType dtype, int lanes) const;  // of a value
  llvm::Type* index_type() const { return index_type_; }

  llvm::Value* value(const Expr& expr);
  llvm::Value* index(const Expr& expr);  // an i64 scalar, in the width of a pointer
  void store(const KernelStore& store);
  // Registers and memory changed: nothing computed before may be used again.
  void forget() {
    known_.clear();
    kept_.clear();
  }

 private:
  using Known = std::unordered_map<const ExprNode*, llvm::Value*>;
  struct Address {
    llvm::Value* pointer;
    int64_t align;
  };

  llvm::Value* emit(const Expr& expr);
  llvm::Value* narrow(const Expr& expr);  // index arithmetic in pointer width, any lanes
  llvm::Value* constant(const ExprNode& node) const;
  llvm::Value* unary_value(const Expr& expr);
  llvm::Value* binary_value(const Expr& expr);
  llvm::Value* integer_binary(Op op, DType dtype, llvm::Value* left, llvm::Value* right);
  llvm::Value* float_binary(Op op, llvm::Value* left, llvm::Value* right);
  llvm::Value* float_min_max(Op op, llvm::Value* left, llvm::Value* right);
  llvm::Value* compare(Op op, DType dtype, llvm::Value* left, llvm::Value* right);
  llvm::Value* reduce(Op op, DType dtype, llvm::Value* vector);
  llvm::Value* rounding(Op op, llvm::Value* value);
  llvm::Value* fused(llvm::Value* x, llvm::Value* y, llvm::Value* z);
  llvm::Value* math(const Expr& expr);
  llvm::Value* cast(const Expr& expr);
  llvm::Value* float_to_integer(Op op, llvm::Value* value, DType to);
  llvm::Value* integer_to_float(llvm::Value* value, DType from, DType to);
  llvm::Value* clamped(llvm::Value* value, DType from, DType to);
  llvm::Value* bits_of(llvm::Value* value, DType dtype);   // float → integer
  llvm::Value* from_bits(llvm::Value* bits, DType dtype);  // integer → float
  llvm::Value* to_float_dtype(llvm::Value* value, DType from, DType to);
  llvm::Value* select(const Expr& expr);
  llvm::Value* ramp(llvm::Value* base, llvm::Value* stride, int lanes);
  llvm::Value* load(const Expr& expr);
  llvm::Value* load_masked(const Expr& expr, llvm::Value* mask);
  llvm::Value* load_strided(const Expr& expr, const StridedIndex& index);
  llvm::Value* gather(const Expr& expr, llvm::Value* mask);
  llvm::Value* both_masks(llvm::Value* outer, llvm::Value* inner);  // null: all lanes
  llvm::Value* any_lane(llvm::Value* mask);
  llvm::Value* branch(llvm::Value* condition, const std::function<llvm::Value*()>& if_true,
                      const std::function<llvm::Value*()>& if_false);
  llvm::Value* only_if(llvm::Value* condition, llvm::Type* type,
                       const std::function<llvm::Value*()>& make);
  void store_masked(const KernelStore& store, llvm::Value* stored, llvm::Value* mask);

  void tag_buffers();
  llvm::Type* memory_type(DType dtype, int lanes) const;
  llvm::Value* from_memory(llvm::Value* stored, DType dtype);
  llvm::Value* to_memory(llvm::Value* value, DType dtype);
  Address address(BufferId buffer, const LinearForm& index);
  llvm::Value* addresses(BufferId buffer, const Expr& index);
  template <typename Access>
  Access* tagged(Access* access, BufferId buffer);

  const Kernel& kernel_;
  const Target& target_;
  const IsaTraits& traits_;
  Builder builder_;
  Frame frame_;
  llvm::Type* index_type_;
  bool native_half_;
  Known known_;
  std::vector<Expr> kept_;       // keeps the nodes of known_ alive
  llvm::Value* mask_ = nullptr;  // lanes that are computed; null: all
  std::vector<llvm::MDNode*> own_scope_;
  std::vector<llvm::MDNode*> other_scopes_;
};

// -- llvm_module.cpp
// --------------------------------------------------------------------------------

std::unique_ptr<llvm::Module> make_module(const Kernel& kernel, const Target& target,
                                          const std::string& entry, llvm::LLVMContext& context,
                                          const llvm::DataLayout& layout);

}  // namespace hone
