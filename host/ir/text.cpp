// SPDX-License-Identifier: Apache-2.0
#include "ir/text.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <tuple>
#include <unordered_map>

namespace hone {
namespace {

std::string loop_name(const Program& program, LoopId loop) {
  return program.loops.contains(loop) ? program.loops[loop].name : fmt::format("?{}", loop.value);
}
std::string buffer_name(const Program& program, BufferId buffer) {
  return program.buffers.contains(buffer) ? program.buffers[buffer].name
                                          : fmt::format("?{}", buffer.value);
}

// Forms keep their terms in the order of ids; text shows them in the order of the loops, so that it
// does not depend on how ids are numbered. `place` gives a loop's place in the text.
struct FormPrinter {
  const Program& program;
  std::function<int(LoopId)> place;

  std::string print(const Affine& form) const {
    return hone::print(in_text_order(form), [&](LoopId loop) { return loop_name(program, loop); });
  }

  Affine in_text_order(const Affine& form) const {
    struct Keyed {
      AffineTerm term;
      int place;
      std::string text;
    };
    std::vector<Keyed> list;
    for (const AffineTerm& term : form.terms) {
      Keyed keyed{term, std::numeric_limits<int>::max(), {}};
      if (term.inner) {
        const Affine inner = in_text_order(*term.inner);
        keyed.text = print(inner);
        keyed.term.inner = std::make_shared<Affine>(inner);
      } else {
        keyed.place = place(term.loop);
      }
      list.push_back(std::move(keyed));
    }
    std::sort(list.begin(), list.end(), [](const Keyed& a, const Keyed& b) {
      return std::tuple(a.place, a.text, -a.term.div, a.term.mod) <
             std::tuple(b.place, b.text, -b.term.div, b.term.mod);
    });
    Affine result{{}, form.base};
    for (Keyed& keyed : list) result.terms.push_back(std::move(keyed.term));
    return result;
  }
};

class ProgramPrinter {
 public:
  explicit ProgramPrinter(const Program& program) : program_(program) {
    number(program.body);
    forms_ = std::make_unique<FormPrinter>(program, [this](LoopId loop) {
      const auto found = places_.find(loop);
      return found == places_.end() ? loop.value : found->second;
    });
  }

  std::string print_all() {
    line(0, fmt::format("program {}", program_.name));
    for (const Buffer& buffer : program_.buffers) put_buffer(buffer);
    put_body(program_.body, 0);
    return std::move(out_);
  }

 private:
  void number(const std::vector<Node>& body) {
    for (const Node& node : body) {
      if (!program_.loops.contains(node.loop)) continue;
      if (!places_.emplace(node.loop, static_cast<int>(places_.size())).second) continue;
      number(program_.loops[node.loop].body);
    }
  }

  void line(int depth, std::string_view text) {
    out_.append(static_cast<size_t>(2 * depth), ' ');
    out_ += text;
    out_ += '\n';
  }

  void put_buffer(const Buffer& buffer) {
    std::string text =
        fmt::format("buffer {} {}[{}] {}", buffer.name, hone::to_string(buffer.dtype),
                    fmt::join(buffer.shape, ","), to_string(buffer.kind));
    if (buffer.scope != Scope::workspace) text += fmt::format(" {}", to_string(buffer.scope));
    line(0, text);
  }

  void put_body(const std::vector<Node>& body, int depth) {
    for (const Node& node : body) {
      if (program_.blocks.contains(node.block)) {
        put_block(program_.blocks[node.block], depth);
      } else if (program_.loops.contains(node.loop)) {
        put_loops(node.loop, depth);
      } else {
        line(depth, fmt::format("?{}", std::max(node.loop.value, node.block.value)));
      }
    }
  }

  static bool is_plain(const Loop& loop) {
    return loop.kind == LoopKind::serial && loop.tail == Tail::exact && loop.annotations.empty();
  }

  // A run of plain loops that hold nothing else than the next one stands on one line.
  void put_loops(LoopId id, int depth) {
    const Loop* loop = &program_.loops[id];
    std::string text = "for " + loop_text(*loop);
    while (is_plain(*loop) && loop->body.size() == 1) {
      const LoopId next = loop->body[0].loop;
      if (!program_.loops.contains(next) || !is_plain(program_.loops[next])) break;
      loop = &program_.loops[next];
      text += ", " + loop_text(*loop);
    }
    line(depth, text);
    put_body(loop->body, depth + 1);
  }

