// SPDX-License-Identifier: Apache-2.0
//
// Semantics are those at the top of ir/expr.h. Nothing here may become a call: floor division,
// rounding, half precision and reductions are written out where some target would call a library.
#include "codegen/llvm_values.h"

#include <llvm/IR/Intrinsics.h>

namespace hone {
namespace {

bool has_load(const Expr& expr) {
  bool found = false;
  walk(expr, [&](const ExprNode& node) { found = found || node.op == Op::load; });
  return found;
}

bool is_vector(llvm::Value* value) { return value->getType()->isVectorTy(); }

}  // namespace

llvm::Type* ValueWriter::index_type() const {
  return builder_.getIntNTy(static_cast<unsigned>(target_.pointer_bits));
}

llvm::Type* ValueWriter::type_of(DType dtype, int lanes) const {
  llvm::Type* scalar = nullptr;
  switch (dtype) {
    case DType::b1:
      scalar = builder_.getInt1Ty();
      break;
    case DType::i8:
    case DType::u8:
      scalar = builder_.getInt8Ty();
      break;
    case DType::i16:
    case DType::f16:
    case DType::bf16:
      scalar = builder_.getInt16Ty();
      break;
    case DType::i32:
      scalar = builder_.getInt32Ty();
      break;
    case DType::i64:
      scalar = builder_.getInt64Ty();
      break;
    case DType::f32:
      scalar = builder_.getFloatTy();
      break;
    case DType::f64:
      scalar = builder_.getDoubleTy();
      break;
  }
  if (lanes == 1) return scalar;
  return llvm::FixedVectorType::get(scalar, static_cast<unsigned>(lanes));
}

llvm::Type* ValueWriter::memory_type(DType dtype, int lanes) const {
  return type_of(dtype == DType::b1 ? DType::u8 : dtype, lanes);
}

llvm::Value* ValueWriter::from_memory(DType dtype, llvm::Value* stored) {
  if (dtype != DType::b1) return stored;
  return builder_.CreateICmpNE(stored, llvm::Constant::getNullValue(stored->getType()));
}

llvm::Value* ValueWriter::to_memory(DType dtype, llvm::Value* value) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  const int lanes = vector == nullptr ? 1 : static_cast<int>(vector->getNumElements());
  llvm::Type* wanted = memory_type(dtype, lanes);
  if (value->getType() == wanted) return value;
  return dtype == DType::b1 ? builder_.CreateZExt(value, wanted)
                            : builder_.CreateSExtOrTrunc(value, wanted);
}

llvm::Value* ValueWriter::splat(llvm::Value* scalar, int lanes) {
  return lanes == 1 ? scalar : builder_.CreateVectorSplat(static_cast<unsigned>(lanes), scalar);
}

llvm::Value* ValueWriter::value(const Expr& expr) {
  if (const auto known = known_.find(expr.get()); known != known_.end()) return known->second;
  llvm::Value* result = write(*expr);
  known_[expr.get()] = result;
  return result;
}

llvm::Value* ValueWriter::index(const Expr& expr) {
  llvm::Value* result = value(expr);
  llvm::Type* wanted = index_type();
  if (is_vector(result)) {
    wanted = llvm::FixedVectorType::get(
        wanted, llvm::cast<llvm::FixedVectorType>(result->getType())->getNumElements());
  }
  return builder_.CreateSExtOrTrunc(result, wanted);
}

