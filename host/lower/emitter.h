// SPDX-License-Identifier: Apache-2.0
//
// Scheduled Program → Kernel statements, in one walk over its loops. Internal to lower/.
//
// The walk carries an LoopEnvironment. Serial and parallel loops bind a variable; unrolled ones are
// walked once for each iteration with a constant; vectorised ones once for each chunk of native
// width. What a tail leaves over is settled on the way (tails.cpp): loops run to a limit instead of
// testing, and where an unrolled or vectorised part is cut, the code is versioned at the outermost
// point where it is known whether it is. By the time a block is written, its predicates are
// decided; a test is the last resort.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/result.h"
#include "lower/environment.h"
#include "lower/kernel.h"
#include "lower/storage.h"
#include "target/target.h"

namespace hone {

// A load or store of a block: the flat element index in the buffer's storage, as a form over loops
// plus what is not quasi-affine (data-dependent indices), each with its stride.
struct Access {
  BufferId buffer;
  Affine flat;
  std::vector<std::pair<Expr, int64_t>> loose;
};

// A predicate that is undecided where only unrolled and vectorised loops are left to bind.
struct Cut {
  Predicate predicate;
  Affine part;    // over bound variables
  Interval rest;  // of the remaining part of the form
  Tail tail = Tail::peel;
  LoopId loop;  // one of the loops that are cut, for messages
};

class Emitter {
 public:
  Emitter(const Program& program, const Target& target, Kernel& kernel,
          std::vector<Storage> storage);

  // Writes the nests. Not `parallel`: their parallel loops run in line.
  Result<void> run(const std::vector<Node>& nests, bool parallel);

 private:
  using Lanes = std::optional<LoopId>;

  // -- loops (emit_loops.cpp)
  Result<void> nodes(const std::vector<Node>& list, const LoopEnvironment& env, KernelBody& out);
  Result<void> loop(LoopId id, const LoopEnvironment& env, KernelBody& out);
  Result<void> counted_loop(LoopId id, const LoopEnvironment& env, KernelBody& out);
  Result<void> unrolled_loop(LoopId id, const LoopEnvironment& env, int64_t limit, KernelBody& out);
  Result<void> vector_loop(LoopId id, const LoopEnvironment& env, int64_t limit, KernelBody& out);
  Result<void> iteration(LoopId id, const LoopEnvironment& env, KernelBody& out);
  void bind_digits(LoopId id, VarId var, LoopEnvironment& env, KernelBody& out);
  Result<void> vector_iteration(LoopId id, const LoopEnvironment& env, int lanes, KernelBody& out);
  bool touches_registers(LoopId id) const;
  std::vector<BlockId> blocks_in(Node node) const;  // those below it that are to be written now
  bool drives(BlockId block, LoopId loop, AxisKind kind) const;
  Result<std::vector<BlockId>> hoist_inits(LoopId id, const LoopEnvironment& env, KernelBody& out);
  int lanes_for(LoopId id) const;

  // -- tails (emit_tails.cpp)
  bool is_cut_again(const std::vector<Node>& list, const Predicate& predicate,
                    const Affine& tile) const;
  bool shift_reaches(const std::vector<Node>& list, const LoopEnvironment& env,
                     const Cut& cut) const;
  std::optional<Cut> find_cut(const std::vector<Node>& list, const LoopEnvironment& env) const;
  Result<void> version(const std::vector<Node>& list, const LoopEnvironment& env, const Cut& cut,
                       KernelBody& out);
  Result<void> shifted(const std::vector<Node>& list, LoopEnvironment env, const Cut& cut,
                       KernelBody& out);
  Result<void> check_shift(const std::vector<Node>& list, const LoopEnvironment& env,
                           const Cut& cut) const;
  struct Limit {
    int64_t constant;  // iterations that may do something
    Expr dynamic;      // null: the constant says all
  };
  Limit limit_of(LoopId id, const LoopEnvironment& env) const;
  std::optional<int64_t> full_iterations(LoopId id, const LoopEnvironment& env,
                                         int64_t limit) const;

