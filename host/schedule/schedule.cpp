// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule.h"

#include "schedule/trace_fields.h"

namespace hone {
namespace {

template <typename Var, typename Value>
Var add_variable(std::vector<std::optional<Value>>& values, Value value) {
  values.emplace_back(value);
  return Var{static_cast<int32_t>(values.size() - 1)};
}

// Makes a new variable for each result and puts them into the instruction.
template <typename T>
void name_outputs(T& instruction, const Outputs& outputs, Environment& environment) {
  if constexpr (HasOutput<T>) {
    auto& output = instruction.*(T::output());
    using Output = std::remove_cvref_t<decltype(output)>;
    const auto put = [&](auto& variables, auto& values, const auto& results) {
      using Var = std::remove_cvref_t<decltype(variables[0])>;
      for (const auto& result : results) variables.push_back(add_variable<Var>(values, result));
    };
    const auto put_all = [&](auto& variables) {
      using Var = std::remove_cvref_t<decltype(variables[0])>;
      if constexpr (std::is_same_v<Var, BlockVar>)
        put(variables, environment.blocks, outputs.blocks);
      else if constexpr (std::is_same_v<Var, LoopVar>)
        put(variables, environment.loops, outputs.loops);
      else
        put(variables, environment.ints, outputs.ints);
    };
    if constexpr (is_vector<Output>) {
      output.clear();
      put_all(output);
    } else {
      std::vector<Output> one;
      put_all(one);
      ENSURE(one.size() == 1);
      output = one[0];
    }
  }
}

template <typename Value, typename Var>
const Value& value_of(const std::vector<std::optional<Value>>& values, Var variable) {
  const size_t at = static_cast<size_t>(variable.value);
  ENSURE(variable.valid() && at < values.size() && values[at]);
  return *values[at];
}

// Variables of a trace that is being taken over → variables here.
struct Renaming {
  std::vector<BlockVar> blocks;
  std::vector<LoopVar> loops;
  std::vector<IntVar> ints;

