// SPDX-License-Identifier: Apache-2.0
//
// The inner loop of a search: no names are looked up except those of `block` instructions and named
// buffers, and no text is made unless something fails.
#include "schedule/replay.h"

#include <algorithm>

#include "base/text.h"
#include "ir/verify.h"
#include "schedule/primitives.h"
#include "schedule/trace_fields.h"

namespace hone {
namespace {

class Executor {
 public:
  Executor(Program& program, const Environment& environment, const Decide& decide)
      : program_(program), environment_(environment), decide_(decide) {}

  // -- get
  // --------------------------------------------------------------------------------------------
  Result<Outputs> run(const GetBlock& it) {
    const std::optional<BlockId> block = find_block(program_, it.name);
    if (!block) return no_such_block(it.name);
    return Outputs{{*block}, {}, {}};
  }
  Result<Outputs> run(const GetLoops& it) {
    const BlockId block = TRY(get(it.block));
    return Outputs{{}, loops_above(program_, Node{{}, block}), {}};
  }
  Result<Outputs> run(const GetChildBlocks& it) {
    const LoopId loop = TRY(get(it.loop));
    return Outputs{blocks_below(program_, Node{loop, {}}), {}, {}};
  }
  Result<Outputs> run(const GetProducers& it) {
    const BlockId block = TRY(get(it.block));
    return Outputs{others(block, reads_of(program_.blocks[block]), writers_of), {}, {}};
  }
  Result<Outputs> run(const GetConsumers& it) {
    const BlockId block = TRY(get(it.block));
    return Outputs{others(block, writes_of(program_.blocks[block]), readers_of), {}, {}};
  }

  // -- loops and their kinds
  // --------------------------------------------------------------------------
  Result<Outputs> run(const Split& it) {
    const LoopId loop = TRY(get(it.loop));
    std::vector<int64_t> factors;
    for (const IntParam& factor : it.factors) factors.push_back(TRY(get(factor)));
    const Tail tail = TRY(get_enum(it.tail, Tail::predicate));
    return Outputs{{}, TRY(split(program_, loop, factors, tail)), {}};
  }
  Result<Outputs> run(const Fuse& it) {
    const std::vector<LoopId> loops = TRY(get(it.loops));
    return Outputs{{}, {TRY(fuse(program_, loops))}, {}};
  }
  Result<Outputs> run(const Reorder& it) {
    const std::vector<LoopId> loops = TRY(get(it.loops));
    TRYV(reorder(program_, loops));
    return Outputs{};
  }
  Result<Outputs> run(const UnitLoop& it) {
    const Node above = TRY(get(it.above));
    return Outputs{{}, {TRY(add_unit_loop(program_, above))}, {}};
  }
  Result<Outputs> run(const Parallel& it) { return on_loop(it.loop, parallel); }
  Result<Outputs> run(const Vectorize& it) { return on_loop(it.loop, vectorize); }
  Result<Outputs> run(const Unroll& it) { return on_loop(it.loop, unroll); }

  // -- compute location, inlining
  // ---------------------------------------------------------------------
  Result<Outputs> run(const ComputeAt& it) { return move_to(it.block, it.loop, compute_at); }
  Result<Outputs> run(const ReverseComputeAt& it) {
    return move_to(it.block, it.loop, reverse_compute_at);
  }
  Result<Outputs> run(const ComputeInline& it) {
    const BlockId block = TRY(get(it.block));
    TRYV(compute_inline(program_, block));
    return Outputs{};
  }
  Result<Outputs> run(const ReverseComputeInline& it) {
    const BlockId block = TRY(get(it.block));
    TRYV(reverse_compute_inline(program_, block));
    return Outputs{};
  }

  // -- caches, reductions, annotations
  // ----------------------------------------------------------------
  Result<Outputs> run(const CacheRead& it) { return cache(it, cache_read); }
  Result<Outputs> run(const CacheWrite& it) { return cache(it, cache_write); }
  Result<Outputs> run(const SetScope& it) {
    const BufferId buffer = TRY(get(it.buffer));
    const Scope scope = TRY(get_enum(it.scope, kLastScope));
    TRYV(set_scope(program_, buffer, scope));
    return Outputs{};
  }
  Result<Outputs> run(const TransformLayout& it) {
    const BufferId buffer = TRY(get(it.buffer));
    std::vector<int64_t> tiles;
    for (const IntParam& tile : it.tiles) tiles.push_back(TRY(get(tile)));
    TRYV(transform_layout(program_, buffer, tiles, it.order));
    return Outputs{};
  }
  Result<Outputs> run(const DecomposeReduction& it) {
    const BlockId block = TRY(get(it.block));
    const LoopId loop = TRY(get(it.loop));
    return Outputs{{TRY(decompose_reduction(program_, block, loop))}, {}, {}};
  }
  Result<Outputs> run(const Annotate& it) {
    const Node node = TRY(get(it.node));
    const int64_t value = TRY(get(it.value));
    TRYV(annotate(program_, node, it.key, value));
    return Outputs{};
  }

