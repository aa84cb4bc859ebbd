// SPDX-License-Identifier: Apache-2.0
//
// Casts between all element types, and the forms that f16 and bf16 have in memory.
#include "codegen/llvm_internal.h"

#include <cmath>

namespace hone {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

namespace {

DType dtype_of(const Value* value) {
  return value->getType()->getScalarType()->isDoubleTy() ? DType::f64 : DType::f32;
}

}  // namespace

Value* ExprEmitter::cast(const Expr& expr) {
  const DType from = expr->args[0]->dtype;
  const DType to = expr->dtype;
  Value* operand = value(expr->args[0]);
  if (expr->op == Op::bitcast) return from_bits(bits_of(operand, from), to);
  if (to == DType::b1) {
    if (is_float(from))
      return builder_.CreateFCmpUNE(operand, llvm::ConstantFP::get(operand->getType(), 0.0));
    return builder_.CreateICmpNE(operand, llvm::Constant::getNullValue(operand->getType()));
  }
  if (is_float(to)) {
    if (is_float(from)) return to_float_dtype(operand, from, to);
    return integer_to_float(operand, from, to);
  }
  if (is_float(from)) {
    const DType wide = from == DType::f64 ? DType::f64 : DType::f32;
    return float_to_integer(expr->op, to_float_dtype(operand, from, wide), to);
  }
  if (expr->op == Op::saturate) operand = clamped(operand, from, to);
  llvm::Type* type = type_of(to, expr->lanes);
  return facts(from).is_signed ? builder_.CreateSExtOrTrunc(operand, type)
                               : builder_.CreateZExtOrTrunc(operand, type);
}

Value* ExprEmitter::clamped(Value* value, DType from, DType to) {
  const bool is_signed = facts(from).is_signed;
  const auto number = [&](int64_t bound) {
    return llvm::ConstantInt::get(value->getType(), static_cast<uint64_t>(bound));
  };
  if (lowest(to) > lowest(from))
    value = builder_.CreateBinaryIntrinsic(is_signed ? Intrinsic::smax : Intrinsic::umax, value,
                                           number(lowest(to)));
  if (highest(to) < highest(from))
    value = builder_.CreateBinaryIntrinsic(is_signed ? Intrinsic::smin : Intrinsic::umin, value,
                                           number(highest(to)));
  return value;
}

// `value` is f32 or f64. Out of range is unspecified, but no poison: it may steer an address.
Value* ExprEmitter::float_to_integer(Op op, Value* value, DType to) {
  llvm::Type* type = like(value->getType(), type_of(to, 1));
  if (to == DType::i64 && !traits_.wide) return float_to_i64(builder_, value);
  const bool by_lrint = target_.isa == Isa::riscv64 && type->isVectorTy();
  if (by_lrint && to == DType::i64) value = to_float_dtype(value, dtype_of(value), DType::f64);
  const bool wide = dtype_of(value) == DType::f64;
  const bool exact_bounds = bytes_of(to) < 4 || (wide && to == DType::i32);
  if (op == Op::saturate && !exact_bounds && !by_lrint)
    return builder_.CreateIntrinsic(Intrinsic::fptosi_sat, {type, value->getType()}, {value});
  const auto number = [&](double bound) { return llvm::ConstantFP::get(value->getType(), bound); };
  const double beyond = std::ldexp(1.0, static_cast<int>(8 * bytes_of(to)) - 1);
  Value* above = builder_.CreateFCmpOGE(value, number(beyond));
  if (op == Op::saturate) {
    const double below_beyond = beyond - std::ldexp(beyond, wide ? -53 : -24);
    value = builder_.CreateSelect(builder_.CreateFCmpORD(value, value), value, number(0));
    value = float_min_max(Op::max, value, number(static_cast<double>(lowest(to))));
    value = float_min_max(Op::min, value,
                          number(exact_bounds ? static_cast<double>(highest(to)) : below_beyond));
  }
  Value* whole = nullptr;
  if (by_lrint) {
    // QEMU 7.2 dies of RISC-V's vector conversions that truncate; this one rounds as floats do.
    value = round_by_adding(builder_, RoundTo::zero, value);
    llvm::Type* same = like(type, wide ? builder_.getInt64Ty() : builder_.getInt32Ty());
    whole = builder_.CreateIntrinsic(Intrinsic::lrint, {same, value->getType()}, {value});
  } else {
    whole =
        builder_.CreateFPToSI(value, to == DType::i64 ? type : like(type, builder_.getInt32Ty()));
  }
  whole = builder_.CreateTrunc(builder_.CreateFreeze(whole), type);
  if (op != Op::saturate || exact_bounds) return whole;
  return builder_.CreateSelect(
      above, llvm::ConstantInt::get(type, static_cast<uint64_t>(highest(to))), whole);
}

Value* ExprEmitter::integer_to_float(Value* value, DType from, DType to) {
  llvm::Type* type =
      like(value->getType(), to == DType::f64 ? builder_.getDoubleTy() : builder_.getFloatTy());
  Value* result = nullptr;
  if (from == DType::i64 && !traits_.wide)
    result = i64_to_float(builder_, value, type);
  else
    result = facts(from).is_signed ? builder_.CreateSIToFP(value, type)
                                   : builder_.CreateUIToFP(value, type);
  return to == DType::f64 ? result : to_float_dtype(result, DType::f32, to);
}

// To f16 and bf16 the value is rounded, also where its type stays f32.
Value* ExprEmitter::to_float_dtype(Value* value, DType from, DType to) {
  if (from == to) return value;
  const auto shaped = [&](llvm::Type* element) { return like(value->getType(), element); };
  if (to == DType::f64) return builder_.CreateFPExt(value, shaped(builder_.getDoubleTy()));
  if (to == DType::f32)
    return from == DType::f64 ? builder_.CreateFPTrunc(value, shaped(builder_.getFloatTy()))
           : value->getType()->getScalarType()->isHalfTy()
               ? builder_.CreateFPExt(value, shaped(builder_.getFloatTy()))
               : value;
  if (from == DType::f64) value = f64_to_f32_odd(builder_, value);
  if (value->getType()->getScalarType()->isHalfTy())
    value = builder_.CreateFPExt(value, shaped(builder_.getFloatTy()));
  if (to == DType::f16 && native_half_)
    return builder_.CreateFPTrunc(value, shaped(builder_.getHalfTy()));
  return from_memory(to_memory(value, to), to);
}

llvm::Type* ExprEmitter::memory_type(DType dtype, int lanes) const {
  llvm::LLVMContext& context = builder_.getContext();
  llvm::Type* type = type_of(dtype, lanes);
  if (dtype == DType::b1) return like(type, llvm::Type::getInt8Ty(context));
  if (dtype == DType::bf16) return like(type, llvm::Type::getInt16Ty(context));
  if (dtype == DType::f16)
    return like(type, target_.f16_conversion ? llvm::Type::getHalfTy(context)
                                             : llvm::Type::getInt16Ty(context));
  return type;
}

Value* ExprEmitter::from_memory(Value* stored, DType dtype) {
  switch (dtype) {
    case DType::b1:
      return builder_.CreateICmpNE(stored, llvm::Constant::getNullValue(stored->getType()));
    case DType::bf16:
      return bf16_bits_to_f32(builder_, stored);
    case DType::f16:
      if (native_half_) return stored;
      if (target_.f16_conversion)
        return builder_.CreateFPExt(stored, like(stored->getType(), builder_.getFloatTy()));
      return f16_bits_to_f32(builder_, stored);
    default:
      return stored;
  }
}

Value* ExprEmitter::to_memory(Value* value, DType dtype) {
  switch (dtype) {
    case DType::b1:
      return builder_.CreateZExt(value, like(value->getType(), builder_.getInt8Ty()));
    case DType::bf16:
      return f32_to_bf16_bits(builder_, value);
    case DType::f16:
      if (native_half_) return value;
      if (target_.f16_conversion)
        return builder_.CreateFPTrunc(value, like(value->getType(), builder_.getHalfTy()));
      return f32_to_f16_bits(builder_, value);
    default:
      return value;
  }
}

Value* ExprEmitter::bits_of(Value* value, DType dtype) {
  if (!is_float(dtype)) return value;
  Value* stored = to_memory(value, dtype);
  const unsigned width = static_cast<unsigned>(8 * bytes_of(dtype));
  return builder_.CreateBitCast(stored, like(stored->getType(), builder_.getIntNTy(width)));
}

Value* ExprEmitter::from_bits(Value* bits, DType dtype) {
  if (!is_float(dtype)) return bits;
  return from_memory(builder_.CreateBitCast(bits, like(bits->getType(), memory_type(dtype, 1))),
                     dtype);
}

}  // namespace hone