llvm::Value* ValueWriter::write(const ExprNode& node) {
  switch (node.op) {
    case Op::constant:
      return constant(node);
    case Op::var: {
      llvm::Value* var = state_.vars[static_cast<size_t>(node.id)];
      ENSURE(var != nullptr, "variable {} is not bound", kernel_.vars[VarId{node.id}]);
      return var;
    }
    case Op::reg: {
      llvm::Value*& reg = state_.registers[static_cast<size_t>(node.id)];
      if (reg == nullptr) reg = llvm::Constant::getNullValue(type_of(node.dtype, node.lanes));
      return reg;
    }
    case Op::load:
      return load(node);
    case Op::select:
      return select(node);
    case Op::broadcast:
      return splat(value(node.args[0]), node.lanes);
    case Op::ramp: {
      llvm::Value* base = value(node.args[0]);
      llvm::Value* stride = value(node.args[1]);
      match_integers(base, stride);
      std::vector<llvm::Constant*> steps;
      for (int lane = 0; lane < node.lanes; ++lane)
        steps.push_back(llvm::ConstantInt::get(base->getType(), static_cast<uint64_t>(lane)));
      return builder_.CreateAdd(
          splat(base, node.lanes),
          builder_.CreateMul(splat(stride, node.lanes), llvm::ConstantVector::get(steps)));
    }
    case Op::extract:
      return builder_.CreateExtractElement(value(node.args[0]),
                                           static_cast<uint64_t>(node.args[1]->int_value));
    case Op::fma: {
      llvm::Value* a = value(node.args[0]);
      llvm::Value* b = value(node.args[1]);
      llvm::Value* c = value(node.args[2]);
      if (!target_.fma) return builder_.CreateFAdd(builder_.CreateFMul(a, b), c);
      return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
    }
    case Op::cast:
    case Op::saturate:
    case Op::bitcast:
      return cast(node, value(node.args[0]));
    case Op::reduce_add:
    case Op::reduce_mul:
    case Op::reduce_min:
    case Op::reduce_max:
      return reduce(node, value(node.args[0]));
    default:
      break;
  }
  if (node.args.size() == 1) return unary(node, value(node.args[0]));
  ENSURE(node.args.size() == 2, "operation {} in a kernel", facts(node.op).name);
  llvm::Value* a = value(node.args[0]);
  llvm::Value* b = value(node.args[1]);
  return binary(node, a, b);
}

llvm::Value* ValueWriter::constant(const ExprNode& node) {
  llvm::Constant* scalar = nullptr;
  if (is_float(node.dtype)) {
    if (node.dtype == DType::f16) {
      scalar = builder_.getInt16(to_f16_bits(node.float_value));
    } else if (node.dtype == DType::bf16) {
      scalar = builder_.getInt16(to_bf16_bits(node.float_value));
    } else {
      scalar = llvm::ConstantFP::get(type_of(node.dtype, 1), node.float_value);
    }
  } else if (node.dtype == DType::i64 && target_.pointer_bits == 32 &&
             node.int_value == static_cast<int32_t>(node.int_value)) {
    scalar = llvm::ConstantInt::getSigned(builder_.getInt32Ty(), node.int_value);
  } else {
    scalar = llvm::ConstantInt::getSigned(type_of(node.dtype, 1), node.int_value);
  }
  if (node.lanes == 1) return scalar;
  return llvm::ConstantVector::getSplat(
      llvm::ElementCount::getFixed(static_cast<unsigned>(node.lanes)), scalar);
}

// base + variable part, then the constant part: the latter folds into addressing modes, the former
// is shared by neighbouring elements.
llvm::Value* ValueWriter::address(BufferId buffer, const Expr& expr) {
  llvm::Type* element = memory_type(kernel_.buffers[buffer].dtype, 1);
  llvm::Value* base = state_.buffers[static_cast<size_t>(buffer.value)];
  if (expr->op == Op::constant) return builder_.CreateInBoundsGEP(element, base, index(expr));
  Expr variable = expr;
  int64_t offset = 0;
  while (variable->op == Op::add && is_constant(variable->args[1])) {
    offset += variable->args[1]->int_value;
    variable = variable->args[0];
  }
  llvm::Value* pointer = builder_.CreateInBoundsGEP(element, base, index(variable));
  if (offset == 0) return pointer;
  return builder_.CreateInBoundsGEP(element, pointer,
                                    llvm::ConstantInt::getSigned(index_type(), offset));
}

llvm::Value* ValueWriter::addresses(BufferId buffer, const Expr& expr) {
  llvm::Type* element = memory_type(kernel_.buffers[buffer].dtype, 1);
  return builder_.CreateInBoundsGEP(element, state_.buffers[static_cast<size_t>(buffer.value)],
                                    index(expr));
}

