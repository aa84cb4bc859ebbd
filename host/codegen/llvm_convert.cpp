// SPDX-License-Identifier: Apache-2.0
//
// Where an instruction is missing LLVM calls compiler-rt or libm, which no device is asked to have.
// So these are spelled out in integer and plain float operations, for scalars and vectors alike.
#include "codegen/llvm_internal.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <llvm/Transforms/Utils/IntegerDivision.h>
#pragma GCC diagnostic pop

namespace hone {

using llvm::Value;

namespace {

Value* splat(llvm::Type* type, uint64_t bits) { return llvm::ConstantInt::get(type, bits); }

// Plain IEEE arithmetic, whatever the builder's flags are.
class Exact {
 public:
  explicit Exact(Builder& b) : guard_(b) { b.clearFastMathFlags(); }

 private:
  Builder::FastMathFlagGuard guard_;
};

struct FloatLayout {
  int mantissa;
  int bias;
  llvm::Type* bits;  // integer type of the same shape
};

FloatLayout layout_of(Builder& b, llvm::Type* type) {
  if (type->getScalarType()->isFloatTy()) return {23, 127, like(type, b.getInt32Ty())};
  return {52, 1023, like(type, b.getInt64Ty())};
}

// An unsigned division of 64 bits on a machine without one: a function of the module that shifts
// and subtracts.
llvm::Function* division_function(llvm::Module& module) {
  constexpr const char* kName = "hone_divide64";
  if (llvm::Function* known = module.getFunction(kName)) return known;
  llvm::Type* word = llvm::Type::getInt64Ty(module.getContext());
  auto* function = llvm::Function::Create(llvm::FunctionType::get(word, {word, word}, false),
                                          llvm::Function::InternalLinkage, kName, module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr(llvm::Attribute::NoInline);
  Builder b(llvm::BasicBlock::Create(module.getContext(), "", function));
  Value* quotient = b.CreateUDiv(function->getArg(0), function->getArg(1));
  b.CreateRet(quotient);
  llvm::expandDivisionUpTo64Bits(llvm::cast<llvm::BinaryOperator>(quotient));
  return function;
}

Value* divide64(Builder& b, Value* left, Value* right) {
  llvm::Function* function = division_function(*b.GetInsertBlock()->getModule());
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(left->getType());
  if (vector == nullptr) return b.CreateCall(function, {left, right});
  Value* all = llvm::PoisonValue::get(left->getType());
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane)
    all = b.CreateInsertElement(all,
                                b.CreateCall(function, {b.CreateExtractElement(left, lane),
                                                        b.CreateExtractElement(right, lane)}),
                                lane);
  return all;
}

// Rounded towards zero; the divisor is neither 0 nor -1.
Value* truncated_division(Builder& b, Value* left, Value* right, bool is_signed, bool wide) {
  if (wide || left->getType()->getScalarSizeInBits() < 64)
    return is_signed ? b.CreateSDiv(left, right) : b.CreateUDiv(left, right);
  if (!is_signed) return divide64(b, left, right);
  const auto size = [&](Value* value) {
    return b.CreateIntrinsic(llvm::Intrinsic::abs, {value->getType()}, {value, b.getFalse()});
  };
  Value* quotient = divide64(b, size(left), size(right));
  Value* negative = b.CreateICmpSLT(b.CreateXor(left, right), splat(left->getType(), 0));
  return b.CreateSelect(negative, b.CreateNeg(quotient), quotient);
}

// A divisor known to be positive; null otherwise.
const llvm::ConstantInt* positive_constant(Value* value) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  if (constant != nullptr && constant->getType()->isVectorTy())
    constant = constant->getSplatValue();
  auto* integer = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant);
  return integer != nullptr && integer->getValue().isStrictlyPositive() ? integer : nullptr;
}