  template <typename Var>
  std::vector<Var>& of() {
    if constexpr (std::is_same_v<Var, BlockVar>)
      return blocks;
    else if constexpr (std::is_same_v<Var, LoopVar>)
      return loops;
    else
      return ints;
  }
};

template <typename T>
void collect_outputs(const T& instruction, Renaming& outputs) {
  for_each_output(instruction, [&]<typename Var>(const Var& variable) {
    outputs.of<Var>().push_back(variable);
  });
}

template <typename Var>
void map_outputs(std::vector<Var>& map, const std::vector<Var>& from, const std::vector<Var>& to) {
  for (size_t i = 0; i < from.size(); ++i) {
    const size_t at = static_cast<size_t>(from[i].value);
    if (map.size() <= at) map.resize(at + 1);
    map[at] = to[i];
  }
}

}  // namespace

std::vector<IntParam> params(const std::vector<IntVar>& variables) {
  return {variables.begin(), variables.end()};
}

BlockId Schedule::id(BlockVar block) const { return value_of(environment_.blocks, block); }
LoopId Schedule::id(LoopVar loop) const { return value_of(environment_.loops, loop); }
int64_t Schedule::value(IntVar variable) const { return value_of(environment_.ints, variable); }

template <typename T>
Result<T> Schedule::record(T instruction) {
  std::optional<std::pair<Domain, std::vector<int64_t>>> drawn;
  const Decide decide = [&](const Domain& domain,
                            const Decision& own) -> Result<std::vector<int64_t>> {
    Rng stream = rng_.fork();
    if (own) TRYV(check_decision(domain, *own));
    drawn.emplace(domain, own ? *own : draw(domain, stream));
    return drawn->second;
  };
  const Outputs outputs = TRY(execute(program_, environment_, Instruction(instruction), decide));
  name_outputs(instruction, outputs, environment_);
  if (drawn) {
    domains_.push_back(std::move(drawn->first));
    decisions_.push_back(std::move(drawn->second));
  }
  trace_.instructions.emplace_back(instruction);
  return instruction;
}

Result<Instruction> Schedule::apply(Instruction instruction) {
  return std::visit(
      [&](auto& it) -> Result<Instruction> { return Instruction(TRY(record(std::move(it)))); },
      instruction);
}

Result<void> Schedule::apply(const Trace& trace) {
  Schedule next = *this;
  Renaming map;
  for (size_t i = 0; i < trace.instructions.size(); ++i) {
    Instruction instruction = trace.instructions[i];
    Renaming named;
    bool defined = true;
    std::visit(
        [&](auto& it) {
          collect_outputs(it, named);
          for_each_input(it, [&]<typename Var>(Var& variable) {
            const std::vector<Var>& known = map.of<Var>();
            const size_t at = static_cast<size_t>(variable.value);
            defined = defined && at < known.size() && known[at].valid();
            if (defined) variable = known[at];
          });
        },
        instruction);
    if (!defined)
      return fail("instruction {} `{}` uses a variable that stands for nothing yet", i,
                  print(trace.instructions[i]));
    const Result<Instruction> recorded = next.apply(std::move(instruction));
    if (!recorded)
      return std::unexpected(
          within(recorded.error(), "instruction {} `{}`", i, print(trace.instructions[i])));
    Renaming made;
    std::visit([&](const auto& it) { collect_outputs(it, made); }, *recorded);
    if (named.blocks.size() != made.blocks.size() || named.loops.size() != made.loops.size() ||
        named.ints.size() != made.ints.size())
      return fail("instruction {} `{}`: it gives {} results, and the trace names {}", i,
                  print(trace.instructions[i]),
                  made.blocks.size() + made.loops.size() + made.ints.size(),
                  named.blocks.size() + named.loops.size() + named.ints.size());
    map_outputs(map.blocks, named.blocks, made.blocks);
    map_outputs(map.loops, named.loops, made.loops);
    map_outputs(map.ints, named.ints, made.ints);
  }
  *this = std::move(next);
  return {};
}

// -- one line a primitive
// -----------------------------------------------------------------------------

Result<BlockVar> Schedule::block(const std::string& name) {
  return TRY(record(GetBlock{name, {}})).block;
}
Result<std::vector<LoopVar>> Schedule::loops(BlockVar block) {
  return TRY(record(GetLoops{block, {}})).loops;
}
Result<std::vector<BlockVar>> Schedule::child_blocks(LoopVar loop) {
  return TRY(record(GetChildBlocks{loop, {}})).blocks;
}
Result<std::vector<BlockVar>> Schedule::producers(BlockVar block) {
  return TRY(record(GetProducers{block, {}})).blocks;
}
Result<std::vector<BlockVar>> Schedule::consumers(BlockVar block) {
  return TRY(record(GetConsumers{block, {}})).blocks;
}
Result<std::vector<LoopVar>> Schedule::split(LoopVar loop, std::vector<IntParam> factors,
                                             TailParam tail) {
  return TRY(record(Split{loop, std::move(factors), tail, {}})).loops;
}
Result<LoopVar> Schedule::fuse(std::vector<LoopVar> loops) {
  return TRY(record(Fuse{std::move(loops), {}})).fused;
}
Result<void> Schedule::reorder(std::vector<LoopVar> loops) {
  TRYV(record(Reorder{std::move(loops)}));
  return {};
}
Result<LoopVar> Schedule::unit_loop(NodeParam above) {
  return TRY(record(UnitLoop{above, {}})).loop;
}
Result<void> Schedule::parallel(LoopVar loop) {
  TRYV(record(Parallel{loop}));
  return {};
}
Result<void> Schedule::vectorize(LoopVar loop) {
  TRYV(record(Vectorize{loop}));
  return {};
}
Result<void> Schedule::unroll(LoopVar loop) {
  TRYV(record(Unroll{loop}));
  return {};
}
Result<void> Schedule::compute_at(BlockVar block, LoopVar loop) {
  TRYV(record(ComputeAt{block, loop}));
  return {};
}
Result<void> Schedule::reverse_compute_at(BlockVar block, LoopVar loop) {
  TRYV(record(ReverseComputeAt{block, loop}));
  return {};
}
Result<void> Schedule::compute_inline(BlockVar block) {
  TRYV(record(ComputeInline{block}));
  return {};
}
Result<void> Schedule::reverse_compute_inline(BlockVar block) {
  TRYV(record(ReverseComputeInline{block}));
  return {};
}
Result<BlockVar> Schedule::cache_read(BlockVar block, BufferParam buffer, ScopeParam scope) {
  return TRY(record(CacheRead{block, std::move(buffer), scope, {}})).copy;
}
Result<BlockVar> Schedule::cache_write(BlockVar block, BufferParam buffer, ScopeParam scope) {
  return TRY(record(CacheWrite{block, std::move(buffer), scope, {}})).copy;
}
Result<void> Schedule::set_scope(BufferParam buffer, ScopeParam scope) {
  TRYV(record(SetScope{std::move(buffer), scope}));
  return {};
}
Result<void> Schedule::transform_layout(BufferParam buffer, std::vector<IntParam> tiles,
                                        std::vector<int64_t> order) {
  TRYV(record(TransformLayout{std::move(buffer), std::move(tiles), std::move(order)}));
  return {};
}
Result<BlockVar> Schedule::decompose_reduction(BlockVar block, LoopVar loop) {
  return TRY(record(DecomposeReduction{block, loop, {}})).init;
}
Result<void> Schedule::annotate(NodeParam node, const std::string& key, IntParam value) {
  TRYV(record(Annotate{node, key, value}));
  return {};
}
Result<std::vector<IntVar>> Schedule::sample_tile(LoopVar loop, const TileOptions& options) {
  return TRY(record(SampleTile{
                 loop, options.parts, options.max, options.multiple_of, {}, options.decision}))
      .values;
}
Result<std::vector<IntVar>> Schedule::sample_exact_tile(LoopVar loop, const TileOptions& options) {
  return TRY(record(SampleExactTile{
                 loop, options.parts, options.max, options.multiple_of, {}, options.decision}))
      .values;
}
Result<IntVar> Schedule::sample_categorical(std::vector<int64_t> candidates,
                                            std::vector<int64_t> weights) {
  return TRY(record(SampleCategorical{std::move(candidates), std::move(weights), {}, {}})).value;
}
Result<LoopVar> Schedule::sample_compute_location(BlockVar block, bool reverse) {
  return TRY(record(SampleComputeLocation{block, reverse ? 1 : 0, {}, {}})).location;
}

}  // namespace hone
