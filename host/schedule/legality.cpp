// SPDX-License-Identifier: Apache-2.0
//
// `determines` reads forms as numbers in a mixed radix. Of a sum whose terms are sorted by |scale|,
// the largest term can be read off the value if its scale is more than all smaller terms together
// can span, then the next, and so on. Terms are digits (source / div % mod) of loops; a loop is
// known once its digits reach from the lowest to the highest without a gap. A source that is a form
// of its own is decoded in turn once all of its digits are known.
#include "schedule/legality.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "ir/region.h"

namespace hone {
namespace {

bool contains(std::span<const LoopId> loops, LoopId loop) {
  return std::find(loops.begin(), loops.end(), loop) != loops.end();
}

bool uses_any(const Affine& form, std::span<const LoopId> loops) {
  return std::any_of(loops.begin(), loops.end(), [&](LoopId loop) { return uses(form, loop); });
}

struct Digits {
  AffineTerm source;
  std::vector<std::pair<int64_t, int64_t>> known;  // div, mod
};

class Decoder {
 public:
  Decoder(const Program& program, std::span<const LoopId> varying)
      : extents_(program.extents()), varying_(varying) {}

  void read(const Affine& form) {
    std::vector<AffineTerm> terms;
    for (const AffineTerm& term : form.terms)
      if (term.inner ? uses_any(*term.inner, varying_) : contains(varying_, term.loop))
        terms.push_back(term);
    std::sort(terms.begin(), terms.end(), [](const AffineTerm& a, const AffineTerm& b) {
      return std::abs(a.scale) < std::abs(b.scale);
    });
    std::vector<int64_t> span_below = {0};
    for (const AffineTerm& term : terms) {
      const Interval range = range_of(Affine{{term}, 0}, extents_);
      span_below.push_back(span_below.back() + range.high - range.low);
    }
    for (size_t i = terms.size(); i-- > 0;) {
      if (std::abs(terms[i].scale) <= span_below[i]) return;
      add_digit(terms[i]);
    }
  }

  bool knows(LoopId loop) {
    for (size_t i = 0; i < sources_.size(); ++i) {  // reading an inner form may add sources
      if (sources_[i].source.inner && covered(sources_[i])) {
        const std::shared_ptr<const Affine> inner = sources_[i].source.inner;
        if (!contains_form(read_, *inner)) {
          read_.push_back(inner);
          read(*inner);
          i = static_cast<size_t>(-1);
        }
      }
    }
    return std::any_of(sources_.begin(), sources_.end(), [&](const Digits& digits) {
      return !digits.source.inner && digits.source.loop == loop && covered(digits);
    });
  }

 private:
  static bool contains_form(const std::vector<std::shared_ptr<const Affine>>& forms,
                            const Affine& form) {
    return std::any_of(forms.begin(), forms.end(),
                       [&](const auto& other) { return equal(*other, form); });
  }

  void add_digit(const AffineTerm& term) {
    const auto same = [&](const Digits& digits) {
      const AffineTerm& other = digits.source;
      if (!term.inner || !other.inner)
        return !term.inner && !other.inner && term.loop == other.loop;
      return equal(*term.inner, *other.inner);
    };
    auto found = std::find_if(sources_.begin(), sources_.end(), same);
    if (found == sources_.end()) found = sources_.insert(found, Digits{term, {}});
    found->known.emplace_back(term.div, term.mod);
  }

  bool covered(const Digits& digits) const {
    const Interval range = digits.source.inner ? range_of(*digits.source.inner, extents_)
                                               : Interval{0, extents_(digits.source.loop) - 1};
    if (range.low < 0) return false;
    for (int64_t reach = 1; reach <= range.high;) {
      int64_t next = reach;
      for (const auto& [div, mod] : digits.known) {
        if (div != reach) continue;
        if (mod == 0) return true;
        next = std::max(next, div * mod);
      }
      if (next == reach) return false;
      reach = next;
    }
    return true;
  }

