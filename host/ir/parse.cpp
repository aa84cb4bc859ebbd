// SPDX-License-Identifier: Apache-2.0
//
// Text → Program, line by line. Indentation says what holds what: the open loops and blocks stand
// on a stack with the column at which they began and the one at which their children stand.
#include <algorithm>

#include "ir/text.h"

namespace hone {
namespace {

// Extents, sizes and coefficients stay where products of two are exact in doubles and forms of many
// terms cannot overflow.
constexpr int64_t kLargest = int64_t{1} << 40;
constexpr double kLargestForm = 0x1p53;

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(DType::f64); ++i)
    names.emplace_back(to_string(static_cast<DType>(i)));
  return names;
}

struct Frame {  // an open loop or block
  int column = 0;
  int child_column = 0;  // 0: no child yet
  LoopId loop;           // one of the two; neither: the Program
  BlockId block;
  TextPosition where;
};

// A form, and a bound of its size.
struct Form {
  Affine form;
  double size = 0;
};

class ProgramParser {
 public:
  ProgramParser(std::string_view text, const std::string& name) : cursor_(text, name) {}

  Result<Program> parse() {
    next_line();
    TRYV(cursor_.expect("program"));
    program_.name = TRY(cursor_.expect_word("the name of the program"));
    TRYV(end_line());
    while (cursor_.looking_at("buffer")) TRYV(buffer_line());
    stack_.push_back({0, 1, {}, {}, cursor_.position()});
    while (!cursor_.at_end()) TRYV(statement_line());
    while (stack_.size() > 1) TRYV(close_frame());
    return std::move(program_);
  }

 private:
  // -- lines
  // -----------------------------------------------------------------------------------------

  // To the first character of the next line that has one.
  void next_line() { cursor_.skip_blanks(true); }

  Result<void> end_line() {
    cursor_.skip_blanks(false);
    if (!cursor_.at_end() && cursor_.peek() != '\n') return cursor_.expected("the end of the line");
    next_line();
    return {};
  }

  Result<void> close_frame() {
    const Frame frame = stack_.back();
    stack_.pop_back();
    if (frame.loop.valid() && program_.loops[frame.loop].body.empty())
      return cursor_.error_at(frame.where, fmt::format("loop '{}' holds nothing; what it holds "
                                                       "stands below it, further to the right",
                                                       program_.loops[frame.loop].name));
    if (frame.block.valid() && program_.blocks[frame.block].body.empty())
      return cursor_.error_at(frame.where, fmt::format("block '{}' has no 'update' line",
                                                       program_.blocks[frame.block].name));
    return {};
  }

  // Closes what ends above this line and checks that it stands where its siblings do.
  Result<void> place_line() {
    const int column = cursor_.position().column;
    while (stack_.size() > 1 && column <= stack_.back().column) TRYV(close_frame());
    Frame& frame = stack_.back();
    if (frame.child_column == 0) frame.child_column = column;
    if (frame.child_column == column) return {};
    return cursor_.error(fmt::format("this line begins at column {}, those beside it at column {}",
                                     column, frame.child_column));
  }

  Result<void> statement_line() {
    TRYV(place_line());
    const bool in_block = stack_.back().block.valid();
    if (!in_block && cursor_.looking_at("for")) return for_line();
    if (!in_block && cursor_.looking_at("block")) return block_line();
    if (in_block && cursor_.looking_at("where")) return where_line();
    if (in_block && cursor_.looking_at("init")) return store_line("init");
    if (in_block && cursor_.looking_at("update")) return store_line("update");
    return cursor_.expected(in_block ? "'where', 'init' or 'update'" : "'for' or 'block'");
  }

  // -- words
  // -----------------------------------------------------------------------------------------

  TextPosition here() {
    cursor_.skip_blanks(false);
    return cursor_.position();
  }

  template <typename Taken>
  Result<std::string> new_name(std::string_view what, const Taken& taken) {
    const TextPosition where = here();
    const std::string_view word = TRY(cursor_.expect_word(fmt::format("a name for the {}", what)));
    if (!is_name(word))
      return cursor_.error_at(where, fmt::format("no {} can be called '{}'", what, word));
    if (taken(word))
      return cursor_.error_at(where, fmt::format("another {} is already called '{}'", what, word));
    return std::string(word);
  }

