// SPDX-License-Identifier: Apache-2.0
//
// Random naive Programs for property tests: one to four blocks, each of a random kind (elementwise
// with broadcasts and conditions, transpose, padding, cast, reduction, product, window, argmax,
// gather), all dtypes, extents that divide nothing. Each passes verify().
//
// The largest absolute value of every buffer is tracked, and with `exact` no float ever holds an
// integer that its type rounds: every legal schedule then gives the same bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/rng.h"
#include "ir/program.h"

namespace hone::test {

struct RandomProgramOptions {
  int most_blocks = 4;
  bool exact = true;            // no operation that rounds
  int64_t most_elements = 600;  // of a buffer, and of the instances of a block
};

class ProgramGenerator {
 public:
  ProgramGenerator(Rng& rng, const RandomProgramOptions& options) : rng_(rng), options_(options) {}

  Program make() {
    program_.name = "random";
    const int64_t blocks = rng_.between(1, options_.most_blocks);
    const int64_t rank = rng_.between(1, 3);
    std::vector<int64_t> shape;
    for (int64_t i = 0; i < rank; ++i) shape.push_back(extent());
    values_.push_back(input(random_dtype(), shape));
    for (int64_t i = 0; i < blocks; ++i) stage();
    std::vector<bool> read(static_cast<size_t>(program_.buffers.size()), false);
    for (const BlockId block : all_blocks(program_))
      for (const BufferId buffer : reads_of(program_.blocks[block]))
        read[static_cast<size_t>(buffer.value)] = true;
    for (int32_t i = 0; i < program_.buffers.size(); ++i) {
      Buffer& buffer = program_.buffers[BufferId{i}];
      if (buffer.kind == BufferKind::temp && !read[static_cast<size_t>(i)])
        buffer.kind = BufferKind::output;
    }
    return std::move(program_);
  }

 private:
  struct Value {
    BufferId buffer;
    double most = 0;  // no absolute value is larger
  };
  using Shape = std::vector<int64_t>;

  // -- pieces
  // ----------------------------------------------------------------------------------------

  int64_t extent() {
    constexpr int64_t kExtents[] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 13};
    return kExtents[rng_.below(10)];
  }
  DType random_dtype() {
    // f32 and i8 are what most computations use.
    constexpr DType kTypes[] = {DType::f32, DType::f32, DType::f32, DType::i8,
                                DType::i8,  DType::u8,  DType::i16, DType::i32,
                                DType::i64, DType::f16, DType::f64, DType::bf16};
    return kTypes[rng_.below(12)];
  }
  const Shape& shape_of(Value value) const { return program_.buffers[value.buffer].shape; }
  DType dtype_of(Value value) const { return program_.buffers[value.buffer].dtype; }

  // Largest integer up to which a type is exact; integers wrap and so always are.
  static double exact_limit(DType dtype) {
    switch (dtype) {
      case DType::bf16:
        return 0x1p8;
      case DType::f16:
        return 0x1p11;
      case DType::f32:
        return 0x1p24;
      default:
        return 0x1p53;
    }
  }
  bool fits(DType dtype, double most) const {
    return !options_.exact || !is_float(dtype) || most <= exact_limit(dtype);
  }
  static double cut(DType dtype, double most) {
    return is_float(dtype) ? most
                           : std::min(most, std::ldexp(1.0, static_cast<int>(8 * bytes_of(dtype))));
  }

  Value buffer(const std::string& wish, DType dtype, const Shape& shape, BufferKind kind,
               double most) {
    const BufferId id = program_.buffers.add(
        Buffer{fresh_buffer_name(program_, wish), dtype, shape, kind, Scope::workspace});
    return {id, cut(dtype, most)};
  }
  Value input(DType dtype, const Shape& shape) {
    const bool param = rng_.chance(0.3);
    return buffer(param ? "W" : "X", dtype, shape, param ? BufferKind::param : BufferKind::input,
                  bytes_of(dtype) == 2 ? 2 : 4);
  }
  Value result(DType dtype, const Shape& shape, double most) {
    return buffer("T", dtype, shape, BufferKind::temp, most);
  }

  Expr load(Value value, std::vector<Expr> indices) const {
    return load_expr(value.buffer, dtype_of(value), std::move(indices));
  }
  Expr constant(DType dtype, int64_t value) const {
    return is_float(dtype) ? float_constant(static_cast<double>(value), dtype)
                           : int_constant(value, dtype);
  }
  static std::vector<Expr> axes(size_t count) {
    std::vector<Expr> list;
    for (size_t i = 0; i < count; ++i) list.push_back(axis_expr(static_cast<int32_t>(i)));
    return list;
  }
  static Expr index(int64_t axis) { return axis_expr(static_cast<int32_t>(axis)); }

