// SPDX-License-Identifier: Apache-2.0
//
// Traces as text; the form is described in docs/trace-format.md. One instruction a line:
//
//   outputs = keyword positional… name=value… : decision
//
// Everything but the four lines of that frame follows from the types of the fields.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "ir/text.h"
#include "schedule/trace.h"
#include "schedule/trace_fields.h"

namespace hone {
namespace {

// The words of an enumeration from its first enumerator to `last`.
template <typename E>
std::vector<std::string_view> words_up_to(E last) {
  std::vector<std::string_view> words;
  for (int i = 0; i <= static_cast<int>(last); ++i) words.push_back(to_string(static_cast<E>(i)));
  return words;
}

// -- printing
// -----------------------------------------------------------------------------------------

std::string show(BlockVar variable) { return fmt::format("b{}", variable.value); }
std::string show(LoopVar variable) { return fmt::format("l{}", variable.value); }
std::string show(IntVar variable) { return fmt::format("v{}", variable.value); }
std::string show(int64_t value) { return fmt::format("{}", value); }

std::string show(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    text += c == '\n' ? "\\n" : std::string(1, c);
  }
  return text + "\"";
}

std::string show(const IntParam& param) {
  return param.var.valid() ? show(param.var) : show(param.literal);
}
std::string show(const TailParam& param) {
  return param.var.valid() ? show(param.var) : std::string(to_string(param.literal));
}
std::string show(const ScopeParam& param) {
  return param.var.valid() ? show(param.var) : std::string(to_string(param.literal));
}
std::string show(const NodeParam& param) {
  return param.block.valid() ? show(param.block) : show(param.loop);
}
std::string show(const BufferParam& param) {
  if (param.role == BufferParam::Role::named) return show(param.name);
  return fmt::format("{}.{}[{}]", show(param.block),
                     param.role == BufferParam::Role::read ? "reads" : "writes", param.index);
}

// Variables stand side by side, numbers in brackets.
template <typename T>
std::string show(const std::vector<T>& values) {
  std::vector<std::string> parts;
  for (const T& value : values) parts.push_back(show(value));
  return Variable<T> ? join(parts, " ") : "[" + join(parts, ", ") + "]";
}

template <typename T>
std::string print_instruction(const T& instruction, std::string_view keyword) {
  std::vector<std::string> words;
  for_each_output(instruction, [&](const auto& variable) { words.push_back(show(variable)); });
  if (!words.empty()) words.push_back("=");
  words.emplace_back(keyword);
  const T fresh{};
  for_each_field(instruction, [&](const auto& field, const auto& value) {
    if (field.optional && value == fresh.*(field.member)) return;
    words.push_back(field.name.empty() ? show(value)
                                       : fmt::format("{}={}", field.name, show(value)));
  });
  if constexpr (Sampling<T>) {
    if (instruction.decision) {
      words.push_back(":");
      for (const int64_t value : *instruction.decision) words.push_back(show(value));
    }
  }
  return join(words, " ");
}

// -- parsing
// ------------------------------------------------------------------------------------------

enum class Kind : uint8_t { block, loop, integer };
constexpr std::array<std::string_view, 3> kKindNames = {"a block", "a loop", "an integer"};

template <typename Var>
constexpr Kind kind_of() {
  if constexpr (std::is_same_v<Var, BlockVar>) return Kind::block;
  if constexpr (std::is_same_v<Var, LoopVar>) return Kind::loop;
  return Kind::integer;
}

struct Name {
  std::string text;
  Kind kind;
  int32_t number;
};

std::vector<std::string> keywords() {
  std::vector<std::string> result;
  for (const InstructionFacts& row : instruction_table()) result.emplace_back(row.keyword);
  return result;
}

class Parser {
 public:
  explicit Parser(TextCursor& cursor) : cursor_(cursor) {}

  Result<Instruction> parse_line() {
    outputs_.clear();
    cursor_.skip_blanks(false);
    TextPosition where = cursor_.position();
    std::string_view word = TRY(cursor_.expect_word("an instruction"));
    if (find_keyword(word) == kNoKeyword) {
      TextCursor look = cursor_;  // either names before '=', or a keyword that does not exist
      while (look.accept_word()) {
      }
      if (!look.accept("=")) return unknown_keyword(where, word);
      outputs_.push_back({std::string(word), where});
      while (!cursor_.accept("=")) {
        cursor_.skip_blanks(false);
        const TextPosition next = cursor_.position();
        outputs_.push_back({std::string(TRY(cursor_.expect_word("a variable or '='"))), next});
      }
      cursor_.skip_blanks(false);
      where = cursor_.position();
      word = TRY(cursor_.expect_word("an instruction"));
    }
    keyword_at_ = where;
    const size_t kind = find_keyword(word);
    if (kind == kNoKeyword) return unknown_keyword(where, word);
    return parse_kind(kind, std::make_index_sequence<std::variant_size_v<Instruction>>());
  }

