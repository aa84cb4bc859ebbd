// SPDX-License-Identifier: Apache-2.0
//
// The functions that C99 has only in libraries, or not with our rules: $ stands for the prefix, T
// for the type, U for its unsigned twin, and ${kind} for another helper of the same type.
#include "codegen/c_helpers.h"

#include <cmath>

#include "base/result.h"
#include "codegen/c_internal.h"
#include "codegen/math.h"

namespace hone {
namespace {

struct Helper {
  const char* kind;
  const char* text;
};

constexpr Helper kHelpers[] = {
    {"div", R"(static T NAME(T a, T b) {
  if (b == 0) return 0;
  if (b == -1) return (T)((U)0 - (U)a);
  const T q = (T)(a / b);
  const T r = (T)(a % b);
  return (T)(r != 0 && (r < 0) != (b < 0) ? q - 1 : q);
}
)"},
    {"mod", R"(static T NAME(T a, T b) {
  if (b == 0 || b == -1) return 0;
  const T r = (T)(a % b);
  return (T)(r != 0 && (r < 0) != (b < 0) ? r + b : r);
}
)"},
    {"unsigned_div", "static T NAME(T a, T b) { return (T)(b == 0 ? 0 : a / b); }\n"},
    {"unsigned_mod", "static T NAME(T a, T b) { return (T)(b == 0 ? 0 : a % b); }\n"},
    {"index_div", R"(static intptr_t NAME(intptr_t a, intptr_t b) {
  if (b == 0) return 0;
  const intptr_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
)"},
    {"index_mod", R"(static intptr_t NAME(intptr_t a, intptr_t b) {
  if (b == 0) return 0;
  const intptr_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
)"},
    {"index_min", "static intptr_t NAME(intptr_t a, intptr_t b) { return a < b ? a : b; }\n"},
    {"index_max", "static intptr_t NAME(intptr_t a, intptr_t b) { return a > b ? a : b; }\n"},
    {"min", "static T NAME(T a, T b) { return a < b ? a : b; }\n"},
    {"max", "static T NAME(T a, T b) { return a > b ? a : b; }\n"},
    {"float_min", "static T NAME(T a, T b) { return a <= b || b != b ? a : b; }\n"},
    {"float_max", "static T NAME(T a, T b) { return a >= b || b != b ? a : b; }\n"},
    {"shr", R"(static T NAME(T a, T count) {
  const int n = (int)((U)count % BITSu);
  return a < 0 ? (T)~(T)((U)(T)~a >> n) : (T)((U)a >> n);
}
)"},
    {"to_bits", R"(static U NAME(T value) {
  union { T value; U bits; } both;
  both.value = value;
  return both.bits;
}
)"},
    {"from_bits", R"(static T NAME(U bits) {
  union { T value; U bits; } both;
  both.bits = bits;
  return both.value;
}
)"},
    {"abs",
     "static T NAME(T a) { return ${from_bits}(${to_bits}(a) & (U)~((U)1 << (BITSu - 1u))); }\n"},
    {"copysign", R"(static T NAME(T a, T sign) {
  const U top = (U)1 << (BITSu - 1u);
  return ${from_bits}((${to_bits}(a) & (U)~top) | (${to_bits}(sign) & top));
}
)"},
    {"round", R"(static T NAME(T a) {
  const T size = ${abs}(a);
  return size < LARGE ? ${copysign}((size + LARGE) - LARGE, a) : a;
}
)"},
    {"floor", R"(static T NAME(T a) {
  const T near = ${round}(a);
  return near > a ? near - 1 : near;
}
)"},
    {"ceil", R"(static T NAME(T a) {
  const T near = ${round}(a);
  return near < a ? ${copysign}(near + 1, a) : near;
}
)"},
    // Digit by digit, so that the last bit is right without a square root instruction.
    {"sqrt", R"(static T NAME(T a) {
  const U bits = ${to_bits}(a);
  int exponent = (int)(bits >> MANTISSA);
  U rest = bits & (((U)1 << MANTISSA) - 1u);
  if (a == 0 || a != a) return a;
  if (a < 0) return ${from_bits}((((U)1 << (BITS - MANTISSA)) - 1u) << (MANTISSA - 1));
  if (exponent == (1 << (BITS - 1 - MANTISSA)) - 1) return a;
  if (exponent != 0) rest |= (U)1 << MANTISSA;
  for (exponent += exponent == 0; rest >> MANTISSA == 0; --exponent) rest <<= 1;
  exponent -= BIAS;
  if (exponent % 2 != 0) {
    rest <<= 1;
    --exponent;
  }
  U remainder = 0;
  U root = 0;
  for (int at = MANTISSA; at >= -2 - MANTISSA; at -= 2) {
    const U pair = (at >= 0 ? rest >> at : at == -1 ? rest << 1 : 0) & 3u;
    const U trial = (root << 2) | 1u;
    remainder = (remainder << 2) | pair;
    root <<= 1;
    if (remainder >= trial) {
      remainder -= trial;
      root |= 1u;
    }
  }
  root = (root >> 1) + (root & 1u);
  return ${from_bits}((U)(((U)(exponent / 2 + BIAS) << MANTISSA) + (root - ((U)1 << MANTISSA))));
}
)"},
    // x + y, rounded such that a later rounding to fewer bits gives what rounding once gives.
    {"odd_sum", R"(#if !HAS_FMA
static double NAME(double x, double y) {
  union { double value; uint64_t bits; } sum;
  sum.value = x + y;
  const double part = sum.value - x;
  const double low = (x - (sum.value - part)) + (y - part);
  if (low == 0 || low != low || (sum.bits & 1u) != 0) return sum.value;
  if ((low > 0) == (sum.value > 0))
    ++sum.bits;
  else
    --sum.bits;
  return sum.value;
}
#endif
)"},
    // After Boldo and Melquiond, as in llvm_convert.cpp.
    {"wide_fma", R"(#if !HAS_FMA
static double NAME(double a, double b, double c) {
  const double product = a * b;
  const double a_large = a * 134217729.0;
  const double a_high = a_large - (a_large - a);
  const double b_large = b * 134217729.0;
  const double b_high = b_large - (b_large - b);
  const double rest = (a_high * b_high - product) + a_high * (b - b_high) + (a - a_high) * b_high +
                      (a - a_high) * (b - b_high);
  const double lower = c + rest;
  const double lower_part = lower - c;
  const double lower_rest = (c - (lower - lower_part)) + (rest - lower_part);
  const double upper = product + lower;
  const double upper_part = upper - product;
  const double upper_rest = (product - (upper - upper_part)) + (lower - upper_part);
  const double fused = upper + ${odd_sum}(lower_rest, upper_rest);
  return fused == fused ? fused : product + c;
}
#endif
)"},
    {"fma", R"(#if HAS_FMA
#define NAME BUILTIN_FMA
#else
static T NAME(T a, T b, T c) { return FUSED; }
#endif
)"},
    {"f16_load", R"(static float NAME(uint16_t bits) {
  const uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
  const uint32_t rest = (uint32_t)(bits & 0x7fffu) << 13;
  if (rest >= 0x0f800000u) return ${from_bits}(sign | rest | 0x7f800000u);
  return ${from_bits}(sign | ${to_bits}(${from_bits}(rest) * 0x1p112f));
}
)"},
    {"f16_store", R"(static uint16_t NAME(float value) {
  const uint32_t bits = ${to_bits}(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
  if (size >= 0x47800000u) return (uint16_t)(sign | 0x7c00u);
  if (size < 0x38800000u)
    return (uint16_t)(sign | (${to_bits}(${from_bits}(size) + 0.5f) - 0x3f000000u));
  return (uint16_t)(sign | ((size + ((size >> 13) & 1u) + 0xfffu - 0x38000000u) >> 13));
}
)"},
    {"bf16_load",
     "static float NAME(uint16_t bits) { return ${from_bits}((uint32_t)bits << 16); }\n"},
    {"bf16_store", R"(static uint16_t NAME(float value) {
  const uint32_t bits = ${to_bits}(value);
  if (value != value) return 0x7fc0u;
  return (uint16_t)((bits + ((bits >> 16) & 1u) + 0x7fffu) >> 16);
}
)"},
    // To float such that a later rounding to fewer bits gives what rounding once gives.
    {"odd", R"(static float NAME(double value) {
  union { float value; uint32_t bits; } both;
  both.value = (float)value;
  if ((double)both.value == value || value != value || (both.bits & 1u) != 0) return both.value;
  if (((double)both.value < value) == (value > 0))
    ++both.bits;
  else
    --both.bits;
  return both.value;
}
)"},
};