  Result<int64_t> size(std::string_view what) {
    const TextPosition where = here();
    const int64_t value = TRY(cursor_.expect_integer(what));
    if (value < 1 || value > kLargest)
      return cursor_.error_at(
          where, fmt::format("expected {} from 1 to {}, found {}", what, kLargest, value));
    return value;
  }

  // One of an enumeration's words.
  template <typename Enum>
  Result<Enum> choice(std::string_view what, Enum last) {
    const TextPosition where = here();
    const std::string_view word = TRY(cursor_.expect_word(what));
    std::vector<std::string> words;
    for (int i = 0; i <= static_cast<int>(last); ++i) {
      words.emplace_back(to_string(static_cast<Enum>(i)));
      if (word == words.back()) return static_cast<Enum>(i);
    }
    return unknown_name(cursor_, where, what, word, words);
  }

  Result<void> annotations(std::vector<Annotation>& list) {
    while (cursor_.accept("@")) {
      Annotation annotation;
      annotation.key = TRY(cursor_.expect_word("the key of an annotation"));
      TRYV(cursor_.expect("="));
      annotation.value = TRY(cursor_.expect_integer("the value of an annotation"));
      list.push_back(std::move(annotation));
    }
    return {};
  }

  // -- buffers
  // ---------------------------------------------------------------------------------------

  Result<void> buffer_line() {
    TRYV(cursor_.expect("buffer"));
    Buffer buffer;
    buffer.name = TRY(new_name(
        "buffer", [&](std::string_view word) { return find_buffer(program_, word).has_value(); }));
    const TextPosition where = here();
    const std::string_view type = TRY(cursor_.expect_word("an element type"));
    const auto dtype = parse_dtype(type);
    if (!dtype) return unknown_name(cursor_, where, "element type", type, dtype_names());
    buffer.dtype = *dtype;
    TRYV(cursor_.expect("["));
    double elements = 1;
    if (!cursor_.accept("]")) {
      do {
        buffer.shape.push_back(TRY(size("a dimension")));
        elements *= static_cast<double>(buffer.shape.back());
      } while (cursor_.accept(","));
      TRYV(cursor_.expect("]"));
    }
    if (elements > static_cast<double>(kLargest))
      return cursor_.error_at(where, fmt::format("buffer '{}' is too large", buffer.name));
    buffer.kind = TRY(choice("kind of buffer", BufferKind::output));
    cursor_.skip_blanks(false);
    if (!cursor_.at_end() && cursor_.peek() != '\n')
      buffer.scope = TRY(choice("scope", kLastScope));
    program_.buffers.add(std::move(buffer));
    return end_line();
  }

  // -- loops
  // -----------------------------------------------------------------------------------------

  void attach(Node node) {
    const LoopId parent = stack_.back().loop;
    (parent.valid() ? program_.loops[parent].body : program_.body).push_back(node);
  }

  Result<void> for_line() {
    const TextPosition where = cursor_.position();
    TRYV(cursor_.expect("for"));
    LoopId outer = stack_.back().loop;
    do {
      Loop loop;
      loop.parent = outer;
      loop.name = TRY(new_name(
          "loop", [&](std::string_view word) { return find_loop(program_, word).has_value(); }));
      TRYV(cursor_.expect("in"));
      loop.extent = TRY(size("an extent"));
      TRYV(loop_words(loop));
      const LoopId id = program_.loops.add(std::move(loop));
      if (outer != stack_.back().loop) {
        program_.loops[outer].body.push_back({id, {}});
      } else {
        attach({id, {}});
      }
      outer = id;
    } while (cursor_.accept(","));
    stack_.push_back({where.column, 0, outer, {}, where});
    return end_line();
  }

  Result<void> loop_words(Loop& loop) {
    for (;;) {
      cursor_.skip_blanks(false);
      if (cursor_.at_end() || cursor_.peek() == '\n' || cursor_.peek() == ',') return {};
      if (cursor_.looking_at("@")) {
        TRYV(annotations(loop.annotations));
      } else if (cursor_.accept("tail")) {
        TRYV(cursor_.expect("="));
        loop.tail = TRY(choice("tail", Tail::predicate));
      } else {
        loop.kind = TRY(choice("kind of loop", LoopKind::unrolled));
      }
    }
  }