  // -- sampling
  // ---------------------------------------------------------------------------------------
  Result<Outputs> run(const SampleTile& it) { return sample_factors(it, false); }
  Result<Outputs> run(const SampleExactTile& it) { return sample_factors(it, true); }
  Result<Outputs> run(const SampleCategorical& it) {
    ChoiceDomain domain;
    if (!it.weights.empty() && it.weights.size() != it.candidates.size())
      return fail("{} weights for {} candidates", it.weights.size(), it.candidates.size());
    domain.weights.assign(it.candidates.size(), 1.0);
    for (size_t i = 0; i < it.weights.size(); ++i)
      domain.weights[i] = static_cast<double>(it.weights[i]);
    const std::vector<int64_t> decision = TRY(decide(std::move(domain), it.decision));
    return Outputs{{}, {}, {it.candidates[static_cast<size_t>(decision[0])]}};
  }
  Result<Outputs> run(const SampleComputeLocation& it) {
    const BlockId block = TRY(get(it.block));
    const std::vector<LoopId> loops = compute_locations(program_, block, it.reverse != 0);
    const std::vector<int64_t> decision =
        TRY(decide(ChoiceDomain{-1, std::vector<double>(loops.size() + 1, 1.0)}, it.decision));
    const LoopId location = decision[0] < 0 ? LoopId{} : loops[static_cast<size_t>(decision[0])];
    return Outputs{{}, {location}, {}};
  }

 private:
  template <typename Value, typename Var>
  static const Value* find(const std::vector<std::optional<Value>>& values, Var variable) {
    const size_t at = static_cast<size_t>(variable.value);
    return variable.valid() && at < values.size() && values[at] ? &*values[at] : nullptr;
  }

  Result<BlockId> get(BlockVar variable) const {
    const BlockId* block = find(environment_.blocks, variable);
    if (!block) return fail("b{} stands for nothing yet", variable.value);
    if (!program_.blocks[*block].alive)
      return fail("b{} is gone: block {} was inlined or removed", variable.value,
                  program_.blocks[*block].name);
    return *block;
  }
  Result<LoopId> get(LoopVar variable) const {
    const LoopId* loop = find(environment_.loops, variable);
    if (!loop) return fail("l{} stands for nothing yet", variable.value);
    if (!loop->valid())
      return fail("l{} stands for no loop but for staying in place", variable.value);
    if (!program_.loops[*loop].alive)
      return fail("l{} is gone: loop {} was split, fused or removed", variable.value,
                  program_.loops[*loop].name);
    return *loop;
  }
  Result<std::vector<LoopId>> get(const std::vector<LoopVar>& variables) const {
    std::vector<LoopId> loops;
    for (const LoopVar variable : variables) loops.push_back(TRY(get(variable)));
    return loops;
  }
  Result<int64_t> get(IntVar variable) const {
    const int64_t* value = find(environment_.ints, variable);
    if (!value) return fail("v{} stands for nothing yet", variable.value);
    return *value;
  }
  Result<int64_t> get(const IntParam& param) const {
    return param.var.valid() ? get(param.var) : Result<int64_t>(param.literal);
  }
  template <typename E>
  Result<E> get_enum(const Param<E>& param, E last) const {
    if (!param.var.valid()) return param.literal;
    const int64_t value = TRY(get(param.var));
    if (value < 0 || value > static_cast<int64_t>(last))
      return fail("v{} is {}, expected 0 to {}", param.var.value, value,
                  static_cast<int64_t>(last));
    return static_cast<E>(value);
  }
  Result<Node> get(const NodeParam& param) const {
    if (param.block.valid()) return Node{{}, TRY(get(param.block))};
    return Node{TRY(get(param.loop)), {}};
  }
  Result<BufferId> get(const BufferParam& param) const {
    if (param.role == BufferParam::Role::named) {
      if (const auto buffer = find_buffer(program_, param.name)) return *buffer;
      return fail("there is no buffer {}", param.name);
    }
    const BlockId block = TRY(get(param.block));
    const bool reads = param.role == BufferParam::Role::read;
    const std::vector<BufferId> buffers =
        reads ? reads_of(program_.blocks[block]) : writes_of(program_.blocks[block]);
    if (param.index < 0 || param.index >= static_cast<int64_t>(buffers.size()))
      return fail("block {} {} {} buffers, there is no number {}", program_.blocks[block].name,
                  reads ? "reads" : "writes", buffers.size(), param.index);
    return buffers[static_cast<size_t>(param.index)];
  }