 private:
  static constexpr size_t kNoKeyword = static_cast<size_t>(-1);
  struct OutputName {
    std::string text;
    TextPosition where;
  };

  static size_t find_keyword(std::string_view word) {
    const auto table = instruction_table();
    const auto found = std::find_if(table.begin(), table.end(),
                                    [&](const auto& row) { return row.keyword == word; });
    return found == table.end() ? kNoKeyword : static_cast<size_t>(found - table.begin());
  }

  std::unexpected<Error> unknown_keyword(TextPosition where, std::string_view word) const {
    std::string message = fmt::format("expected an instruction, found '{}'", word);
    if (const auto near = closest(word, keywords()))
      message += fmt::format(", did you mean '{}'?", *near);
    return cursor_.error_at(where, message);
  }

  template <size_t... I>
  Result<Instruction> parse_kind(size_t kind, std::index_sequence<I...>) {
    using Parse = Result<Instruction> (Parser::*)();
    constexpr Parse kParsers[] = {&Parser::parse_as<std::variant_alternative_t<I, Instruction>>...};
    return (this->*kParsers[kind])();
  }

  template <typename T>
  Result<Instruction> parse_as() {
    T instruction{};
    Result<void> state;
    for_each_field(instruction, [&](const auto& field, auto& value) {
      if (state && field.name.empty()) state = parse(value);
    });
    if (state) state = parse_named(instruction);
    if (state) state = parse_decision(instruction);
    if (!state) return std::unexpected(state.error());
    cursor_.skip_blanks(false);
    if (!cursor_.at_end() && cursor_.peek() != '\n') return cursor_.expected("the end of the line");
    TRYV(define_outputs(instruction));
    return instruction;
  }

  template <typename T>
  Result<void> parse_named(T& instruction) {
    std::vector<std::string> seen;
    for (;;) {
      cursor_.skip_blanks(false);
      const TextPosition where = cursor_.position();
      const auto word = cursor_.accept_word();
      if (!word) break;
      const std::string name(*word);
      if (std::find(seen.begin(), seen.end(), name) != seen.end())
        return cursor_.error_at(where, fmt::format("'{}' is given twice", name));
      seen.push_back(name);
      bool known = false;
      Result<void> state;
      for_each_field(instruction, [&](const auto& field, auto& value) {
        if (field.name != name) return;
        known = true;
        state = cursor_.expect("=");
        if (state) state = parse(value);
      });
      if (!known) return unknown_field(instruction, where, name);
      TRYV(state);
    }
    Result<void> state;
    for_each_field(instruction, [&](const auto& field, auto&) {
      if (field.name.empty() || field.optional || !state) return;
      if (std::find(seen.begin(), seen.end(), field.name) == seen.end())
        state = cursor_.expected(fmt::format("'{}='", field.name));
    });
    return state;
  }

  template <typename T>
  Result<void> unknown_field(const T& instruction, TextPosition where, const std::string& name) {
    std::vector<std::string> names;
    for_each_field(instruction, [&](const auto& field, const auto&) {
      if (!field.name.empty()) names.push_back(fmt::format("'{}='", field.name));
    });
    const std::string wanted = names.empty() ? "" : join(names, ", ") + " or ";
    return cursor_.error_at(
        where, fmt::format("expected {}the end of the line, found '{}'", wanted, name));
  }

  template <typename T>
  Result<void> parse_decision(T& instruction) {
    if (!cursor_.looking_at(":")) return {};
    if constexpr (Sampling<T>) {
      TRYV(cursor_.expect(":"));
      instruction.decision.emplace();
      do {
        instruction.decision->push_back(TRY(cursor_.expect_integer("a decision")));
        cursor_.skip_blanks(false);
      } while (!cursor_.at_end() && cursor_.peek() != '\n');
      return {};
    } else {
      return cursor_.error("only instructions that sample have a decision");
    }
  }