Value* floor_quotient_by_constant(Builder& b, Value* left, Value* right,
                                  const llvm::ConstantInt& divisor, bool is_signed, bool wide) {
  llvm::Type* type = left->getType();
  const uint64_t bits = type->getScalarSizeInBits();
  if (divisor.getValue().isPowerOf2()) {
    Value* count = splat(type, divisor.getValue().logBase2());
    return is_signed ? b.CreateAShr(left, count) : b.CreateLShr(left, count);
  }
  if (!is_signed) return truncated_division(b, left, right, false, wide);
  // floor(a / d) = ~(~a / d) for a < 0, so one unsigned division serves both signs.
  Value* sign = b.CreateAShr(left, splat(type, bits - 1));
  Value* quotient = truncated_division(b, b.CreateXor(left, sign), right, false, wide);
  return b.CreateXor(quotient, sign);
}

// Moves the last bit of |value| such that it is odd, towards where `direction` says the truth lies.
Value* make_odd(Builder& b, Value* value, Value* inexact, Value* away_from_zero) {
  const FloatLayout layout = layout_of(b, value->getType());
  Value* bits = b.CreateBitCast(value, layout.bits);
  Value* even = b.CreateICmpEQ(b.CreateAnd(bits, splat(layout.bits, 1)), splat(layout.bits, 0));
  Value* moved = b.CreateSelect(away_from_zero, b.CreateAdd(bits, splat(layout.bits, 1)),
                                b.CreateSub(bits, splat(layout.bits, 1)));
  Value* odd = b.CreateSelect(b.CreateAnd(inexact, even), moved, bits);
  return b.CreateBitCast(odd, value->getType());
}

Value* fabs(Builder& b, Value* value) {
  return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
}

struct TwoValues {
  Value* high;
  Value* low;  // what high misses, exactly
};

TwoValues exact_sum(Builder& b, Value* x, Value* y) {
  Value* sum = b.CreateFAdd(x, y);
  Value* part = b.CreateFSub(sum, x);
  Value* low = b.CreateFAdd(b.CreateFSub(x, b.CreateFSub(sum, part)), b.CreateFSub(y, part));
  return {sum, low};
}

// Halves of 26 and 27 bits by Veltkamp's splitting, multiplied after Dekker.
TwoValues exact_product(Builder& b, Value* x, Value* y) {
  const auto split = [&](Value* value) -> TwoValues {
    Value* large = b.CreateFMul(value, llvm::ConstantFP::get(value->getType(), 134217729.0));
    Value* high = b.CreateFSub(large, b.CreateFSub(large, value));
    return {high, b.CreateFSub(value, high)};
  };
  const TwoValues a = split(x);
  const TwoValues c = split(y);
  Value* product = b.CreateFMul(x, y);
  Value* rest = b.CreateFSub(b.CreateFMul(a.high, c.high), product);
  rest = b.CreateFAdd(rest, b.CreateFMul(a.high, c.low));
  rest = b.CreateFAdd(rest, b.CreateFMul(a.low, c.high));
  return {product, b.CreateFAdd(rest, b.CreateFMul(a.low, c.low))};
}

Value* odd_sum(Builder& b, Value* x, Value* y) {
  const TwoValues sum = exact_sum(b, x, y);
  Value* zero = llvm::ConstantFP::get(x->getType(), 0.0);
  Value* inexact = b.CreateFCmpONE(sum.low, zero);
  Value* away = b.CreateICmpEQ(b.CreateFCmpOGT(sum.low, zero), b.CreateFCmpOGT(sum.high, zero));
  return make_odd(b, sum.high, inexact, away);
}

}  // namespace

llvm::Type* like(llvm::Type* shape, llvm::Type* element) {
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(shape))
    return llvm::FixedVectorType::get(element, vector->getNumElements());
  return element;
}