// With these compilers inline a fused multiply-add; without, they would call libm.
constexpr const char* kHasFma =
    "(defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__riscv_flen))";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string replaced_word(const std::string& text, const std::string& from, const std::string& to) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const bool starts = at == 0 || !is_word(text[at - 1]);
    const size_t end = at + from.size();
    if (starts && text.compare(at, from.size(), from) == 0 &&
        (end >= text.size() || !is_word(text[end]) || to.empty() || text[end] == 'u')) {
      out += to;
      at = end;
    } else {
      out += text[at++];
    }
  }
  return out;
}

std::string unsigned_twin(DType dtype) { return fmt::format("uint{}_t", 8 * bytes_of(dtype)); }

}  // namespace

std::string c_type(DType dtype) {
  switch (dtype) {
    case DType::b1:
      return "int";
    case DType::f16:
    case DType::bf16:
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
    default:
      return fmt::format("{}int{}_t", facts(dtype).is_signed ? "" : "u", 8 * bytes_of(dtype));
  }
}

std::string c_memory_type(DType dtype) {
  if (dtype == DType::b1) return "uint8_t";
  if (dtype == DType::f16 || dtype == DType::bf16) return "uint16_t";
  return c_type(dtype);
}

std::string c_constant(const ExprNode& node, CHelpers& helpers) {
  if (is_float(node.dtype)) {
    const DType dtype = node.dtype == DType::f64 ? DType::f64 : DType::f32;
    const char* suffix = dtype == DType::f64 ? "" : "f";
    if (std::isfinite(node.float_value)) {
      const std::string text = fmt::format("{:a}{}", node.float_value, suffix);
      return std::signbit(node.float_value) ? "(" + text + ")" : text;
    }
    const bool nan = std::isnan(node.float_value);
    const bool negative = node.float_value < 0;
    const char* bits = dtype == DType::f64 ? (nan        ? "UINT64_C(0x7ff8000000000000)"
                                              : negative ? "UINT64_C(0xfff0000000000000)"
                                                         : "UINT64_C(0x7ff0000000000000)")
                                           : (nan        ? "0x7fc00000u"
                                              : negative ? "0xff800000u"
                                                         : "0x7f800000u");
    return fmt::format("{}({})", helpers.use("from_bits", dtype), bits);
  }
  if (node.dtype == DType::b1) return node.int_value != 0 ? "1" : "0";
  if (node.dtype == DType::i64) {
    if (node.int_value == INT64_MIN) return "(-INT64_C(9223372036854775807) - 1)";
    return node.int_value < 0 ? fmt::format("(-INT64_C({}))", -node.int_value)
                              : fmt::format("INT64_C({})", node.int_value);
  }
  if (node.int_value == INT32_MIN) return "(-2147483647 - 1)";
  if (node.dtype == DType::i32) return fmt::format("({})", node.int_value);
  return fmt::format("({})({})", c_type(node.dtype), node.int_value);
}