  template <typename T>
  Result<void> define_outputs(T& instruction) {
    if constexpr (HasOutput<T>) {
      auto& output = instruction.*(T::output());
      using Output = std::remove_cvref_t<decltype(output)>;
      if constexpr (is_vector<Output>) {
        output.resize(outputs_.size());
        for (size_t i = 0; i < outputs_.size(); ++i) TRYV(define(output[i], outputs_[i]));
        return {};
      } else {
        if (outputs_.size() != 1)
          return cursor_.error_at(
              keyword_at_,
              fmt::format("it gives {}: expected one name and '=' before it, found {} names",
                          kKindNames[static_cast<size_t>(kind_of<Output>())], outputs_.size()));
        return define(output, outputs_[0]);
      }
    } else {
      if (outputs_.empty()) return {};
      return cursor_.error_at(outputs_[0].where, "the instruction gives nothing that can be named");
    }
  }

  template <typename Var>
  Result<void> define(Var& variable, const OutputName& name) {
    if (find_name(name.text) || find_keyword(name.text) != kNoKeyword)
      return cursor_.error_at(name.where, fmt::format("'{}' has a meaning already", name.text));
    int32_t& next = next_[static_cast<size_t>(kind_of<Var>())];
    variable.value = next++;
    names_.push_back({name.text, kind_of<Var>(), variable.value});
    return {};
  }

  const Name* find_name(std::string_view text) const {
    for (const Name& name : names_)
      if (name.text == text) return &name;
    return nullptr;
  }

  template <typename Var>
  Result<void> resolve(std::string_view word, TextPosition where, Var& variable) {
    const std::string_view wanted = kKindNames[static_cast<size_t>(kind_of<Var>())];
    const Name* name = find_name(word);
    if (!name) {
      std::vector<std::string> names;
      for (const Name& entry : names_)
        if (entry.kind == kind_of<Var>()) names.push_back(entry.text);
      std::string message =
          fmt::format("expected {}, found '{}', which no line above defines", wanted, word);
      if (const auto near = closest(word, names))
        message += fmt::format("; did you mean '{}'?", *near);
      return cursor_.error_at(where, message);
    }
    if (name->kind != kind_of<Var>())
      return cursor_.error_at(where,
                              fmt::format("expected {}, found '{}', which is {}", wanted, word,
                                          kKindNames[static_cast<size_t>(name->kind)]));
    variable.value = name->number;
    return {};
  }

  // One overload a field type.
  template <Variable Var>
  Result<void> parse(Var& variable) {
    cursor_.skip_blanks(false);
    const TextPosition where = cursor_.position();
    const std::string_view word =
        TRY(cursor_.expect_word(kKindNames[static_cast<size_t>(kind_of<Var>())]));
    return resolve(word, where, variable);
  }

  Result<void> parse(int64_t& value) {
    value = TRY(cursor_.expect_integer("an integer"));
    return {};
  }

  Result<void> parse(std::string& value) {
    value = TRY(cursor_.expect_quoted("a quoted name"));
    return {};
  }

  Result<void> parse(IntParam& param) {
    cursor_.skip_blanks(false);
    const char c = cursor_.peek();
    if (c == '-' || (c >= '0' && c <= '9')) return parse(param.literal);
    return parse(param.var);
  }

  template <typename E>
  Result<void> parse_enum(Param<E>& param, std::span<const std::string_view> names,
                          std::string_view what) {
    cursor_.skip_blanks(false);
    const TextPosition where = cursor_.position();
    const std::string_view word = TRY(cursor_.expect_word(what));
    const auto found = std::find(names.begin(), names.end(), word);
    if (found != names.end()) {
      param.literal = static_cast<E>(found - names.begin());
      return {};
    }
    if (!find_name(word)) {
      std::vector<std::string> all(names.begin(), names.end());
      return cursor_.error_at(
          where, fmt::format("expected {} ({}) or an integer variable, found '{}'", what,
                             join(all, ", "), word));
    }
    return resolve(word, where, param.var);
  }
  Result<void> parse(TailParam& param) {
    return parse_enum(param, words_up_to(Tail::predicate), "a tail strategy");
  }
  Result<void> parse(ScopeParam& param) {
    return parse_enum(param, words_up_to(kLastScope), "a scope");
  }