  std::unexpected<Error> no_such_block(const std::string& name) const {
    std::vector<std::string> names;
    for (const BlockId block : all_blocks(program_)) names.push_back(program_.blocks[block].name);
    if (const auto near = closest(name, names); near && name.size() > 1)
      return fail("there is no block {}, did you mean {}?", name, *near);
    return fail("there is no block {}", name);
  }

  // Blocks that touch one of `buffers` by `touching` (readers_of, writers_of), in order, without
  // `self`.
  std::vector<BlockId> others(BlockId self, const std::vector<BufferId>& buffers,
                              std::vector<BlockId> (*touching)(const Program&, BufferId)) const {
    std::vector<BlockId> found;
    for (const BufferId buffer : buffers) {
      const std::vector<BlockId> blocks = touching(program_, buffer);
      found.insert(found.end(), blocks.begin(), blocks.end());
    }
    std::vector<BlockId> result = all_blocks(program_);
    std::erase_if(result, [&](BlockId block) {
      return block == self || std::find(found.begin(), found.end(), block) == found.end();
    });
    return result;
  }

  Result<Outputs> on_loop(LoopVar variable, Result<void> (*primitive)(Program&, LoopId)) {
    const LoopId loop = TRY(get(variable));
    TRYV(primitive(program_, loop));
    return Outputs{};
  }

  Result<Outputs> move_to(BlockVar block, LoopVar loop,
                          Result<void> (*primitive)(Program&, BlockId, LoopId)) {
    const BlockId id = TRY(get(block));
    const LoopId* location = find(environment_.loops, loop);
    if (location && !location->valid()) return Outputs{};
    const LoopId target = TRY(get(loop));
    TRYV(primitive(program_, id, target));
    return Outputs{};
  }

  template <typename T>
  Result<Outputs> cache(const T& it,
                        Result<BlockId> (*primitive)(Program&, BlockId, BufferId, Scope)) {
    const BlockId block = TRY(get(it.block));
    const BufferId buffer = TRY(get(it.buffer));
    const Scope scope = TRY(get_enum(it.scope, kLastScope));
    return Outputs{{TRY(primitive(program_, block, buffer, scope))}, {}, {}};
  }

  template <typename T>
  Result<Outputs> sample_factors(const T& it, bool exact) {
    const LoopId loop = TRY(get(it.loop));
    const int64_t extent = program_.loops[loop].extent;
    return Outputs{
        {},
        {},
        TRY(decide(TileDomain{extent, it.parts, it.max, it.multiple_of, exact}, it.decision))};
  }

  Result<std::vector<int64_t>> decide(Domain domain, const Decision& own) {
    TRYV(check_domain(domain));
    return decide_(domain, own);
  }

