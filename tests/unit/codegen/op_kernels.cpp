// SPDX-License-Identifier: Apache-2.0
#include "op_kernels.h"

#include <cmath>
#include <limits>

#include "base/result.h"
#include "base/rng.h"
#include "elements.h"
#include "kernels.h"

namespace hone::test {
namespace {

// A multiple of every lane count of the tests, and enough for every pair of special values.
constexpr int64_t kElements = 720;

std::vector<Expr> special_values(DType dtype, bool denormals) {
  std::vector<Expr> values;
  if (!is_float(dtype)) {
    for (const int64_t value :
         {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{2}, int64_t{7}, int64_t{-7}, int64_t{100},
          lowest(dtype), highest(dtype), highest(dtype) - 1, lowest(dtype) + 1, highest(dtype) / 3})
      values.push_back(int_constant(value, dtype));
    return values;
  }
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value :
       {0.0,   1.0,    -1.0, 0.5,     -0.5,     1.5,       2.5,          -2.5, 3.25, -7.75,
        100.0, -100.0, 1e-3, 1000.25, infinity, -infinity, std::nan(""), -0.0, 3.0,  -3.0, 12345.0})
    values.push_back(float_constant(value, dtype));
  if (denormals) values.push_back(float_constant(dtype == DType::f64 ? 1e-310 : 1e-40, dtype));
  if (denormals && dtype == DType::f16) values.push_back(float_constant(3e-6, dtype));
  return values;
}

// The first and the second operand meet in every pair of special values; the rest is random.
std::vector<Expr> operands(size_t position, DType dtype, bool denormals, Rng& rng) {
  const std::vector<Expr> special = special_values(dtype, denormals);
  const size_t pairs = special.size() * special.size();
  ENSURE(pairs < static_cast<size_t>(kElements));
  std::vector<Expr> values;
  if (position < 2)
    for (size_t i = 0; i < pairs; ++i)
      values.push_back(special[position == 0 ? i % special.size() : i / special.size()]);
  while (values.size() < static_cast<size_t>(kElements)) {
    const int64_t pick = rng.below(3);
    if (pick == 0)
      values.push_back(
          special[static_cast<size_t>(rng.below(static_cast<int64_t>(special.size())))]);
    else if (is_float(dtype))
      values.push_back(float_constant((rng.uniform() - 0.5) * (pick == 1 ? 8 : 60), dtype));
    else
      values.push_back(
          int_constant(pick == 1 ? static_cast<int64_t>(rng.next()) : rng.between(-20, 20), dtype));
  }
  return values;
}

double tolerance_of(Op op, DType dtype) {
  if (!is_float(dtype)) return 0;
  const bool small = dtype == DType::f16 || dtype == DType::bf16;
  switch (op) {
    case Op::exp:
    case Op::log:
    case Op::tanh:
    case Op::sigmoid:
    case Op::erf:
      return small ? 1 : 4;
    case Op::rsqrt:
      return 1;
    case Op::pow:
      return small ? 1 : dtype == DType::f32 ? 2 : 4096;
    case Op::mod:
      return small ? 1 : 0;
    default:
      return 0;
  }
}

class OpKernelMaker {
 public:
  explicit OpKernelMaker(const OpKernelOptions& options)
      : options_(options), rng_(static_cast<uint64_t>(options.dtype) * 64 + 7) {
    result_.kernel.name = "operations";
    result_.run.workspace_bytes = 64;
    const char* names[] = {"A", "B", "C"};
    for (size_t i = 0; i < 3; ++i) {
      inputs_[i] = operands(i, options.dtype, options.denormals, rng_);
      buffers_[i] = add_buffer(names[i], options.dtype, kElements, false);
      Bytes bytes;
      for (const Expr& value : inputs_[i]) put(bytes, value);
      result_.run.buffers.back() = bytes;
      registers_[i] = result_.kernel.registers.add({names[i], options.dtype, options.lanes});
      body_.push_back(set(registers_[i], vector_load_expr(buffers_[i], options.dtype, options.lanes,
                                                          times(at(i_var_), options.lanes))));
    }
    i_var_ = result_.kernel.vars.add("i");
  }

  OpKernel finish() {
    result_.kernel.body.push_back(loop(i_var_, 0, kElements / options_.lanes, std::move(body_)));
    result_.denormals = options_.denormals;
    return std::move(result_);
  }