Value* f16_bits_to_f32(Builder& b, Value* bits) {
  const Exact exact(b);
  llvm::Type* word = like(bits->getType(), b.getInt32Ty());
  llvm::Type* single = like(bits->getType(), b.getFloatTy());
  Value* wide = b.CreateZExt(bits, word);
  Value* sign = b.CreateShl(b.CreateAnd(wide, splat(word, 0x8000)), splat(word, 16));
  Value* rest = b.CreateShl(b.CreateAnd(wide, splat(word, 0x7fff)), splat(word, 13));
  // The exponent is 112 too small; a multiplication sets that right for denormal numbers too.
  Value* scaled =
      b.CreateFMul(b.CreateBitCast(rest, single), llvm::ConstantFP::get(single, 0x1p112));
  Value* special = b.CreateICmpUGE(rest, splat(word, 0x7c00U << 13));
  Value* magnitude = b.CreateSelect(special, b.CreateOr(rest, splat(word, 0x7f800000)),
                                    b.CreateBitCast(scaled, word));
  return b.CreateBitCast(b.CreateOr(magnitude, sign), single);
}

Value* f32_to_f16_bits(Builder& b, Value* value) {
  const Exact exact(b);
  llvm::Type* word = like(value->getType(), b.getInt32Ty());
  Value* bits = b.CreateBitCast(value, word);
  Value* sign = b.CreateAnd(b.CreateLShr(bits, splat(word, 16)), splat(word, 0x8000));
  Value* size = b.CreateAnd(bits, splat(word, 0x7fffffff));
  // Adding ½ moves a denormal's last bit to the last bit of the sum, which rounds it.
  Value* small =
      b.CreateSub(b.CreateBitCast(b.CreateFAdd(b.CreateBitCast(size, value->getType()),
                                               llvm::ConstantFP::get(value->getType(), 0.5)),
                                  word),
                  splat(word, 0x3f000000));
  Value* odd = b.CreateAnd(b.CreateLShr(size, splat(word, 13)), splat(word, 1));
  Value* normal = b.CreateLShr(
      b.CreateAdd(b.CreateAdd(size, odd), splat(word, 0xfffU - (112U << 23))), splat(word, 13));
  Value* nan = b.CreateICmpUGT(size, splat(word, 0x7f800000));
  Value* huge = b.CreateSelect(nan, splat(word, 0x7e00), splat(word, 0x7c00));
  Value* finite = b.CreateSelect(b.CreateICmpULT(size, splat(word, 0x38800000)), small, normal);
  Value* magnitude = b.CreateSelect(b.CreateICmpUGE(size, splat(word, 0x47800000)), huge, finite);
  return b.CreateTrunc(b.CreateOr(magnitude, sign), like(word, b.getInt16Ty()));
}

Value* bf16_bits_to_f32(Builder& b, Value* bits) {
  llvm::Type* word = like(bits->getType(), b.getInt32Ty());
  return b.CreateBitCast(b.CreateShl(b.CreateZExt(bits, word), splat(word, 16)),
                         like(word, b.getFloatTy()));
}

Value* f32_to_bf16_bits(Builder& b, Value* value) {
  llvm::Type* word = like(value->getType(), b.getInt32Ty());
  Value* bits = b.CreateBitCast(value, word);
  Value* odd = b.CreateAnd(b.CreateLShr(bits, splat(word, 16)), splat(word, 1));
  Value* rounded = b.CreateAdd(b.CreateAdd(bits, odd), splat(word, 0x7fff));
  Value* top = b.CreateLShr(rounded, splat(word, 16));
  Value* result = b.CreateSelect(b.CreateFCmpUNO(value, value), splat(word, 0x7fc0), top);
  return b.CreateTrunc(result, like(word, b.getInt16Ty()));
}

Value* f64_to_f32_odd(Builder& b, Value* value) {
  const Exact exact(b);
  Value* single = b.CreateFPTrunc(value, like(value->getType(), b.getFloatTy()));
  Value* back = b.CreateFPExt(single, value->getType());
  return make_odd(b, single, b.CreateFCmpONE(back, value),
                  b.CreateFCmpOLT(fabs(b, back), fabs(b, value)));
}