  LoopExtents extents_;
  std::span<const LoopId> varying_;
  std::vector<Digits> sources_;
  std::vector<std::shared_ptr<const Affine>> read_;
};

bool covers(const Program& program, const Region& outer, const Region& inner) {
  if (outer.size() != inner.size()) return false;
  for (size_t i = 0; i < outer.size(); ++i) {
    const Affine ahead = add(inner[i].base, scale(outer[i].base, -1));
    const Interval range = range_of(ahead, program.extents());
    if (range.low < 0 || range.high + inner[i].extent > outer[i].extent) return false;
  }
  return true;
}

bool is_own_load(const Store& store, const Expr& expr) {
  return expr->op == Op::load && expr->id == store.buffer.value &&
         expr->args.size() == store.indices.size() &&
         std::equal(expr->args.begin(), expr->args.end(), store.indices.begin(),
                    [](const Expr& a, const Expr& b) { return equal(a, b); });
}

bool loads_buffer(const Expr& expr, BufferId buffer) {
  bool found = false;
  walk(expr, [&](const ExprNode& node) {
    found = found || (node.op == Op::load && node.id == buffer.value);
  });
  return found;
}

// Updates in place what stands in the buffer already.
bool updates_in_place(const Block& block, BufferId buffer) {
  return block.init.empty() &&
         std::any_of(block.body.begin(), block.body.end(),
                     [&](const Store& store) { return loads_buffer(store.value, buffer); });
}

// What blocks[reader] reads of the buffer (`own`: the elements that it updates), if any of `blocks`
// writes it, has to be written by one of those before it in the same iteration.
Result<void> check_written_before(const Program& program, const std::vector<BlockId>& blocks,
                                  size_t reader, BufferId buffer, bool own,
                                  const std::vector<LoopId>& fixed) {
  BlockId writer_below;
  for (size_t writer = 0; writer < blocks.size(); ++writer) {
    const std::vector<BufferId> writes = writes_of(program.blocks[blocks[writer]]);
    if (writer == reader || std::find(writes.begin(), writes.end(), buffer) == writes.end())
      continue;
    writer_below = blocks[writer];
    if (writer < reader && covers(program, region_of(program, blocks[writer], buffer, true, fixed),
                                  region_of(program, blocks[reader], buffer, own, fixed)))
      return {};
  }
  if (!writer_below.valid()) return {};
  return fail("block {} may read values of {} that block {} writes in another iteration of loop {}",
              program.blocks[blocks[reader]].name, program.buffers[buffer].name,
              program.blocks[writer_below].name, program.loops[fixed.back()].name);
}

}  // namespace

Result<void> check_alive(const Program& program, LoopId loop) {
  ENSURE(program.loops.contains(loop));
  if (program.loops[loop].alive) return {};
  return fail("loop {} is gone: it was split, fused or removed", program.loops[loop].name);
}

bool determines(const Program& program, std::span<const Affine> forms,
                std::span<const LoopId> varying, std::span<const LoopId> wanted) {
  Decoder decoder(program, varying);
  for (const Affine& form : forms) decoder.read(form);
  return std::all_of(wanted.begin(), wanted.end(), [&](LoopId loop) {
    return program.loops[loop].extent == 1 || decoder.knows(loop);
  });
}

std::vector<LoopId> loops_of_axes(const Block& block, AxisKind kind) {
  std::vector<LoopId> loops;
  for (const Axis& axis : block.axes)
    if (axis.kind == kind) collect_loops(axis.binding, loops);
  return loops;
}

const Axis* reduce_axis_of(const Block& block, LoopId loop) {
  for (const Axis& axis : block.axes)
    if (axis.kind == AxisKind::reduce && uses(axis.binding, loop)) return &axis;
  return nullptr;
}

Result<void> check_iterations_apart(const Program& program, LoopId loop,
                                    const std::vector<LoopId>& fixed) {
  const std::vector<BlockId> blocks = blocks_below(program, Node{loop, {}});
  if (blocks.size() < 2) return {};
  for (size_t reader = 0; reader < blocks.size(); ++reader) {
    const Block& block = program.blocks[blocks[reader]];
    for (const BufferId buffer : reads_of(block))
      TRYV(check_written_before(program, blocks, reader, buffer, false, fixed));
    for (const BufferId buffer : writes_of(block))
      if (updates_in_place(block, buffer))
        TRYV(check_written_before(program, blocks, reader, buffer, true, fixed));
  }
  return {};
}

bool is_order_free(const Block& block) {
  if (block.body.size() != 1) return true;
  const Store& store = block.body[0];
  const ExprNode& value = *store.value;
  switch (value.op) {
    case Op::add:
    case Op::mul:
    case Op::min:
    case Op::max:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
    case Op::logical_and:
    case Op::logical_or:
      return (is_own_load(store, value.args[0]) && !loads_buffer(value.args[1], store.buffer)) ||
             (is_own_load(store, value.args[1]) && !loads_buffer(value.args[0], store.buffer));
    case Op::sub:
      return is_own_load(store, value.args[0]) && !loads_buffer(value.args[1], store.buffer);
    case Op::fma:
      return is_own_load(store, value.args[2]) && !loads_buffer(value.args[0], store.buffer) &&
             !loads_buffer(value.args[1], store.buffer);
    default:
      return false;
  }
}

}  // namespace hone