  // `make` builds the operation from three operands, constants or registers alike.
  void add_lanes(const std::string& name, DType dtype, double tolerance,
                 const std::function<Expr(Expr, Expr, Expr)>& make) {
    OpCheck check{name, dtype, add_buffer(name, dtype, kElements, true), {}, tolerance};
    for (size_t i = 0; i < static_cast<size_t>(kElements); ++i)
      check.expected.push_back(make(inputs_[0][i], inputs_[1][i], inputs_[2][i]));
    body_.push_back(store(check.buffer, times(at(i_var_), options_.lanes),
                          make(operand(0), operand(1), operand(2))));
    result_.checks.push_back(std::move(check));
  }

  void add_reduction(Op reduction, Op op) {
    const std::string name(facts(reduction).name);
    const int64_t count = kElements / options_.lanes;
    OpCheck check{name, options_.dtype, add_buffer(name, options_.dtype, count, true), {}, 0};
    // Sums and products of floats in any order are compared where the order does not matter.
    const bool ordered =
        is_float(options_.dtype) && (reduction == Op::reduce_add || reduction == Op::reduce_mul);
    if (ordered) check.tolerance = std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < count; ++i) {
      Expr sum = inputs_[0][static_cast<size_t>(i * options_.lanes)];
      for (int lane = 1; lane < options_.lanes; ++lane)
        sum = binary(op, sum, inputs_[0][static_cast<size_t>(i * options_.lanes + lane)]);
      check.expected.push_back(sum);
    }
    body_.push_back(store(check.buffer, at(i_var_), unary(reduction, operand(0))));
    result_.checks.push_back(std::move(check));
  }

 private:
  BufferId add_buffer(const std::string& name, DType dtype, int64_t elements, bool written) {
    result_.run.buffers.emplace_back(static_cast<size_t>(elements * bytes_of(dtype)),
                                     uint8_t{0xa5});
    return add_argument(result_.kernel, name, dtype, elements, written);
  }
  Expr operand(size_t i) const {
    return reg_expr(registers_[i].value, options_.dtype, options_.lanes);
  }

  OpKernelOptions options_;
  Rng rng_;
  OpKernel result_;
  std::vector<Expr> inputs_[3];
  BufferId buffers_[3];
  RegId registers_[3];
  VarId i_var_{0};
  KernelBody body_;
};

void add_operations(OpKernelMaker& maker, const OpKernelOptions& options) {
  const DType dtype = options.dtype;
  for (int i = 0; i <= static_cast<int>(Op::fma); ++i) {
    const Op op = static_cast<Op>(i);
    if (facts(op).arity < 1 || !accepts(op, dtype)) continue;
    const bool compares = op >= Op::eq && op <= Op::le;
    const std::string name(facts(op).name);
    switch (op) {
      case Op::cast:
      case Op::saturate:
      case Op::bitcast:
      case Op::broadcast:
      case Op::ramp:
      case Op::extract:
        break;
      case Op::reduce_add:
        maker.add_reduction(op, Op::add);
        break;
      case Op::reduce_mul:
        maker.add_reduction(op, Op::mul);
        break;
      case Op::reduce_min:
        maker.add_reduction(op, Op::min);
        break;
      case Op::reduce_max:
        maker.add_reduction(op, Op::max);
        break;
      case Op::select:
        maker.add_lanes(name, dtype, 0, [](Expr a, Expr b, Expr c) {
          return select_expr(binary(Op::lt, a, b), b, c);
        });
        break;
      case Op::fma:
        // Targets without the instruction promise f64 only where a product's parts stay normal.
        maker.add_lanes(name, dtype, 0, [dtype](Expr a, Expr b, Expr c) {
          if (dtype != DType::f64) return fma_expr(a, b, c);
          const Expr least = broadcast_expr(float_constant(1e-120, dtype), a->lanes);
          const auto normal = [&](const Expr& x) {
            return select_expr(binary(Op::lt, unary(Op::abs, x), least), least, x);
          };
          return fma_expr(normal(a), normal(b), c);
        });
        break;
      default:
        maker.add_lanes(name, compares ? DType::b1 : dtype, tolerance_of(op, dtype),
                        [op](Expr a, Expr b, Expr) {
                          return facts(op).arity == 1 ? unary(op, a) : binary(op, a, b);
                        });
    }
  }
  if (!is_integer(dtype)) return;
  for (const int64_t divisor : {1, 3, 7, 8, -5}) {
    for (const Op op : {Op::div, Op::mod})
      maker.add_lanes(fmt::format("{} {}", facts(op).name, divisor), dtype, 0,
                      [=](Expr a, Expr, Expr) {
                        const Expr constant = int_constant(divisor, dtype);
                        return binary(op, a, broadcast_expr(constant, a->lanes));
                      });
  }
}