llvm::Value* ValueWriter::load(const ExprNode& node) {
  const BufferId buffer{node.id};
  const Expr& index_expr = node.args[0];
  llvm::Type* type = memory_type(node.dtype, node.lanes);
  const llvm::Align align(static_cast<uint64_t>(bytes_of(node.dtype)));
  llvm::Value* mask = node.args.size() > 1 ? value(node.args[1]) : nullptr;
  if (mask_ != nullptr && node.lanes > 1)
    mask = mask == nullptr ? mask_ : builder_.CreateAnd(mask, mask_);
  llvm::Value* loaded = nullptr;
  if (index_expr->lanes > 1) {
    if (mask == nullptr) mask = splat(builder_.getTrue(), node.lanes);
    loaded = builder_.CreateMaskedGather(type, addresses(buffer, index_expr), align, mask,
                                         llvm::Constant::getNullValue(type));
  } else if (mask != nullptr && node.lanes > 1) {
    loaded = builder_.CreateMaskedLoad(type, address(buffer, index_expr), align, mask,
                                       llvm::Constant::getNullValue(type));
  } else {
    loaded = builder_.CreateAlignedLoad(type, address(buffer, index_expr), align);
  }
  return from_memory(node.dtype, loaded);
}

void ValueWriter::store(const KernelStore& store) {
  const DType dtype = kernel_.buffers[store.buffer].dtype;
  const llvm::Align align(static_cast<uint64_t>(bytes_of(dtype)));
  llvm::Value* stored = to_memory(dtype, value(store.value));
  if (store.index->lanes > 1) {
    llvm::Value* mask =
        store.mask ? value(store.mask) : splat(builder_.getTrue(), store.index->lanes);
    builder_.CreateMaskedScatter(stored, addresses(store.buffer, store.index), align, mask);
  } else if (store.mask && is_vector(stored)) {
    llvm::Value* mask = value(store.mask);
    builder_.CreateMaskedStore(stored, address(store.buffer, store.index), align, mask);
  } else {
    ENSURE(!store.mask, "a scalar store with a mask");
    builder_.CreateAlignedStore(stored, address(store.buffer, store.index), align);
  }
}

// Arms that load are only computed where they are picked: a branch for scalars, masked loads for
// vectors.
llvm::Value* ValueWriter::select(const ExprNode& node) {
  llvm::Value* condition = value(node.args[0]);
  const bool loads = has_load(node.args[1]) || has_load(node.args[2]);
  if (loads && !is_vector(condition)) return scalar_branches(node, condition);
  llvm::Value* outer_mask = mask_;
  const auto arm = [&](const Expr& expr, llvm::Value* lanes) {
    if (!loads) return value(expr);
    mask_ = outer_mask == nullptr ? lanes : builder_.CreateAnd(outer_mask, lanes);
    const auto saved = known_;  // what an arm loads is not good outside of it
    llvm::Value* result = value(expr);
    known_ = saved;
    mask_ = outer_mask;
    return result;
  };
  llvm::Value* if_true = arm(node.args[1], condition);
  llvm::Value* if_false = arm(node.args[2], loads ? builder_.CreateNot(condition) : nullptr);
  match_integers(if_true, if_false);
  return builder_.CreateSelect(condition, if_true, if_false);
}

llvm::Value* ValueWriter::scalar_branches(const ExprNode& node, llvm::Value* condition) {
  llvm::LLVMContext& context = builder_.getContext();
  auto* then_block = llvm::BasicBlock::Create(context, "then", state_.function);
  auto* else_block = llvm::BasicBlock::Create(context, "else", state_.function);
  auto* join = llvm::BasicBlock::Create(context, "join", state_.function);
  builder_.CreateCondBr(condition, then_block, else_block);
  llvm::Value* results[2];
  llvm::BasicBlock* ends[2];
  for (int arm = 0; arm < 2; ++arm) {
    builder_.SetInsertPoint(arm == 0 ? then_block : else_block);
    const auto saved = known_;
    results[arm] = value(node.args[static_cast<size_t>(arm + 1)]);
    if (node.dtype == DType::i64)
      results[arm] = builder_.CreateSExt(results[arm], type_of(DType::i64, node.lanes));
    known_ = saved;
    ends[arm] = builder_.GetInsertBlock();
    builder_.CreateBr(join);
  }
  builder_.SetInsertPoint(join);
  llvm::PHINode* phi = builder_.CreatePHI(results[0]->getType(), 2);
  phi->addIncoming(results[0], ends[0]);
  phi->addIncoming(results[1], ends[1]);
  return phi;
}