std::string CHelpers::use(const std::string& kind, DType dtype) {
  const bool wide = dtype == DType::f64;
  const bool half = dtype == DType::f16 || dtype == DType::bf16;
  const bool untyped = kind.starts_with("index_") || kind == "odd" || kind == "odd_sum" ||
                       kind == "wide_fma" || kind.ends_with("_load") || kind.ends_with("_store");
  const DType type = kind == "odd_sum" || kind == "wide_fma" ? DType::f64
                     : half                                  ? DType::f32
                                                             : dtype;
  const std::string name = untyped ? fmt::format("{}_{}", prefix_, kind)
                                   : fmt::format("{}_{}_{}", prefix_, kind, to_string(type));
  if (!written_.insert(name).second) return name;
  std::string text;
  for (const Helper& helper : kHelpers)
    if (kind == helper.kind) text = helper.text;
  ENSURE(!text.empty(), "no C helper {}", kind);
  text =
      replaced(text, "FUSED",
               wide ? "${wide_fma}(a, b, c)" : "(T)${odd_sum}((double)a * (double)b, (double)c)");
  for (size_t at = 0; (at = text.find("${", at)) != std::string::npos;) {
    const size_t end = text.find('}', at);
    text.replace(at, end - at + 1, use(text.substr(at + 2, end - at - 2), type));
  }
  const int bits = static_cast<int>(8 * bytes_of(type));
  text = replaced(text, "HAS_FMA", kHasFma);
  text = replaced(text, "NAME", name);
  text = replaced(text, "BUILTIN_FMA", wide ? "__builtin_fma" : "__builtin_fmaf");
  text = replaced_word(text, "LARGE", wide ? "0x1p52" : "0x1p23f");
  text = replaced_word(text, "MANTISSA", wide ? "52" : "23");
  text = replaced_word(text, "BIAS", wide ? "1023" : "127");
  text = replaced_word(text, "BITS", std::to_string(bits));
  text = replaced_word(text, "T", c_type(type));
  text = replaced_word(text, "U", unsigned_twin(type));
  text_ += text + "\n";
  return name;
}