  // -- blocks (emit_blocks.cpp)
  Result<void> block(BlockId id, const LoopEnvironment& env, KernelBody& out);
  Result<void> instance(BlockId id, const LoopEnvironment& env, KernelBody& out);
  Result<void> lane_by_lane(BlockId id, const LoopEnvironment& env, KernelBody& out);
  Result<void> init(BlockId id, const LoopEnvironment& env, KernelBody& out);
  Result<void> stores(const Block& block, const std::vector<Store>& list,
                      const LoopEnvironment& env, KernelBody& out);
  Result<void> store(const Block& block, const Access& access, const LoopEnvironment& env,
                     Expr value, KernelBody& out);
  Result<Expr> translate(const Block& block, const Expr& expr, const LoopEnvironment& env,
                         KernelBody& out);
  Result<Expr> translate_operation(const Block& block, const Expr& expr, const LoopEnvironment& env,
                                   KernelBody& out);
  Result<Expr> load(const Block& block, const ExprNode& node, const LoopEnvironment& env,
                    KernelBody& out);
  Result<Expr> flat_index(const Block& block, const Access& access, const LoopEnvironment& env,
                          KernelBody& out, bool& consecutive);
  Expr at_lanes(const Resolved& form);
  std::optional<bool> decide(const Block& block, const Expr& comparison,
                             const LoopEnvironment& env);
  const Access& access_of(const Block& block, const ExprNode* node, BufferId buffer,
                          const std::vector<Expr>& indices);
  Expr remember(Expr load, KernelBody& out);
  void forget_loads() { loads_.clear(); }

  bool is_known(const Expr& expr) const;
  Expr spread(const Expr& expr, int lanes, KernelBody& out);  // a scalar in all lanes
  Expr convert(Op op, DType dtype, const Expr& expr, KernelBody& out);
  Expr combine(Op op, const Expr& left, const Expr& right) const;

  // -- reductions over lanes (emit_reductions.cpp)
  struct Sum {  // buffer[…] = op(buffer[…], term), with no other load of the buffer
    Op op;
    Expr self;
    Expr term;
  };
  std::optional<Sum> sum_over(LoopId id, BlockId block) const;
  Result<bool> vector_reduction(LoopId id, const LoopEnvironment& env, int64_t limit,
                                KernelBody& out);

  // -- register tiles (register_tiles.cpp)
  std::unexpected<Error> not_constant(const Access& access, const LoopEnvironment& env) const;
  Result<RegId> tile_register(BufferId buffer, int64_t start, int lanes, bool write);
  Result<Expr> read_tile(BufferId buffer, int64_t start, int lanes);

  const Program& program_;
  const Target& target_;
  Kernel& kernel_;
  std::vector<Storage> storage_;

  // By block and load node or store, since blocks may share nodes; likewise of comparisons.
  using Key = std::pair<const Block*, const void*>;
  std::map<Key, Access> accesses_;
  std::map<Key, std::optional<Affine>> differences_;
  std::map<int32_t, std::map<std::pair<int64_t, int>, RegId>> tiles_;  // buffer → (start, lanes)
  struct DoneLoad {
    uint64_t hash;
    Expr load;
    RegId reg;
  };
  std::vector<DoneLoad> loads_;  // in this straight line
  std::set<uint64_t> given_up_;  // predicates that versioning could not decide
  std::set<int32_t> init_done_;  // blocks whose init stands outside already
  BlockId only_init_;            // valid: only the init of this block is written
  std::vector<bool> known_;      // registers that remember() made
  bool in_parallel_ = false;
  Lanes lane_loop_;  // the vectorised loop that is bound to lanes
  int lanes_ = 1;
  Expr mask_;                // of the instance being written
  bool guarded_ = false;     // inside an arm of a select
  bool lanes_bend_ = false;  // translation met an index that is not linear in the lane
  int64_t statements_ = 0;
};

}  // namespace hone