  // -- forms
  // -----------------------------------------------------------------------------------------

  Result<Form> checked(TextPosition where, Affine form, double size) const {
    if (size > kLargestForm)
      return cursor_.error_at(where, "the values of this form are too large");
    return Form{std::move(form), size};
  }

  Result<Form> form() {
    const TextPosition where = here();
    if (++form_depth_ > 50) return cursor_.error("the form is nested too deeply");
    bool minus = cursor_.accept("-");
    Form sum;
    do {
      const Form term = TRY(form_term());
      sum = TRY(checked(where, add(sum.form, minus ? scale(term.form, -1) : term.form),
                        sum.size + term.size));
      minus = cursor_.looking_at("-");
    } while (cursor_.accept("+") || cursor_.accept("-"));
    --form_depth_;
    return sum;
  }

  Result<Form> form_term() {
    Form left = TRY(form_primary());
    for (;;) {
      const TextPosition where = here();
      const char sign = cursor_.peek();
      if (sign != '*' && sign != '/' && sign != '%') return left;
      cursor_.advance();
      if (sign == '*') {
        Form right = TRY(form_primary());
        if (!right.form.is_constant()) std::swap(left, right);
        if (!right.form.is_constant())
          return cursor_.error_at(where, "expected a constant factor, found two loops");
        const double product = left.size * std::max(right.size, 1.0);
        TRYV(checked(where, {}, product));
        left = TRY(checked(where, scale(left.form, right.form.base), product));
        continue;
      }
      const int64_t divisor = TRY(size("a divisor"));
      left.form = sign == '/' ? quotient(left.form, divisor, program_.extents())
                              : remainder(left.form, divisor, program_.extents());
    }
  }

  Result<Form> form_primary() {
    const TextPosition where = here();
    if (cursor_.accept("(")) {
      Form inner = TRY(form());
      TRYV(cursor_.expect(")"));
      return inner;
    }
    if (const auto word = cursor_.accept_word()) {
      const LoopId loop = TRY(loop_above(where, *word));
      return Form{affine_loop(loop), static_cast<double>(program_.loops[loop].extent)};
    }
    cursor_.skip_blanks(false);
    if (cursor_.peek() < '0' || cursor_.peek() > '9') return cursor_.expected("a loop or a number");
    const int64_t value = TRY(cursor_.expect_integer("a number"));
    return checked(where, affine_constant(value), static_cast<double>(value));
  }

  // Only loops around the block can be named.
  Result<LoopId> loop_above(TextPosition where, std::string_view name) const {
    const LoopId innermost = stack_.back().block.valid()
                                 ? program_.blocks[stack_.back().block].parent
                                 : stack_.back().loop;
    std::vector<std::string> names;
    for (LoopId loop = innermost; loop.valid(); loop = program_.loops[loop].parent) {
      if (program_.loops[loop].name == name) return loop;
      names.push_back(program_.loops[loop].name);
    }
    std::reverse(names.begin(), names.end());
    if (find_loop(program_, name))
      return cursor_.error_at(where, fmt::format("loop '{}' is not around this block", name));
    return unknown_name(cursor_, where, "loop", name, names);
  }

  // -- blocks
  // ----------------------------------------------------------------------------------------

  Result<void> block_line() {
    const TextPosition where = cursor_.position();
    TRYV(cursor_.expect("block"));
    Block block;
    block.parent = stack_.back().loop;
    block.name = TRY(new_name(
        "block", [&](std::string_view word) { return find_block(program_, word).has_value(); }));
    for (;;) {
      if (cursor_.accept("spatial")) {
        TRYV(axes(block, AxisKind::spatial));
      } else if (cursor_.accept("reduce")) {
        TRYV(axes(block, AxisKind::reduce));
      } else {
        break;
      }
    }
    TRYV(annotations(block.annotations));
    const BlockId id = program_.blocks.add(std::move(block));
    attach({{}, id});
    stack_.push_back({where.column, 0, {}, id, where});
    return end_line();
  }