  Result<void> parse(NodeParam& param) {
    cursor_.skip_blanks(false);
    const TextPosition where = cursor_.position();
    const std::string_view word = TRY(cursor_.expect_word("a block or a loop"));
    const Name* name = find_name(word);
    if (name && name->kind == Kind::block) return resolve(word, where, param.block);
    return resolve(word, where, param.loop);
  }

  Result<void> parse(BufferParam& param) {
    cursor_.skip_blanks(false);
    if (cursor_.peek() == '"') return parse(param.name);
    const TextPosition where = cursor_.position();
    const std::string_view word =
        TRY(cursor_.expect_word("a quoted buffer, <block>.reads[n] or <block>.writes[n]"));
    const size_t dot = word.rfind('.');
    const std::string_view role = dot == std::string_view::npos ? "" : word.substr(dot + 1);
    if (role != "reads" && role != "writes")
      return cursor_.error_at(
          where,
          fmt::format("expected a quoted buffer, <block>.reads[n] or <block>.writes[n], found '{}'",
                      word));
    param.role = role == "reads" ? BufferParam::Role::read : BufferParam::Role::written;
    TRYV(resolve(word.substr(0, dot), where, param.block));
    TRYV(cursor_.expect("["));
    TRYV(parse(param.index));
    return cursor_.expect("]");
  }

  template <typename T>
  Result<void> parse(std::vector<T>& values) {
    if constexpr (Variable<T>) {
      do {
        TRYV(parse(values.emplace_back()));
        cursor_.skip_blanks(false);
      } while (!cursor_.at_end() && cursor_.peek() != '\n');
      return {};
    } else {
      TRYV(cursor_.expect("["));
      if (cursor_.accept("]")) return {};
      do {
        TRYV(parse(values.emplace_back()));
      } while (cursor_.accept(","));
      return cursor_.expect("]");
    }
  }

  TextCursor& cursor_;
  TextPosition keyword_at_;
  std::vector<OutputName> outputs_;  // of the line at hand
  std::vector<Name> names_;
  std::array<int32_t, 3> next_ = {0, 0, 0};
};

}  // namespace

std::string print(const Instruction& instruction) {
  return std::visit(
      [&](const auto& it) { return print_instruction(it, facts(instruction).keyword); },
      instruction);
}

std::string print(const Trace& trace) {
  std::string text = fmt::format("trace {}\n", kTraceVersion);
  for (const Instruction& instruction : trace.instructions) text += print(instruction) + "\n";
  return text;
}

Result<Trace> parse_trace(std::string_view text, const std::string& name) {
  TextCursor cursor(text, name);
  cursor.skip_blanks(true);
  TRYV(cursor.expect("trace"));
  cursor.skip_blanks(false);
  const TextPosition where = cursor.position();
  const int64_t version = TRY(cursor.expect_integer("the version of the trace format"));
  if (version != kTraceVersion)
    return cursor.error_at(
        where, fmt::format("expected trace version {}, found version {}", kTraceVersion, version));
  Trace trace;
  Parser parser(cursor);
  for (;;) {
    cursor.skip_blanks(false);
    if (!cursor.at_end() && cursor.peek() != '\n') return cursor.expected("the end of the line");
    cursor.skip_blanks(true);
    if (cursor.at_end()) return trace;
    trace.instructions.push_back(TRY(parser.parse_line()));
  }
}

std::string print(const Decisions& decisions) {
  std::vector<std::string> rows;
  for (const std::vector<int64_t>& row : decisions) {
    std::vector<std::string> values;
    for (const int64_t value : row) values.push_back(show(value));
    rows.push_back(row.empty() ? "_" : join(values, " "));
  }
  return join(rows, " | ");
}

Result<Decisions> parse_decisions(std::string_view text, const std::string& name) {
  TextCursor cursor(text, name);
  Decisions decisions;
  cursor.skip_blanks(true);
  if (cursor.at_end()) return decisions;
  do {
    std::vector<int64_t> row;
    cursor.skip_blanks(false);
    if (!cursor.accept("_")) {
      do {
        row.push_back(TRY(cursor.expect_integer("an integer or '_'")));
        cursor.skip_blanks(false);
      } while (cursor.peek() != '|' && cursor.peek() != '\n' && !cursor.at_end());
    }
    decisions.push_back(std::move(row));
  } while (cursor.accept("|"));
  cursor.skip_blanks(true);
  if (!cursor.at_end()) return cursor.expected("'|' or the end of the text");
  return decisions;
}

}  // namespace hone