  // A block in a nest of its own, spatial axes first.
  void block(const std::string& wish, const Shape& spatial, const Shape& reduce,
             std::vector<Store> init, std::vector<Store> body) {
    Block block;
    block.name = fresh_block_name(program_, wish);
    block.init = std::move(init);
    block.body = std::move(body);
    LoopId parent;
    for (size_t i = 0; i < spatial.size() + reduce.size(); ++i) {
      const bool is_spatial = i < spatial.size();
      Loop loop;
      loop.name = fresh_loop_name(program_, is_spatial ? "i" : "k");
      loop.extent = is_spatial ? spatial[i] : reduce[i - spatial.size()];
      const LoopId id = add_loop(program_, loop);
      place(program_, Node{id, {}}, parent, parent.valid() ? 0 : program_.body.size());
      block.axes.push_back({"v" + std::to_string(i),
                            is_spatial ? AxisKind::spatial : AxisKind::reduce, loop.extent,
                            affine_loop(id)});
      parent = id;
    }
    const BlockId id = add_block(program_, std::move(block));
    place(program_, Node{{}, id}, parent, parent.valid() ? 0 : program_.body.size());
  }

  static int64_t product(const Shape& shape) {
    int64_t total = 1;
    for (const int64_t extent : shape) total *= extent;
    return total;
  }

  // -- stages
  // ----------------------------------------------------------------------------------------

  void stage() {
    const Value from =
        values_[static_cast<size_t>(rng_.below(static_cast<int64_t>(values_.size())))];
    switch (rng_.below(10)) {
      case 0:
        return transpose(from);
      case 1:
        return pad(from);
      case 2:
        return convert(from);
      case 3:
        return reduce(from);
      case 4:
        return multiply(from);
      case 5:
        return window(from);
      case 6:
        return argmax(from);
      case 7:
        return gather(from);
      default:
        return elementwise(from);
    }
  }