Value* i64_to_float(Builder& b, Value* value, llvm::Type* to) {
  llvm::Type* word = value->getType();
  const FloatLayout layout = layout_of(b, to);
  const uint64_t mantissa = static_cast<uint64_t>(layout.mantissa);
  const uint64_t dropped = 63 - mantissa;
  Value* size = b.CreateIntrinsic(llvm::Intrinsic::abs, {word}, {value, b.getFalse()});
  Value* zeros = b.CreateIntrinsic(llvm::Intrinsic::ctlz, {word}, {size, b.getFalse()});
  Value* top = b.CreateShl(size, b.CreateAnd(zeros, splat(word, 63)));
  Value* kept = b.CreateLShr(top, splat(word, dropped));
  Value* rest = b.CreateAnd(top, splat(word, (uint64_t{1} << dropped) - 1));
  Value* half = splat(word, uint64_t{1} << (dropped - 1));
  Value* odd = b.CreateTrunc(kept, like(word, b.getInt1Ty()));
  Value* up = b.CreateOr(b.CreateICmpUGT(rest, half), b.CreateAnd(b.CreateICmpEQ(rest, half), odd));
  Value* exponent = b.CreateSub(splat(word, 63 + static_cast<uint64_t>(layout.bias) - 1), zeros);
  // `kept` brings the leading one, which is the 1 that the exponent lacks.
  Value* bits = b.CreateAdd(b.CreateAdd(b.CreateShl(exponent, splat(word, mantissa)), kept),
                            b.CreateZExt(up, word));
  bits = b.CreateSelect(b.CreateICmpEQ(size, splat(word, 0)), splat(word, 0), bits);
  Value* negative = b.CreateICmpSLT(value, splat(word, 0));
  const uint64_t sign = layout.mantissa == 23 ? uint64_t{1} << 31 : uint64_t{1} << 63;
  bits = b.CreateSelect(negative, b.CreateOr(bits, splat(word, sign)), bits);
  return b.CreateBitCast(b.CreateTrunc(bits, layout.bits), to);
}

Value* float_to_i64(Builder& b, Value* value) {
  llvm::Type* word = like(value->getType(), b.getInt64Ty());
  const FloatLayout layout = layout_of(b, value->getType());
  const uint64_t mantissa = static_cast<uint64_t>(layout.mantissa);
  const bool single = layout.mantissa == 23;
  Value* bits = b.CreateZExt(b.CreateBitCast(value, layout.bits), word);
  Value* fraction = b.CreateAnd(bits, splat(word, (uint64_t{1} << mantissa) - 1));
  Value* whole = b.CreateOr(fraction, splat(word, uint64_t{1} << mantissa));
  Value* biased =
      b.CreateAnd(b.CreateLShr(bits, splat(word, mantissa)), splat(word, single ? 0xff : 0x7ff));
  Value* exponent = b.CreateSub(biased, splat(word, static_cast<uint64_t>(layout.bias)));
  Value* below = b.CreateSub(splat(word, mantissa), exponent);
  const auto bounded = [&](Value* count) { return b.CreateAnd(count, splat(word, 63)); };
  Value* size =
      b.CreateSelect(b.CreateICmpSGT(below, splat(word, 0)), b.CreateLShr(whole, bounded(below)),
                     b.CreateShl(whole, bounded(b.CreateNeg(below))));
  size = b.CreateSelect(b.CreateICmpSLT(exponent, splat(word, 0)), splat(word, 0), size);
  Value* negative = b.CreateICmpNE(
      b.CreateAnd(bits, splat(word, uint64_t{1} << (single ? 31 : 63))), splat(word, 0));
  Value* result = b.CreateSelect(negative, b.CreateNeg(size), size);
  Value* limit = b.CreateSelect(negative, splat(word, uint64_t{1} << 63),
                                splat(word, (uint64_t{1} << 63) - 1));
  result = b.CreateSelect(b.CreateICmpSGE(exponent, splat(word, 63)), limit, result);
  return b.CreateSelect(b.CreateFCmpUNO(value, value), splat(word, 0), result);
}