// Index values and i64 data differ in width on 32-bit targets; the narrower one is widened.
void ValueWriter::match_integers(llvm::Value*& a, llvm::Value*& b) {
  if (a->getType() == b->getType() || !a->getType()->isIntOrIntVectorTy()) return;
  if (a->getType()->getScalarSizeInBits() < b->getType()->getScalarSizeInBits()) {
    a = builder_.CreateSExt(a, b->getType());
  } else {
    b = builder_.CreateSExt(b, a->getType());
  }
}

llvm::Value* ValueWriter::unary(const ExprNode& node, llvm::Value* x) {
  const bool floating = is_float(node.dtype);
  llvm::Value* zero = llvm::Constant::getNullValue(x->getType());
  switch (node.op) {
    case Op::neg:
      return floating ? builder_.CreateFNeg(x) : builder_.CreateNeg(x);
    case Op::logical_not:
      return builder_.CreateNot(x);
    case Op::abs:
      if (floating) return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
      if (!facts(node.dtype).is_signed) return x;
      return builder_.CreateSelect(builder_.CreateICmpSLT(x, zero), builder_.CreateNeg(x), x);
    case Op::sqrt:
      return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
    case Op::floor:
    case Op::ceil:
    case Op::round:
      return floating ? rounding(node.op, x) : x;
    default:
      ENSURE(false, "operation {} in a kernel", facts(node.op).name);
      return nullptr;
  }
}

// 32-bit Arm before v8 has no instruction; there an integer conversion serves values below 2^23,
// and larger ones are whole already.
llvm::Value* ValueWriter::rounding(Op op, llvm::Value* x) {
  const bool written_out = target_.isa == Isa::armv7a || target_.isa == Isa::armv7em;
  if (!written_out) {
    const auto id = op == Op::floor  ? llvm::Intrinsic::floor
                    : op == Op::ceil ? llvm::Intrinsic::ceil
                                     : llvm::Intrinsic::roundeven;
    return builder_.CreateUnaryIntrinsic(id, x);
  }
  llvm::Type* type = x->getType();
  llvm::Value* big = llvm::ConstantFP::get(type, 8388608.0);
  llvm::Value* one = llvm::ConstantFP::get(type, 1.0);
  llvm::Value* size = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value* result = nullptr;
  if (op == Op::round) {
    llvm::Value* rounded = builder_.CreateFSub(builder_.CreateFAdd(size, big), big);
    result = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, rounded, x);
  } else {
    llvm::Type* integer = type->getWithNewBitWidth(32);
    if (type->isVectorTy()) {
      integer = llvm::FixedVectorType::get(
          builder_.getInt32Ty(), llvm::cast<llvm::FixedVectorType>(type)->getNumElements());
    } else {
      integer = builder_.getInt32Ty();
    }
    llvm::Value* whole = builder_.CreateSIToFP(
        builder_.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {integer, type}, {x}), type);
    llvm::Value* off =
        op == Op::floor ? builder_.CreateFCmpOGT(whole, x) : builder_.CreateFCmpOLT(whole, x);
    llvm::Value* moved =
        op == Op::floor ? builder_.CreateFSub(whole, one) : builder_.CreateFAdd(whole, one);
    result = builder_.CreateSelect(off, moved, whole);
  }
  return builder_.CreateSelect(builder_.CreateFCmpOLT(size, big), result, x);
}

llvm::Value* ValueWriter::binary(const ExprNode& node, llvm::Value* a, llvm::Value* b) {
  const DType operands = node.args[0]->dtype;
  switch (node.op) {
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
      return compare(node.op, operands, a, b);
    case Op::logical_and:
      return builder_.CreateAnd(a, b);
    case Op::logical_or:
      return builder_.CreateOr(a, b);
    case Op::min:
    case Op::max:
      return min_max(node.op == Op::min, node.dtype, a, b);
    default:
      break;
  }
  return is_float(node.dtype) ? float_binary(node.op, a, b)
                              : integer_binary(node.op, node.dtype, a, b);
}

