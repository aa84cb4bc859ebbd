// SPDX-License-Identifier: Apache-2.0
//
// Kernel expressions → LLVM values. f16 and bf16 are held as f32 unless the machine computes in
// f16; they are rounded where they are stored and where a cast says so, which ir/expr.h allows.
#include "codegen/llvm_internal.h"

#include "codegen/math.h"
#include "codegen/scan.h"

namespace hone {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

namespace {

bool is_constant_number(Value* value) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  if (constant != nullptr && constant->getType()->isVectorTy())
    constant = constant->getSplatValue();
  auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  return number != nullptr && !number->isNaN();
}

}  // namespace

ExprEmitter::ExprEmitter(const Kernel& kernel, const Target& target, llvm::LLVMContext& context)
    : kernel_(kernel),
      target_(target),
      traits_(traits_of(target.isa)),
      builder_(context),
      index_type_(llvm::IntegerType::get(context, static_cast<unsigned>(target.pointer_bits))),
      native_half_(target.f16_arithmetic) {
  llvm::FastMathFlags flags;
  flags.setAllowContract(true);
  builder_.setFastMathFlags(flags);
  tag_buffers();
}

llvm::Type* ExprEmitter::type_of(DType dtype, int lanes) const {
  llvm::LLVMContext& context = builder_.getContext();
  llvm::Type* element = nullptr;
  switch (dtype) {
    case DType::b1:
      element = llvm::Type::getInt1Ty(context);
      break;
    case DType::f16:
      element = native_half_ ? llvm::Type::getHalfTy(context) : llvm::Type::getFloatTy(context);
      break;
    case DType::bf16:
    case DType::f32:
      element = llvm::Type::getFloatTy(context);
      break;
    case DType::f64:
      element = llvm::Type::getDoubleTy(context);
      break;
    default:
      element = llvm::IntegerType::get(context, static_cast<unsigned>(8 * bytes_of(dtype)));
  }
  if (lanes == 1) return element;
  return llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
}

Value* ExprEmitter::value(const Expr& expr) {
  if (target_.pointer_bits == 32 && is_pure_index(expr, false) && expr->op != Op::constant)
    return builder_.CreateSExt(narrow(expr), type_of(DType::i64, expr->lanes));
  if (const auto known = known_.find(expr.get()); known != known_.end()) return known->second;
  Value* result = emit(expr);
  kept_.push_back(expr);
  return known_[expr.get()] = result;
}

Value* ExprEmitter::index(const Expr& expr) {
  if (expr->dtype == DType::i64) return narrow(expr);
  Value* any = value(expr);
  llvm::Type* type = like(any->getType(), index_type_);
  return facts(expr->dtype).is_signed ? builder_.CreateSExtOrTrunc(any, type)
                                      : builder_.CreateZExtOrTrunc(any, type);
}

Value* ExprEmitter::narrow(const Expr& expr) {
  if (target_.pointer_bits == 64) return value(expr);
  llvm::Type* type = expr->lanes == 1 ? index_type_
                                      : llvm::FixedVectorType::get(
                                            index_type_, static_cast<unsigned>(expr->lanes));
  if (!is_pure_index(expr, true)) return builder_.CreateTrunc(value(expr), type);
  switch (expr->op) {
    case Op::constant:
      return llvm::ConstantInt::getSigned(type, expr->int_value);
    case Op::var:
      return frame_.vars[static_cast<size_t>(expr->id)];
    case Op::cast:
      return index(expr->args[0]);
    case Op::neg:
      return builder_.CreateNeg(narrow(expr->args[0]));
    case Op::broadcast:
      return builder_.CreateVectorSplat(static_cast<unsigned>(expr->lanes), narrow(expr->args[0]));
    case Op::ramp:
      return ramp(narrow(expr->args[0]), narrow(expr->args[1]), expr->lanes);
    case Op::select:
      return builder_.CreateSelect(value(expr->args[0]), narrow(expr->args[1]),
                                   narrow(expr->args[2]));
    default:
      return integer_binary(expr->op, DType::i64, narrow(expr->args[0]), narrow(expr->args[1]));
  }
}

Value* ExprEmitter::constant(const ExprNode& node) const {
  llvm::Type* type = type_of(node.dtype, 1);
  if (is_float(node.dtype)) return llvm::ConstantFP::get(type, node.float_value);
  return llvm::ConstantInt::get(type, static_cast<uint64_t>(node.int_value));
}