  Program& program_;
  const Environment& environment_;
  const Decide& decide_;
};

template <typename Value, typename Var>
void bind(std::vector<std::optional<Value>>& values, Var variable, Value value) {
  ENSURE(variable.valid());
  const size_t at = static_cast<size_t>(variable.value);
  if (values.size() <= at) values.resize(at + 1);
  values[at] = value;
}

// Gives the instruction's output variables their values.
Result<void> bind_outputs(Environment& environment, const Instruction& instruction,
                          const Outputs& outputs) {
  size_t next = 0;
  size_t named = 0;
  const size_t given = outputs.blocks.size() + outputs.loops.size() + outputs.ints.size();
  std::visit(
      [&](const auto& it) {
        for_each_output(it, [&]<typename Var>(const Var& variable) {
          ++named;
          if (next >= given) return;
          if constexpr (std::is_same_v<Var, BlockVar>) {
            bind(environment.blocks, variable, outputs.blocks[next++]);
          } else if constexpr (std::is_same_v<Var, LoopVar>) {
            bind(environment.loops, variable, outputs.loops[next++]);
          } else {
            bind(environment.ints, variable, outputs.ints[next++]);
          }
        });
      },
      instruction);
  if (named == given) return {};
  return fail("it gives {} results, and the trace names {}", given, named);
}

Result<Program> run_all(const Program& program, const Trace& trace, const Decide& decide,
                        const AfterStep* after_step) {
  Program scheduled = program;
  Environment environment;
  for (size_t i = 0; i < trace.instructions.size(); ++i) {
    const Instruction& instruction = trace.instructions[i];
    Result<Outputs> outputs = execute(scheduled, environment, instruction, decide);
    Result<void> bound;
    if (outputs) bound = bind_outputs(environment, instruction, *outputs);
    if (!outputs || !bound)
      return std::unexpected(within(outputs ? bound.error() : outputs.error(),
                                    "instruction {} `{}`", i, print(instruction)));
    if (after_step) (*after_step)(i, scheduled);
  }
  return scheduled;
}

// Whether what the instruction does could mix what is made ahead of time with what is not: it moves
// or rewires blocks, and the Program has such constants or gets one.
bool may_break_constants(const Program& program, const Instruction& instruction) {
  const auto makes = [](const ScopeParam& scope) {
    return scope.var.valid() || scope.literal == Scope::constant;
  };
  if (const auto* it = std::get_if<CacheRead>(&instruction); it && makes(it->scope)) return true;
  if (const auto* it = std::get_if<CacheWrite>(&instruction); it && makes(it->scope)) return true;
  if (const auto* it = std::get_if<SetScope>(&instruction); it && makes(it->scope)) return true;
  const std::string_view family = facts(instruction).family;
  if (family != "cache" && family != "compute location" && family != "inline") return false;
  return std::any_of(program.buffers.begin(), program.buffers.end(),
                     [](const Buffer& buffer) { return buffer.scope == Scope::constant; });
}

Result<void> check_rows(const Trace& trace, const Decisions& decisions) {
  const size_t wanted = sampling_count(trace);
  if (decisions.size() == wanted) return {};
  return fail("{} rows of decisions for a trace with {} sampling instructions", decisions.size(),
              wanted);
}

Result<Program> replay_with(const Program& program, const Trace& trace, const Decisions& decisions,
                            const AfterStep* after_step) {
  if (!decisions.empty()) TRYV(check_rows(trace, decisions));
  size_t row = 0;
  const Decide decide = [&](const Domain& domain,
                            const Decision& own) -> Result<std::vector<int64_t>> {
    const std::vector<int64_t>* chosen = own ? &*own : nullptr;
    if (!decisions.empty() && !decisions[row].empty()) chosen = &decisions[row];
    ++row;
    if (!chosen) return fail("its decision is open");
    TRYV(check_decision(domain, *chosen));
    return *chosen;
  };
  return run_all(program, trace, decide, after_step);
}

}  // namespace

Result<Outputs> execute(Program& program, const Environment& environment,
                        const Instruction& instruction, const Decide& decide) {
  Executor executor(program, environment, decide);
  const auto run = [&] {
    return std::visit([&](const auto& it) { return executor.run(it); }, instruction);
  };
  if (!may_break_constants(program, instruction)) return run();
  Program before = program;
  Result<Outputs> outputs = run();
  if (!outputs) return outputs;
  if (auto kept = check_constants(program); !kept) {
    program = std::move(before);
    return std::unexpected(within(kept.error(), "{}", facts(instruction).keyword));
  }
  return outputs;
}

Result<Program> replay(const Program& program, const Trace& trace, const Decisions& decisions) {
  return replay_with(program, trace, decisions, nullptr);
}

Result<Program> replay_steps(const Program& program, const Trace& trace, const Decisions& decisions,
                             const AfterStep& after_step) {
  return replay_with(program, trace, decisions, &after_step);
}

Result<Sampled> sample(const Program& program, const Trace& trace, Rng& rng) {
  Sampled sampled;
  const Decide decide = [&](const Domain& domain,
                            const Decision& own) -> Result<std::vector<int64_t>> {
    Rng stream = rng.fork();
    if (own) TRYV(check_decision(domain, *own));
    sampled.domains.push_back(domain);
    sampled.decisions.push_back(own ? *own : draw(domain, stream));
    return sampled.decisions.back();
  };
  sampled.program = TRY(run_all(program, trace, decide, nullptr));
  return sampled;
}

Result<Sampled> sample_near(const Program& program, const Trace& trace, const Decisions& decisions,
                            Rng& rng) {
  TRYV(check_rows(trace, decisions));
  Sampled sampled;
  const Decide decide = [&](const Domain& domain, const Decision&) -> Result<std::vector<int64_t>> {
    Rng stream = rng.fork();
    const std::vector<int64_t>& wish = decisions[sampled.decisions.size()];
    sampled.domains.push_back(domain);
    sampled.decisions.push_back(wish.empty() ? draw(domain, stream) : repair(domain, wish));
    return sampled.decisions.back();
  };
  sampled.program = TRY(run_all(program, trace, decide, nullptr));
  return sampled;
}

}  // namespace hone