llvm::Value* ValueWriter::float_binary(Op op, llvm::Value* a, llvm::Value* b) {
  switch (op) {
    case Op::add:
      return builder_.CreateFAdd(a, b);
    case Op::sub:
      return builder_.CreateFSub(a, b);
    case Op::mul:
      return builder_.CreateFMul(a, b);
    case Op::div:
      return builder_.CreateFDiv(a, b);
    default:
      ENSURE(false, "operation {} on floats in a kernel", facts(op).name);
      return nullptr;
  }
}

llvm::Value* ValueWriter::integer_binary(Op op, DType dtype, llvm::Value* a, llvm::Value* b) {
  match_integers(a, b);
  const unsigned bits = a->getType()->getScalarSizeInBits();
  switch (op) {
    case Op::add:
      return builder_.CreateAdd(a, b);
    case Op::sub:
      return builder_.CreateSub(a, b);
    case Op::mul:
      return builder_.CreateMul(a, b);
    case Op::div:
    case Op::mod:
      return floor_division(op, dtype, a, b);
    case Op::bit_and:
      return builder_.CreateAnd(a, b);
    case Op::bit_or:
      return builder_.CreateOr(a, b);
    case Op::bit_xor:
      return builder_.CreateXor(a, b);
    case Op::shl:
    case Op::shr: {
      llvm::Value* count = builder_.CreateAnd(b, llvm::ConstantInt::get(b->getType(), bits - 1));
      if (op == Op::shl) return builder_.CreateShl(a, count);
      return facts(dtype).is_signed ? builder_.CreateAShr(a, count) : builder_.CreateLShr(a, count);
    }
    default:
      ENSURE(false, "operation {} on integers in a kernel", facts(op).name);
      return nullptr;
  }
}

llvm::Value* ValueWriter::compare(Op op, DType dtype, llvm::Value* a, llvm::Value* b) {
  if (is_float(dtype)) {
    switch (op) {
      case Op::eq:
        return builder_.CreateFCmpOEQ(a, b);
      case Op::ne:
        return builder_.CreateFCmpUNE(a, b);
      case Op::lt:
        return builder_.CreateFCmpOLT(a, b);
      default:
        return builder_.CreateFCmpOLE(a, b);
    }
  }
  match_integers(a, b);
  const bool is_signed = facts(dtype).is_signed;
  switch (op) {
    case Op::eq:
      return builder_.CreateICmpEQ(a, b);
    case Op::ne:
      return builder_.CreateICmpNE(a, b);
    case Op::lt:
      return is_signed ? builder_.CreateICmpSLT(a, b) : builder_.CreateICmpULT(a, b);
    default:
      return is_signed ? builder_.CreateICmpSLE(a, b) : builder_.CreateICmpULE(a, b);
  }
}