Value* ExprEmitter::emit(const Expr& expr) {
  switch (expr->op) {
    case Op::constant:
      return constant(*expr);
    case Op::var: {
      Value* bound = frame_.vars[static_cast<size_t>(expr->id)];
      ENSURE(bound != nullptr, "variable {} is not bound", expr->id);
      return bound;
    }
    case Op::reg: {
      Value* set = frame_.registers[static_cast<size_t>(expr->id)];
      return set != nullptr ? set : llvm::PoisonValue::get(type_of(expr->dtype, expr->lanes));
    }
    case Op::load:
      return load(expr);
    case Op::broadcast:
      return builder_.CreateVectorSplat(static_cast<unsigned>(expr->lanes), value(expr->args[0]));
    case Op::ramp:
      return ramp(value(expr->args[0]), value(expr->args[1]), expr->lanes);
    case Op::extract:
      return builder_.CreateExtractElement(value(expr->args[0]),
                                           static_cast<uint64_t>(expr->args[1]->int_value));
    case Op::cast:
    case Op::saturate:
    case Op::bitcast:
      return cast(expr);
    case Op::select:
      return select(expr);
    case Op::fma:
      return fused(value(expr->args[0]), value(expr->args[1]), value(expr->args[2]));
    case Op::reduce_add:
    case Op::reduce_mul:
    case Op::reduce_min:
    case Op::reduce_max:
      return reduce(expr->op, expr->dtype, value(expr->args[0]));
    default:
      ENSURE(expr->op != Op::axis, "an axis in a Kernel");
      if (is_expanded(expr->op, expr->args[0]->dtype)) return math(expr);
      return expr->args.size() == 1 ? unary_value(expr) : binary_value(expr);
  }
}

Value* ExprEmitter::unary_value(const Expr& expr) {
  Value* operand = value(expr->args[0]);
  const bool floats = is_float(expr->dtype);
  switch (expr->op) {
    case Op::neg:
      return floats ? builder_.CreateFNeg(operand) : builder_.CreateNeg(operand);
    case Op::logical_not:
      return builder_.CreateNot(operand);
    case Op::abs:
      if (floats) return builder_.CreateUnaryIntrinsic(Intrinsic::fabs, operand);
      if (!facts(expr->dtype).is_signed) return operand;
      return builder_.CreateIntrinsic(Intrinsic::abs, {operand->getType()},
                                      {operand, builder_.getFalse()});
    case Op::sqrt:
      return builder_.CreateUnaryIntrinsic(Intrinsic::sqrt, operand);
    default:
      return rounding(expr->op, operand);
  }
}

Value* ExprEmitter::rounding(Op op, Value* value) {
  ENSURE(op == Op::floor || op == Op::ceil || op == Op::round, "{} is not emitted", facts(op).name);
  if (!traits_.rounding)
    return round_by_adding(builder_,
                           op == Op::floor  ? RoundTo::below
                           : op == Op::ceil ? RoundTo::above
                                            : RoundTo::nearest,
                           value);
  const auto intrinsic = op == Op::floor  ? Intrinsic::floor
                         : op == Op::ceil ? Intrinsic::ceil
                                          : Intrinsic::roundeven;
  return builder_.CreateUnaryIntrinsic(intrinsic, value);
}

Value* ExprEmitter::binary_value(const Expr& expr) {
  const Expr& left = expr->args[0];
  const Expr& right = expr->args[1];
  const bool compares = expr->op >= Op::eq && expr->op <= Op::le;
  if (compares && left->dtype == DType::i64 && is_pure_index(left, false) &&
      is_pure_index(right, false))
    return compare(expr->op, DType::i64, narrow(left), narrow(right));
  Value* a = value(left);
  Value* b = value(right);
  if (compares) return compare(expr->op, left->dtype, a, b);
  return is_float(left->dtype) ? float_binary(expr->op, a, b)
                               : integer_binary(expr->op, left->dtype, a, b);
}

Value* ExprEmitter::integer_binary(Op op, DType dtype, Value* left, Value* right) {
  const bool is_signed = facts(dtype).is_signed;
  switch (op) {
    case Op::add:
      return builder_.CreateAdd(left, right);
    case Op::sub:
      return builder_.CreateSub(left, right);
    case Op::mul:
      return builder_.CreateMul(left, right);
    case Op::div:
    case Op::mod:
      return floor_division(builder_, op, left, right, is_signed, traits_.wide);
    case Op::min:
      return builder_.CreateBinaryIntrinsic(is_signed ? Intrinsic::smin : Intrinsic::umin, left,
                                            right);
    case Op::max:
      return builder_.CreateBinaryIntrinsic(is_signed ? Intrinsic::smax : Intrinsic::umax, left,
                                            right);
    case Op::shl:
    case Op::shr: {
      llvm::Type* type = left->getType();
      Value* count =
          builder_.CreateAnd(right, llvm::ConstantInt::get(type, type->getScalarSizeInBits() - 1));
      if (op == Op::shl) return builder_.CreateShl(left, count);
      return is_signed ? builder_.CreateAShr(left, count) : builder_.CreateLShr(left, count);
    }
    case Op::bit_and:
    case Op::logical_and:
      return builder_.CreateAnd(left, right);
    case Op::bit_or:
    case Op::logical_or:
      return builder_.CreateOr(left, right);
    default:
      ENSURE(op == Op::bit_xor, "{} of {}", facts(op).name, to_string(dtype));
      return builder_.CreateXor(left, right);
  }
}