void add_casts(OpKernelMaker& maker, const OpKernelOptions& options) {
  for (int i = 0; i <= static_cast<int>(DType::f64); ++i) {
    const DType to = static_cast<DType>(i);
    if (!options.f64 && to == DType::f64) continue;
    for (const Op op : {Op::cast, Op::saturate, Op::bitcast}) {
      if (op == Op::saturate && !is_integer(to)) continue;
      if (op == Op::bitcast && (bytes_of(to) != bytes_of(options.dtype) || to == DType::b1 ||
                                options.dtype == DType::b1))
        continue;
      maker.add_lanes(fmt::format("{} to {}", facts(op).name, to_string(to)), to, 0,
                      [=](Expr a, Expr, Expr) { return cast_expr(op, to, a); });
    }
  }
}

double last_place(DType dtype, double value) {
  const int bits = dtype == DType::f16    ? 10
                   : dtype == DType::bf16 ? 7
                   : dtype == DType::f32  ? 23
                                          : 52;
  const int least = dtype == DType::f16 ? -24 : dtype == DType::f64 ? -1074 : -149;
  if (value == 0) return std::ldexp(1.0, least);
  return std::ldexp(1.0, std::max(std::ilogb(value) - bits, least));
}

// Out of range a cast of a float to an integer gives what it likes.
// The rest of a division of floats is exact only while the quotient is.
bool is_unspecified(const OpCheck& check, DType from, const Expr& operand, const Expr& divisor) {
  if (check.name == "%" && is_float(from))
    return std::fabs(operand->float_value) >= std::fabs(divisor->float_value) * 0x1p20;
  if (!check.name.starts_with("cast") || !is_float(from) || is_float(check.dtype)) return false;
  if (check.dtype == DType::b1) return false;
  const double whole = std::trunc(operand->float_value);
  return !(whole >= static_cast<double>(lowest(check.dtype)) &&
           whole <= static_cast<double>(highest(check.dtype)) && std::fabs(whole) < 0x1p63);
}

bool matches(const OpCheck& check, const Expr& want, const Expr& got) {
  if (!is_float(check.dtype)) return want->int_value == got->int_value;
  const double a = want->float_value;
  const double b = got->float_value;
  if (std::isinf(check.tolerance)) return true;
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;
  if (std::isinf(a) || std::isinf(b)) return false;
  return std::fabs(a - b) <= check.tolerance * last_place(check.dtype, a);
}

}  // namespace

OpKernel make_op_kernel(const OpKernelOptions& options) {
  OpKernelMaker maker(options);
  if (options.casts)
    add_casts(maker, options);
  else
    add_operations(maker, options);
  return maker.finish();
}

std::string compare(const OpKernel& kernel, const std::vector<Bytes>& after) {
  std::string wrong;
  const DType from = kernel.kernel.buffers[BufferId{0}].dtype;
  for (const OpCheck& check : kernel.checks) {
    int count = 0;
    for (size_t i = 0; i < check.expected.size(); ++i) {
      const int64_t element = static_cast<int64_t>(i);
      const Expr got = get(after[static_cast<size_t>(check.buffer.value)], check.dtype, element);
      const Expr a = get(after[0], from, element);
      const bool flushed = !kernel.denormals && check.dtype == DType::f32 &&
                           got->float_value == 0 &&
                           std::fabs(check.expected[i]->float_value) < 0x1p-126;
      if (flushed || matches(check, check.expected[i], got) ||
          is_unspecified(check, from, a, get(after[1], from, element)))
        continue;
      if (count++ > 2) continue;
      const Expr b = get(after[1], from, element);
      const Expr c = get(after[2], from, element);
      const auto text = [](const Expr& value) {
        return is_float(value->dtype) ? fmt::format("{:.17g}", value->float_value)
                                      : fmt::format("{}", value->int_value);
      };
      wrong +=
          fmt::format("{} {}: element {} of {}, {}, {} gives {} instead of {}\n", to_string(from),
                      check.name, i, text(a), text(b), text(c), text(got), text(check.expected[i]));
    }
  }
  return wrong;
}

}  // namespace hone::test