  // Another operand for an element of `shape`: of the whole shape, or broadcast along some
  // dimensions.
  Expr operand(DType dtype, const Shape& shape, double& most) {
    if (rng_.chance(0.3)) {
      const int64_t value = rng_.between(is_float(dtype) || dtype != DType::u8 ? -3 : 0, 3);
      most = 3;
      return constant(dtype, value);
    }
    for (const Value& value : values_) {
      if (dtype_of(value) != dtype || shape_of(value) != shape || !rng_.chance(0.5)) continue;
      most = value.most;
      return load(value, axes(shape.size()));
    }
    Shape kept;
    std::vector<Expr> indices;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (rng_.chance(0.4)) continue;
      kept.push_back(shape[i]);
      indices.push_back(index(static_cast<int64_t>(i)));
    }
    const Value fresh = input(dtype, kept);
    most = fresh.most;
    return load(fresh, std::move(indices));
  }

  Expr step(Expr value, double& most, const Shape& shape) {
    const DType dtype = value->dtype;
    double other_most = 0;
    const Expr other = operand(dtype, shape, other_most);
    const int64_t choice = rng_.below(is_integer(dtype) ? 12 : 9);
    const auto with = [&](Op op, double bound) {
      if (!fits(dtype, bound)) return value;
      most = cut(dtype, bound);
      return binary(op, value, other);
    };
    switch (choice) {
      case 0:
        return with(Op::add, most + other_most);
      case 1:
        return with(Op::sub, most + other_most);
      case 2:
        return with(Op::mul, most * other_most);
      case 3:
        return with(Op::min, std::max(most, other_most));
      case 4:
        return with(Op::max, std::max(most, other_most));
      case 5:
        return unary(rng_.chance(0.5) ? Op::neg : Op::abs, value);
      case 6: {
        most = std::max(most, other_most);
        const Op op = rng_.chance(0.5) ? Op::lt : Op::ne;
        return select_expr(binary(op, value, constant(dtype, 1)), value, other);
      }
      case 7: {
        most = std::max(most, other_most);
        const Expr place = shape.empty() ? index_constant(0) : index(0);
        const Expr both = binary(Op::logical_and, binary(Op::le, index_constant(1), place),
                                 binary(Op::lt, place, index_constant(4)));
        return select_expr(both, value, other);
      }
      case 8: {
        if (is_integer(dtype) || options_.exact) return with(Op::max, std::max(most, other_most));
        constexpr Op kOps[] = {Op::exp, Op::tanh, Op::sigmoid, Op::erf, Op::round};
        most = 1e6;
        return unary(kOps[rng_.below(5)], value);
      }
      case 9:
        return binary(Op::shr, value, constant(dtype, rng_.between(0, 3)));
      case 10:
        return binary(rng_.chance(0.5) ? Op::div : Op::mod, value, other);
      default:
        return binary(rng_.chance(0.5) ? Op::bit_xor : Op::bit_and, value, other);
    }
  }

  void elementwise(Value from) {
    const Shape shape = shape_of(from);
    Expr value = load(from, axes(shape.size()));
    double most = from.most;
    for (int64_t steps = rng_.between(1, 3); steps > 0; --steps) value = step(value, most, shape);
    const Value to = result(dtype_of(from), shape, most);
    block("map", shape, {}, {}, {{to.buffer, axes(shape.size()), value}});
    values_.push_back(to);
  }

  void transpose(Value from) {
    const Shape old = shape_of(from);
    std::vector<size_t> order(old.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<size_t>(rng_.below(static_cast<int64_t>(i)))]);
    Shape shape;
    std::vector<Expr> indices(old.size());
    for (size_t i = 0; i < order.size(); ++i) {
      shape.push_back(old[order[i]]);
      indices[order[i]] = index(static_cast<int64_t>(i));
    }
    const Value to = result(dtype_of(from), shape, from.most);
    block("transpose", shape, {}, {}, {{to.buffer, axes(shape.size()), load(from, indices)}});
    values_.push_back(to);
  }

  void pad(Value from) {
    Shape shape = shape_of(from);
    if (shape.empty()) return elementwise(from);
    const size_t d = static_cast<size_t>(rng_.below(static_cast<int64_t>(shape.size())));
    const int64_t before = rng_.between(0, 2);
    const int64_t old = shape[d];
    shape[d] += before + rng_.between(0, 2);
    if (product(shape) > options_.most_elements) return transpose(from);
    std::vector<Expr> indices = axes(shape.size());
    const Expr place = indices[d];
    indices[d] = binary(Op::sub, place, index_constant(before));
    const Expr inside = binary(Op::logical_and, binary(Op::le, index_constant(before), place),
                               binary(Op::lt, place, index_constant(before + old)));
    const Value to = result(dtype_of(from), shape, from.most);
    const Expr value = select_expr(inside, load(from, indices), constant(dtype_of(from), 0));
    block("pad", shape, {}, {}, {{to.buffer, axes(shape.size()), value}});
    values_.push_back(to);
  }

  void convert(Value from) {
    const Shape shape = shape_of(from);
    const DType old = dtype_of(from);
    const DType dtype = random_dtype();
    // Out of range, a float to integer cast is unspecified.
    const bool saturates = is_integer(dtype) && (is_float(old) || rng_.chance(0.3));
    if (old == dtype || !fits(dtype, from.most) || (is_float(old) && !options_.exact))
      return elementwise(from);
    const Value to = result(dtype, shape, from.most);
    block(
        "cast", shape, {}, {},
        {{to.buffer, axes(shape.size()),
          cast_expr(saturates ? Op::saturate : Op::cast, dtype, load(from, axes(shape.size())))}});
    values_.push_back(to);
  }

  void reduce(Value from) {
    const Shape shape = shape_of(from);
    if (shape.empty()) return elementwise(from);
    const DType dtype = dtype_of(from);
    Shape spatial, reduced;
    std::vector<bool> is_reduced(shape.size());
    for (size_t i = 0; i < shape.size(); ++i) {
      is_reduced[i] = rng_.chance(0.5) || i + 1 == shape.size();
      (is_reduced[i] ? reduced : spatial).push_back(shape[i]);
    }
    std::vector<Expr> indices;
    int64_t s = 0;
    int64_t r = static_cast<int64_t>(spatial.size());
    for (size_t i = 0; i < shape.size(); ++i) indices.push_back(index(is_reduced[i] ? r++ : s++));
    const double sum = from.most * static_cast<double>(product(reduced));
    Op op = rng_.chance(0.5) ? Op::max : Op::min;
    if (fits(dtype, sum) && rng_.chance(0.6)) op = Op::add;
    if (is_integer(dtype) && rng_.chance(0.1)) op = Op::mul;
    const Value to = result(dtype, spatial, op == Op::add || op == Op::mul ? sum : from.most);
    accumulate("fold", op, to, spatial, reduced, load(from, indices));
  }

  // to[spatial] = op over the reduce axes of `term`.
  void accumulate(const std::string& wish, Op op, Value to, const Shape& spatial,
                  const Shape& reduced, const Expr& term) {
    const DType dtype = dtype_of(to);
    Expr start = constant(dtype, op == Op::mul ? 1 : 0);
    if (op == Op::max || op == Op::min) {
      const double far = op == Op::max ? -INFINITY : INFINITY;
      start = is_float(dtype) ? float_constant(far, dtype)
                              : int_constant(op == Op::max ? lowest(dtype) : highest(dtype), dtype);
    }
    const std::vector<Expr> element = axes(spatial.size());
    block(wish, spatial, reduced, {{to.buffer, element, start}},
          {{to.buffer, element, binary(op, load(to, element), term)}});
    values_.push_back(to);
  }

  // Sums of products with a fresh matrix along the last dimension; small integers widen.
  void multiply(Value from) {
    const Shape shape = shape_of(from);
    if (shape.empty()) return elementwise(from);
    const DType dtype = dtype_of(from);
    const int64_t depth = shape.back();
    const int64_t columns = extent();
    Shape spatial(shape.begin(), shape.end() - 1);
    spatial.push_back(columns);
    const DType wide = is_integer(dtype) && bytes_of(dtype) == 1 ? DType::i32 : dtype;
    const Value weights = input(dtype, {depth, columns});
    const double most = from.most * weights.most * static_cast<double>(depth);
    if (!fits(wide, most) || product(spatial) * depth > options_.most_elements) return reduce(from);
    const int64_t k = static_cast<int64_t>(spatial.size());
    std::vector<Expr> indices = axes(spatial.size());
    indices.back() = index(k);
    const Expr left = load(from, indices);
    const Expr right = load(weights, {index(k), index(k - 1)});
    accumulate("matmul", Op::add, result(wide, spatial, most), spatial, {depth},
               binary(Op::mul, cast_expr(Op::cast, wide, left), cast_expr(Op::cast, wide, right)));
  }

  // A strided window along the first dimension with a fresh filter.
  void window(Value from) {
    const Shape shape = shape_of(from);
    if (shape.empty() || shape[0] < 2) return elementwise(from);
    const int64_t size = rng_.between(1, std::min<int64_t>(3, shape[0]));
    const int64_t stride = rng_.between(1, 2);
    Shape spatial = shape;
    spatial[0] = (shape[0] - size) / stride + 1;
    const DType dtype = dtype_of(from);
    const Value filter = input(dtype, {size});
    const double most = from.most * filter.most * static_cast<double>(size);
    if (!fits(dtype, most)) return transpose(from);
    const int64_t r = static_cast<int64_t>(spatial.size());
    std::vector<Expr> indices = axes(spatial.size());
    indices[0] = binary(Op::add, binary(Op::mul, index(0), index_constant(stride)), index(r));
    accumulate("window", Op::add, result(dtype, spatial, most), spatial, {size},
               binary(Op::mul, load(from, indices), load(filter, {index(r)})));
  }

  // Value and place of the largest element along the last dimension; of equal ones the first place,
  // in whatever order they come.
  void argmax(Value from) {
    const Shape shape = shape_of(from);
    if (shape.empty()) return elementwise(from);
    const DType dtype = dtype_of(from);
    const Shape spatial(shape.begin(), shape.end() - 1);
    const Value best = result(dtype, spatial, from.most);
    const Value place = result(DType::i32, spatial, static_cast<double>(shape.back()));
    const std::vector<Expr> element = axes(spatial.size());
    const Expr value = load(from, axes(shape.size()));
    const Expr here = cast_expr(Op::cast, DType::i32, index(static_cast<int64_t>(spatial.size())));
    const Expr held = load(best, element);
    const Expr held_place = load(place, element);
    const Expr better = binary(
        Op::logical_or, binary(Op::lt, held, value),
        binary(Op::logical_and, binary(Op::eq, held, value), binary(Op::lt, here, held_place)));
    const Expr start =
        is_float(dtype) ? float_constant(-INFINITY, dtype) : int_constant(lowest(dtype), dtype);
    block("argmax", spatial, {shape.back()},
          {{best.buffer, element, start},
           {place.buffer, element, int_constant(INT32_MAX, DType::i32)}},
          {{best.buffer, element, select_expr(better, value, held)},
           {place.buffer, element, select_expr(better, here, held_place)}});
    values_.push_back(best);
    values_.push_back(place);
  }

  // Rows of the value picked by a fresh index vector.
  void gather(Value from) {
    const Shape shape = shape_of(from);
    if (shape.empty()) return elementwise(from);
    Shape spatial = shape;
    spatial[0] = extent();
    if (product(spatial) > options_.most_elements) return transpose(from);
    const Value picked = buffer("idx", DType::i32, {spatial[0]}, BufferKind::input, 4);
    std::vector<Expr> indices = axes(spatial.size());
    indices[0] = load(picked, {index(0)});
    const Value to = result(dtype_of(from), spatial, from.most);
    block("gather", spatial, {}, {}, {{to.buffer, axes(spatial.size()), load(from, indices)}});
    values_.push_back(to);
  }

  Rng& rng_;
  const RandomProgramOptions& options_;
  Program program_;
  std::vector<Value> values_;
};

inline Program random_program(Rng& rng, const RandomProgramOptions& options) {
  return ProgramGenerator(rng, options).make();
}

}  // namespace hone::test