// Floor, with 0 for a zero divisor. A constant divisor needs none of the guards.
llvm::Value* ValueWriter::floor_division(Op op, DType dtype, llvm::Value* a, llvm::Value* b) {
  const bool is_div = op == Op::div;
  llvm::Type* type = a->getType();
  llvm::Value* zero = llvm::Constant::getNullValue(type);
  llvm::Value* one = llvm::ConstantInt::get(type, 1);
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(b);
  if (constant != nullptr && constant->isZero()) return zero;
  const bool known = constant != nullptr && !constant->isMinusOne();
  llvm::Value* divides_by_zero = known ? nullptr : builder_.CreateICmpEQ(b, zero);
  llvm::Value* divisor = known ? b : builder_.CreateSelect(divides_by_zero, one, b);
  llvm::Value* result = nullptr;
  if (!facts(dtype).is_signed) {
    result = is_div ? builder_.CreateUDiv(a, divisor) : builder_.CreateURem(a, divisor);
  } else {
    // -1 apart: the lowest value over -1 has no quotient in the type; it wraps.
    llvm::Value* negates =
        known ? nullptr : builder_.CreateICmpEQ(b, llvm::Constant::getAllOnesValue(type));
    if (!known) divisor = builder_.CreateSelect(negates, one, divisor);
    llvm::Value* quotient = builder_.CreateSDiv(a, divisor);
    llvm::Value* rest = builder_.CreateSub(a, builder_.CreateMul(quotient, divisor));
    llvm::Value* inexact = builder_.CreateICmpNE(rest, zero);
    llvm::Value* signs_differ = builder_.CreateICmpSLT(builder_.CreateXor(rest, divisor), zero);
    llvm::Value* off = builder_.CreateAnd(inexact, signs_differ);
    if (is_div) {
      result = builder_.CreateSelect(off, builder_.CreateSub(quotient, one), quotient);
      if (!known) result = builder_.CreateSelect(negates, builder_.CreateNeg(a), result);
    } else {
      result = builder_.CreateSelect(off, builder_.CreateAdd(rest, divisor), rest);
      if (!known) result = builder_.CreateSelect(negates, zero, result);
    }
  }
  return known ? result : builder_.CreateSelect(divides_by_zero, zero, result);
}

llvm::Value* ValueWriter::min_max(bool is_min, DType dtype, llvm::Value* a, llvm::Value* b) {
  if (!is_float(dtype)) {
    match_integers(a, b);
    llvm::Value* first = is_min ? compare(Op::lt, dtype, a, b) : compare(Op::lt, dtype, b, a);
    return builder_.CreateSelect(first, a, b);
  }
  // Where a is NaN the comparison fails and b is taken; where b is NaN, a has to be put back.
  if (llvm::isa<llvm::Constant>(a)) std::swap(a, b);
  llvm::Value* first = is_min ? builder_.CreateFCmpOLT(a, b) : builder_.CreateFCmpOGT(a, b);
  llvm::Value* picked = builder_.CreateSelect(first, a, b);
  if (llvm::isa<llvm::Constant>(b)) return picked;
  return builder_.CreateSelect(builder_.CreateFCmpUNO(b, b), a, picked);
}

llvm::Value* ValueWriter::cast(const ExprNode& node, llvm::Value* x) {
  const DType from = node.args[0]->dtype;
  const DType to = node.dtype;
  llvm::Type* type = type_of(to, node.lanes);
  if (node.op == Op::bitcast) return x->getType() == type ? x : builder_.CreateBitCast(x, type);
  if (to == from) return x;
  if (from == DType::f16 || from == DType::bf16) {
    llvm::Value* single = widen_half(from, x);
    if (to == DType::f32) return single;
    x = single;
  }
  const DType source = from == DType::f16 || from == DType::bf16 ? DType::f32 : from;
  if (to == DType::f16 || to == DType::bf16) {
    llvm::Type* single = type_of(DType::f32, node.lanes);
    if (!is_float(source)) {
      x = facts(source).is_signed ? builder_.CreateSIToFP(x, single)
                                  : builder_.CreateUIToFP(x, single);
    } else if (source == DType::f64) {
      x = builder_.CreateFPTrunc(x, single);
    }
    return narrow_half(to, x);
  }
  if (node.op == Op::saturate && !is_float(to)) return saturate(to, source, x);
  if (to == DType::b1) {
    llvm::Value* zero = llvm::Constant::getNullValue(x->getType());
    return is_float(source) ? builder_.CreateFCmpUNE(x, zero) : builder_.CreateICmpNE(x, zero);
  }
  if (is_float(source) && is_float(to)) return builder_.CreateFPCast(x, type);
  if (is_float(to))
    return facts(source).is_signed ? builder_.CreateSIToFP(x, type)
                                   : builder_.CreateUIToFP(x, type);
  if (is_float(source)) {
    // Truncation; through i32 for the narrow types, which wrap.
    if (bytes_of(to) >= 4) return builder_.CreateFPToSI(x, type);
    return builder_.CreateTrunc(builder_.CreateFPToSI(x, type_of(DType::i32, node.lanes)), type);
  }
  if (to == DType::i64 && target_.pointer_bits == 32 && bytes_of(source) <= 4) {
    type = node.lanes == 1
               ? index_type()
               : llvm::FixedVectorType::get(index_type(), static_cast<unsigned>(node.lanes));
  }
  return facts(source).is_signed ? builder_.CreateSExtOrTrunc(x, type)
                                 : builder_.CreateZExtOrTrunc(x, type);
}