  Result<void> axes(Block& block, AxisKind kind) {
    do {
      Axis axis;
      axis.kind = kind;
      axis.name = TRY(new_name("axis", [&](std::string_view word) {
        return std::any_of(block.axes.begin(), block.axes.end(),
                           [&](const Axis& other) { return other.name == word; });
      }));
      const TextPosition where = here();
      if (cursor_.accept(":")) axis.extent = TRY(size("an extent"));
      const bool given = cursor_.position().column != where.column;
      TRYV(cursor_.expect("="));
      axis.binding = TRY(form()).form;
      const LoopId loop = axis.binding.as_loop();
      if (!given && !loop.valid())
        return cursor_.error_at(where, fmt::format("expected the extent of axis '{}' ({}:N=…): its "
                                                   "binding is not a plain loop",
                                                   axis.name, axis.name));
      if (!given) axis.extent = program_.loops[loop].extent;
      block.axes.push_back(std::move(axis));
      cursor_.skip_blanks(false);
    } while (!cursor_.at_end() && cursor_.peek() != '\n' && cursor_.peek() != '@' &&
             !cursor_.looking_at("spatial") && !cursor_.looking_at("reduce"));
    return {};
  }

  Block& current_block() { return program_.blocks[stack_.back().block]; }

  Result<void> where_line() {
    TRYV(cursor_.expect("where"));
    Predicate predicate;
    predicate.form = TRY(form()).form;
    TRYV(cursor_.expect("<"));
    predicate.bound = TRY(size("a bound"));
    current_block().predicates.push_back(std::move(predicate));
    return end_line();
  }

  // -- stores
  // ----------------------------------------------------------------------------------------

  std::optional<BufferSymbol> buffer_symbol(std::string_view name) const {
    const auto id = find_buffer(program_, name);
    if (!id) return std::nullopt;
    const Buffer& buffer = program_.buffers[*id];
    return BufferSymbol{*id, buffer.dtype, buffer.shape.size()};
  }

  ExprSymbols symbols() {
    ExprSymbols symbols;
    symbols.value = [this](std::string_view name) -> Expr {
      const std::vector<Axis>& axes = current_block().axes;
      for (size_t i = 0; i < axes.size(); ++i)
        if (axes[i].name == name) return axis_expr(static_cast<int32_t>(i));
      return nullptr;
    };
    symbols.buffer = [this](std::string_view name) { return buffer_symbol(name); };
    symbols.all_names = [this] {
      std::vector<std::string> names = buffer_names();
      for (const Axis& axis : current_block().axes) names.push_back(axis.name);
      return names;
    };
    return symbols;
  }

  std::vector<std::string> buffer_names() const {
    std::vector<std::string> names;
    for (const Buffer& buffer : program_.buffers) names.push_back(buffer.name);
    return names;
  }

  Result<void> store_line(std::string_view keyword) {
    TRYV(cursor_.expect(keyword));
    const TextPosition where = here();
    const std::string_view name = TRY(cursor_.expect_word("the buffer that is stored to"));
    const auto buffer = buffer_symbol(name);
    if (!buffer) return unknown_name(cursor_, where, "buffer", name, buffer_names());
    const ExprSymbols known = symbols();
    Store store;
    store.buffer = buffer->id;
    store.indices = TRY(parse_indices(cursor_, known, name, *buffer));
    TRYV(cursor_.expect("="));
    const TextPosition value_where = here();
    store.value = TRY(parse_expr(cursor_, known, buffer->dtype));
    if (store.value->dtype != buffer->dtype)
      return cursor_.error_at(value_where, fmt::format("expected a value of {}'s type {}, found {}",
                                                       name, hone::to_string(buffer->dtype),
                                                       hone::to_string(store.value->dtype)));
    if (store.value->lanes != 1) return cursor_.error_at(value_where, "expected a scalar value");
    Block& block = current_block();
    (keyword == "init" ? block.init : block.body).push_back(std::move(store));
    return end_line();
  }

  TextCursor cursor_;
  Program program_;
  std::vector<Frame> stack_;
  int form_depth_ = 0;
};

}  // namespace

Result<Program> parse_program(std::string_view text, const std::string& name) {
  return ProgramParser(text, name).parse();
}

}  // namespace hone