std::string CHelpers::use_saturate(DType from, DType to) {
  const std::string name =
      fmt::format("{}_saturate_{}_{}", prefix_, to_string(from), to_string(to));
  if (!written_.insert(name).second) return name;
  const char* suffix = from == DType::f64 ? "" : "f";
  const int bits = static_cast<int>(8 * bytes_of(to)) - (facts(to).is_signed ? 1 : 0);
  text_ += fmt::format(
      "static {0} {1}({2} a) {{\n  if (a != a) return 0;\n"
      "  if (a >= {3:a}{4}) return {5};\n  if (a <= {6:a}{4}) return {7};\n"
      "  return ({0})a;\n}}\n\n",
      c_type(to), name, c_type(from), std::ldexp(1.0, bits), suffix,
      c_constant(*int_constant(highest(to), to), *this), static_cast<double>(lowest(to)),
      c_constant(*int_constant(lowest(to), to), *this));
  return name;
}

std::string CHelpers::use_math(Op op, DType dtype) {
  const std::string kind(op == Op::mod ? "float_mod" : facts(op).name);
  const std::string name = fmt::format("{}_{}_{}", prefix_, kind, to_string(dtype));
  if (!written_.insert(name).second) return name;
  const Expr a = reg_expr(0, dtype, 1);
  const Expr b = facts(op).arity > 1 ? reg_expr(1, dtype, 1) : nullptr;
  const Expr value = expand_math(op, a, b, true);
  CExprWriter writer(*this);
  writer.name_register(0, "a", 1);
  writer.name_register(1, "b", 1);
  std::string body;
  const std::string result = writer.shared_value(value, "  ", body);
  text_ += fmt::format("static {0} {1}({0} a{2}) {{\n{3}  return {4};\n}}\n\n", c_type(dtype), name,
                       b ? fmt::format(", {} b", c_type(dtype)) : "", body, result);
  return name;
}

}  // namespace hone