Value* ExprEmitter::float_binary(Op op, Value* left, Value* right) {
  switch (op) {
    case Op::add:
      return builder_.CreateFAdd(left, right);
    case Op::sub:
      return builder_.CreateFSub(left, right);
    case Op::mul:
      return builder_.CreateFMul(left, right);
    case Op::div:
      return builder_.CreateFDiv(left, right);
    default:
      ENSURE(op == Op::min || op == Op::max, "{} of floats", facts(op).name);
      return float_min_max(op, left, right);
  }
}

// The other operand where one is NaN.
Value* ExprEmitter::float_min_max(Op op, Value* left, Value* right) {
  const bool least = op == Op::min;
  if (is_constant_number(left)) std::swap(left, right);
  const bool x86 = target_.isa == Isa::x86_64;
  if (is_constant_number(right) && (x86 || !traits_.number_min)) {
    // A NaN on the left compares false: the constant comes out. One instruction on x86.
    Value* keep = least ? builder_.CreateFCmpOLT(left, right) : builder_.CreateFCmpOGT(left, right);
    return builder_.CreateSelect(keep, left, right);
  }
  if (traits_.number_min)
    return builder_.CreateBinaryIntrinsic(least ? Intrinsic::minnum : Intrinsic::maxnum, left,
                                          right);
  Value* keep = least ? builder_.CreateFCmpOLE(left, right) : builder_.CreateFCmpOGE(left, right);
  return builder_.CreateSelect(builder_.CreateOr(keep, builder_.CreateFCmpUNO(right, right)), left,
                               right);
}

Value* ExprEmitter::compare(Op op, DType dtype, Value* left, Value* right) {
  const bool is_signed = facts(dtype).is_signed;
  const bool floats = is_float(dtype);
  switch (op) {
    case Op::eq:
      return floats ? builder_.CreateFCmpOEQ(left, right) : builder_.CreateICmpEQ(left, right);
    case Op::ne:
      return floats ? builder_.CreateFCmpUNE(left, right) : builder_.CreateICmpNE(left, right);
    case Op::lt:
      if (floats) return builder_.CreateFCmpOLT(left, right);
      return is_signed ? builder_.CreateICmpSLT(left, right) : builder_.CreateICmpULT(left, right);
    default:
      if (floats) return builder_.CreateFCmpOLE(left, right);
      return is_signed ? builder_.CreateICmpSLE(left, right) : builder_.CreateICmpULE(left, right);
  }
}

// Halves, then the halves of the halves: log2(lanes) steps, in an order that ir/expr.h leaves free.
Value* ExprEmitter::reduce(Op op, DType dtype, Value* vector) {
  const auto combine = [&](Value* a, Value* b) {
    const Op scalar = op == Op::reduce_add   ? Op::add
                      : op == Op::reduce_mul ? Op::mul
                      : op == Op::reduce_min ? Op::min
                                             : Op::max;
    return is_float(dtype) ? float_binary(scalar, a, b) : integer_binary(scalar, dtype, a, b);
  };
  const auto* type = llvm::cast<llvm::FixedVectorType>(vector->getType());
  int lanes = static_cast<int>(type->getNumElements());
  Value* odd = nullptr;
  for (; lanes > 1; lanes /= 2) {
    if (lanes % 2 == 1) {
      Value* last = builder_.CreateExtractElement(vector, static_cast<uint64_t>(lanes - 1));
      odd = odd == nullptr ? last : combine(odd, last);
    }
    llvm::SmallVector<int> low;
    llvm::SmallVector<int> high;
    for (int i = 0; i < lanes / 2; ++i) {
      low.push_back(i);
      high.push_back(lanes / 2 + i);
    }
    vector = combine(builder_.CreateShuffleVector(vector, low),
                     builder_.CreateShuffleVector(vector, high));
  }
  Value* result = builder_.CreateExtractElement(vector, uint64_t{0});
  return odd == nullptr ? result : combine(result, odd);
}

Value* ExprEmitter::fused(Value* x, Value* y, Value* z) {
  if (!target_.fma) return exact_fma(builder_, x, y, z);
  return builder_.CreateIntrinsic(Intrinsic::fma, {x->getType()}, {x, y, z});
}