  static std::string annotations_text(const std::vector<Annotation>& annotations) {
    std::string text;
    for (const Annotation& annotation : annotations)
      text += fmt::format(" @{}={}", annotation.key, annotation.value);
    return text;
  }

  static std::string loop_text(const Loop& loop) {
    std::string text = fmt::format("{} in {}", loop.name, loop.extent);
    if (loop.kind != LoopKind::serial) text += fmt::format(" {}", to_string(loop.kind));
    if (loop.tail != Tail::exact) text += fmt::format(" tail={}", to_string(loop.tail));
    return text + annotations_text(loop.annotations);
  }

  void put_block(const Block& block, int depth) {
    std::string text = fmt::format("block {}", block.name);
    std::optional<AxisKind> kind;
    for (const Axis& axis : block.axes) {
      if (kind != axis.kind) text += fmt::format("  {}", to_string(axis.kind));
      kind = axis.kind;
      const LoopId loop = axis.binding.as_loop();
      const bool whole =
          program_.loops.contains(loop) && program_.loops[loop].extent == axis.extent;
      text += fmt::format(" {}{}={}", axis.name, whole ? "" : fmt::format(":{}", axis.extent),
                          forms_->print(axis.binding));
    }
    line(depth, text + annotations_text(block.annotations));
    for (const Predicate& predicate : block.predicates)
      line(depth + 1, fmt::format("where {} < {}", forms_->print(predicate.form), predicate.bound));
    for (const Store& store : block.init) put_store("init  ", block, store, depth + 1);
    for (const Store& store : block.body) put_store("update", block, store, depth + 1);
  }

  void put_store(std::string_view keyword, const Block& block, const Store& store, int depth) {
    const ExprNames names = names_of(program_, block);
    const bool known = program_.buffers.contains(store.buffer);
    const DType dtype = known ? program_.buffers[store.buffer].dtype : store.value->dtype;
    // The element reads like a load of it; made by hand, since a broken Program prints too.
    const auto load = std::make_shared<ExprNode>(
        ExprNode{Op::load, dtype, 1, store.buffer.value, 0, 0, store.indices});
    const std::string element = print(load, names);
    line(depth, fmt::format("{} {} = {}", keyword, element, print(store.value, names, dtype)));
  }

  const Program& program_;
  std::unordered_map<LoopId, int> places_;
  std::unique_ptr<FormPrinter> forms_;
  std::string out_;
};

}  // namespace

std::string_view to_string(BufferKind kind) {
  constexpr std::string_view kNames[] = {"input", "param", "temp", "output"};
  return kNames[static_cast<size_t>(kind)];
}
std::string_view to_string(Scope scope) {
  constexpr std::string_view kNames[] = {"workspace", "stack", "registers", "constant"};
  return kNames[static_cast<size_t>(scope)];
}
std::string_view to_string(LoopKind kind) {
  constexpr std::string_view kNames[] = {"serial", "parallel", "vectorized", "unrolled"};
  return kNames[static_cast<size_t>(kind)];
}
std::string_view to_string(Tail tail) {
  constexpr std::string_view kNames[] = {"exact", "peel", "shift", "predicate"};
  return kNames[static_cast<size_t>(tail)];
}
std::string_view to_string(AxisKind kind) {
  return kind == AxisKind::spatial ? "spatial" : "reduce";
}

ExprNames names_of(const Program& program, const Block& block) {
  ExprNames names;
  names.axis = [&block](int32_t axis) {
    const size_t i = static_cast<size_t>(axis);
    return i < block.axes.size() ? block.axes[i].name : fmt::format("?{}", axis);
  };
  names.var = [](int32_t var) { return fmt::format("?var{}", var); };
  names.reg = [](int32_t reg) { return fmt::format("?reg{}", reg); };
  names.buffer = [&program](BufferId buffer) { return buffer_name(program, buffer); };
  return names;
}

std::string print_form(const Program& program, const Affine& form) {
  const auto place = [](LoopId loop) { return static_cast<int>(loop.value); };
  return FormPrinter{program, place}.print(form);
}

std::string print(const Program& program) { return ProgramPrinter(program).print_all(); }

bool equal(const Program& left, const Program& right) { return print(left) == print(right); }

}  // namespace hone