llvm::Value* ValueWriter::saturate(DType to, DType from, llvm::Value* x) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  llvm::Type* type =
      type_of(to, vector == nullptr ? 1 : static_cast<int>(vector->getNumElements()));
  if (is_float(from)) {
    const auto id = facts(to).is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return builder_.CreateIntrinsic(id, {type, x->getType()}, {x});
  }
  const unsigned bits = x->getType()->getScalarSizeInBits();
  const auto clamp_to = [&](int64_t bound, bool is_min) {
    if (bits < 64 && (bound < -(int64_t{1} << (bits - 1)) || bound > (int64_t{1} << bits) - 1))
      return;
    if (from != DType::u8 && bits < 64 && bound > (int64_t{1} << (bits - 1)) - 1) return;
    llvm::Value* limit = llvm::ConstantInt::getSigned(x->getType(), bound);
    x = min_max(is_min, from, x, limit);
  };
  if (facts(from).is_signed || !facts(to).is_signed) {
    if (facts(from).is_signed) clamp_to(lowest(to), false);
    clamp_to(highest(to), true);
  } else {
    clamp_to(highest(to), true);
  }
  return facts(from).is_signed ? builder_.CreateSExtOrTrunc(x, type)
                               : builder_.CreateZExtOrTrunc(x, type);
}

llvm::Value* ValueWriter::widen_half(DType from, llvm::Value* bits) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(bits->getType());
  const int lanes = vector == nullptr ? 1 : static_cast<int>(vector->getNumElements());
  llvm::Type* wide = type_of(DType::i32, lanes);
  llvm::Type* single = type_of(DType::f32, lanes);
  const auto number = [&](uint64_t value) { return llvm::ConstantInt::get(wide, value); };
  llvm::Value* w = builder_.CreateZExt(bits, wide);
  if (from == DType::bf16) return builder_.CreateBitCast(builder_.CreateShl(w, number(16)), single);
  if (target_.f16_conversion) {
    llvm::Type* half = builder_.getHalfTy();
    if (lanes > 1) half = llvm::FixedVectorType::get(half, static_cast<unsigned>(lanes));
    return builder_.CreateFPExt(builder_.CreateBitCast(bits, half), single);
  }
  // Magnitude moved into place and scaled by 2^112: exact, denormals included; infinities and NaN
  // get the full exponent back.
  llvm::Value* sign = builder_.CreateShl(builder_.CreateAnd(w, number(0x8000)), number(16));
  llvm::Value* magnitude = builder_.CreateShl(builder_.CreateAnd(w, number(0x7fff)), number(13));
  llvm::Value* scaled = builder_.CreateFMul(builder_.CreateBitCast(magnitude, single),
                                            llvm::ConstantFP::get(single, 0x1p112));
  llvm::Value* special = builder_.CreateICmpUGE(magnitude, number(0x7c00 << 13));
  llvm::Value* finite = builder_.CreateBitCast(scaled, wide);
  llvm::Value* result =
      builder_.CreateSelect(special, builder_.CreateOr(magnitude, number(0x7f800000)), finite);
  return builder_.CreateBitCast(builder_.CreateOr(result, sign), single);
}