Value* floor_division(Builder& b, Op op, Value* left, Value* right, bool is_signed, bool wide) {
  llvm::Type* type = left->getType();
  if (const llvm::ConstantInt* divisor = positive_constant(right)) {
    Value* quotient = floor_quotient_by_constant(b, left, right, *divisor, is_signed, wide);
    if (op == Op::div) return quotient;
    if (divisor->getValue().isPowerOf2())
      return b.CreateAnd(left, llvm::ConstantInt::get(type, divisor->getValue() - 1));
    return b.CreateSub(left, b.CreateMul(quotient, right));
  }
  Value* zero = splat(type, 0);
  Value* by_zero = b.CreateICmpEQ(right, zero);
  Value* by_minus_one =
      is_signed ? b.CreateICmpEQ(right, llvm::Constant::getAllOnesValue(type)) : by_zero;
  Value* safe = b.CreateSelect(b.CreateOr(by_zero, by_minus_one), splat(type, 1), right);
  Value* quotient = truncated_division(b, left, safe, is_signed, wide);
  Value* rest = b.CreateSub(left, b.CreateMul(quotient, safe));
  Value* adjust = llvm::ConstantInt::getFalse(by_zero->getType());
  if (is_signed)
    adjust =
        b.CreateAnd(b.CreateICmpNE(rest, zero), b.CreateICmpSLT(b.CreateXor(rest, safe), zero));
  if (op == Op::mod) return b.CreateAdd(rest, b.CreateSelect(adjust, safe, zero));
  quotient = b.CreateSub(quotient, b.CreateZExt(adjust, type));
  if (is_signed) quotient = b.CreateSelect(by_minus_one, b.CreateNeg(left), quotient);
  return b.CreateSelect(by_zero, zero, quotient);
}

Value* exact_fma(Builder& b, Value* x, Value* y, Value* z) {
  const Exact exact(b);
  llvm::Type* wide = like(x->getType(), b.getDoubleTy());
  if (x->getType() != wide) {
    // Products of f32 are exact in f64; the sum is rounded to odd and so rounded only once.
    Value* product = b.CreateFMul(b.CreateFPExt(x, wide), b.CreateFPExt(y, wide));
    return b.CreateFPTrunc(odd_sum(b, product, b.CreateFPExt(z, wide)), x->getType());
  }
  // After Boldo and Melquiond, "Emulation of FMA and correctly rounded sums" (2008); good unless a
  // product's parts leave the exponent range.
  const TwoValues product = exact_product(b, x, y);
  const TwoValues lower = exact_sum(b, z, product.low);
  const TwoValues upper = exact_sum(b, product.high, lower.high);
  Value* fused = b.CreateFAdd(upper.high, odd_sum(b, lower.low, upper.low));
  Value* plain = b.CreateFAdd(product.high, z);
  return b.CreateSelect(b.CreateFCmpUNO(fused, fused), plain, fused);
}

Value* round_by_adding(Builder& b, RoundTo direction, Value* value) {
  const Exact exact(b);
  llvm::Type* type = value->getType();
  const auto number = [&](double constant) { return llvm::ConstantFP::get(type, constant); };
  Value* large = number(type->getScalarType()->isFloatTy() ? 0x1p23 : 0x1p52);
  Value* size = fabs(b, value);
  Value* near = b.CreateFSub(b.CreateFAdd(size, large), large);
  if (direction == RoundTo::zero)
    near = b.CreateSelect(b.CreateFCmpOGT(near, size), b.CreateFSub(near, number(1)), near);
  near = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, near, value);
  if (direction == RoundTo::below)
    near = b.CreateSelect(b.CreateFCmpOGT(near, value), b.CreateFSub(near, number(1)), near);
  if (direction == RoundTo::above)
    near = b.CreateSelect(b.CreateFCmpOLT(near, value), b.CreateFAdd(near, number(1)), near);
  return b.CreateSelect(b.CreateFCmpOLT(size, large), near, value);
}

}  // namespace hone