// The operands stand in the expansion as leaves whose values are known.
Value* ExprEmitter::math(const Expr& expr) {
  const DType dtype = expr->dtype == DType::f64 ? DType::f64 : DType::f32;
  std::vector<Expr> leaves;
  for (const Expr& arg : expr->args) {
    leaves.push_back(reg_expr(0, dtype, arg->lanes));
    known_[leaves.back().get()] = to_float_dtype(value(arg), arg->dtype, dtype);
  }
  kept_.insert(kept_.end(), leaves.begin(), leaves.end());
  const Expr expanded =
      expand_math(expr->op, leaves[0], leaves.size() > 1 ? leaves[1] : nullptr, target_.f64);
  Value* result = value(expanded);
  return native_half_ && expr->dtype == DType::f16 ? to_float_dtype(result, dtype, DType::f16)
                                                   : result;
}

Value* ExprEmitter::ramp(Value* base, Value* stride, int lanes) {
  std::vector<llvm::Constant*> steps;
  for (int i = 0; i < lanes; ++i)
    steps.push_back(llvm::ConstantInt::get(base->getType(), static_cast<uint64_t>(i)));
  const unsigned count = static_cast<unsigned>(lanes);
  return builder_.CreateAdd(builder_.CreateVectorSplat(count, base),
                            builder_.CreateMul(builder_.CreateVectorSplat(count, stride),
                                               llvm::ConstantVector::get(steps)));
}

// Reads of memory in an arm happen only where the arm is picked: by a branch for a scalar
// condition, by a mask on every read for a vector one.
Value* ExprEmitter::select(const Expr& expr) {
  const Expr& condition = expr->args[0];
  const bool reads = reads_memory(expr->args[1]) || reads_memory(expr->args[2]);
  Value* picked = value(condition);
  if (!reads) return builder_.CreateSelect(picked, value(expr->args[1]), value(expr->args[2]));
  if (condition->lanes == 1)
    return branch(
        picked, [&] { return value(expr->args[1]); }, [&] { return value(expr->args[2]); });
  const Known known = known_;
  Value* outer = mask_;
  const auto under = [&](Value* mask, const Expr& arm) {
    mask_ = both_masks(outer, mask);
    Value* result = value(arm);
    known_ = known;
    mask_ = outer;
    return result;
  };
  Value* if_true = under(picked, expr->args[1]);
  Value* if_false = under(builder_.CreateNot(picked), expr->args[2]);
  return builder_.CreateSelect(picked, if_true, if_false);
}

Value* ExprEmitter::both_masks(Value* outer, Value* inner) {
  if (outer == nullptr) return inner;
  if (inner == nullptr) return outer;
  if (outer->getType() == inner->getType()) return builder_.CreateAnd(outer, inner);
  Value* any = any_lane(outer);
  if (const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(inner->getType()))
    any = builder_.CreateVectorSplat(type->getNumElements(), any);
  return builder_.CreateAnd(any, inner);
}

Value* ExprEmitter::any_lane(Value* mask) {
  return mask->getType()->isVectorTy() ? builder_.CreateOrReduce(mask) : mask;
}

// Values made in an arm are not known after it.
Value* ExprEmitter::branch(Value* condition, const std::function<Value*()>& if_true,
                           const std::function<Value*()>& if_false) {
  llvm::LLVMContext& context = builder_.getContext();
  llvm::Function* function = frame_.function;
  auto* then_block = llvm::BasicBlock::Create(context, "", function);
  auto* else_block = llvm::BasicBlock::Create(context, "", function);
  auto* after = llvm::BasicBlock::Create(context, "", function);
  builder_.CreateCondBr(condition, then_block, else_block);
  const Known known = known_;
  builder_.SetInsertPoint(then_block);
  Value* first = if_true();
  llvm::BasicBlock* then_end = builder_.GetInsertBlock();
  builder_.CreateBr(after);
  known_ = known;
  builder_.SetInsertPoint(else_block);
  Value* second = if_false();
  llvm::BasicBlock* else_end = builder_.GetInsertBlock();
  builder_.CreateBr(after);
  known_ = known;
  builder_.SetInsertPoint(after);
  if (first == nullptr) return nullptr;
  llvm::PHINode* phi = builder_.CreatePHI(first->getType(), 2);
  phi->addIncoming(first, then_end);
  phi->addIncoming(second, else_end);
  return phi;
}

Value* ExprEmitter::only_if(Value* condition, llvm::Type* type,
                            const std::function<Value*()>& make) {
  return branch(condition, make, [&] { return llvm::Constant::getNullValue(type); });
}

}  // namespace hone