llvm::Value* ValueWriter::narrow_half(DType to, llvm::Value* x) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  const int lanes = vector == nullptr ? 1 : static_cast<int>(vector->getNumElements());
  llvm::Type* wide = type_of(DType::i32, lanes);
  llvm::Type* narrow = type_of(DType::i16, lanes);
  llvm::Type* single = type_of(DType::f32, lanes);
  const auto number = [&](uint64_t value) { return llvm::ConstantInt::get(wide, value); };
  if (to == DType::f16 && target_.f16_conversion) {
    llvm::Type* half = builder_.getHalfTy();
    if (lanes > 1) half = llvm::FixedVectorType::get(half, static_cast<unsigned>(lanes));
    return builder_.CreateBitCast(builder_.CreateFPTrunc(x, half), narrow);
  }
  llvm::Value* w = builder_.CreateBitCast(x, wide);
  llvm::Value* sign = builder_.CreateLShr(builder_.CreateAnd(w, number(0x80000000)), number(16));
  llvm::Value* magnitude = builder_.CreateAnd(w, number(0x7fffffff));
  llvm::Value* is_nan = builder_.CreateICmpUGT(magnitude, number(0x7f800000));
  const int shift = to == DType::bf16 ? 16 : 13;
  // Round to nearest even on the bits: add half a unit, less one where the kept part is even.
  const auto rounded = [&](llvm::Value* v) {
    llvm::Value* odd =
        builder_.CreateAnd(builder_.CreateLShr(v, number(static_cast<uint64_t>(shift))), number(1));
    llvm::Value* half = number((uint64_t{1} << (shift - 1)) - 1);
    return builder_.CreateLShr(builder_.CreateAdd(v, builder_.CreateAdd(half, odd)),
                               number(static_cast<uint64_t>(shift)));
  };
  if (to == DType::bf16) {
    llvm::Value* bits = builder_.CreateSelect(is_nan, number(0x7fc0), rounded(magnitude));
    return builder_.CreateTrunc(builder_.CreateOr(bits, sign), narrow);
  }
  // Normal results have the exponent moved by 112; small ones are aligned by adding 0.5, whose last
  // bit is worth the smallest denormal.
  llvm::Value* normal = rounded(builder_.CreateSub(magnitude, number(uint64_t{112} << 23)));
  llvm::Value* aligned = builder_.CreateFAdd(builder_.CreateBitCast(magnitude, single),
                                             llvm::ConstantFP::get(single, 0.5));
  llvm::Value* denormal =
      builder_.CreateSub(builder_.CreateBitCast(aligned, wide), number(0x3f000000));
  llvm::Value* is_small = builder_.CreateICmpULT(magnitude, number(0x38800000));
  llvm::Value* is_large = builder_.CreateICmpUGE(magnitude, number(0x477ff000));
  llvm::Value* bits = builder_.CreateSelect(is_small, denormal, normal);
  bits = builder_.CreateSelect(is_large, number(0x7c00), bits);
  bits = builder_.CreateSelect(is_nan, number(0x7e00), bits);
  return builder_.CreateTrunc(builder_.CreateOr(bits, sign), narrow);
}

// Halves folded onto each other; lanes that are no power of two go one by one.
llvm::Value* ValueWriter::reduce(const ExprNode& node, llvm::Value* vector) {
  const auto combine = [&](llvm::Value* a, llvm::Value* b) -> llvm::Value* {
    switch (node.op) {
      case Op::reduce_min:
        return min_max(true, node.dtype, a, b);
      case Op::reduce_max:
        return min_max(false, node.dtype, a, b);
      case Op::reduce_mul:
        return is_float(node.dtype) ? builder_.CreateFMul(a, b) : builder_.CreateMul(a, b);
      default:
        return is_float(node.dtype) ? builder_.CreateFAdd(a, b) : builder_.CreateAdd(a, b);
    }
  };
  unsigned lanes = llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
  while (lanes > 1 && lanes % 2 == 0) {
    std::vector<int> low;
    std::vector<int> high;
    for (unsigned i = 0; i < lanes / 2; ++i) {
      low.push_back(static_cast<int>(i));
      high.push_back(static_cast<int>(i + lanes / 2));
    }
    vector = combine(builder_.CreateShuffleVector(vector, low),
                     builder_.CreateShuffleVector(vector, high));
    lanes /= 2;
  }
  llvm::Value* result = builder_.CreateExtractElement(vector, uint64_t{0});
  for (unsigned i = 1; i < lanes; ++i)
    result = combine(result, builder_.CreateExtractElement(vector, uint64_t{i}));
  return result;
}

}  // namespace hone
