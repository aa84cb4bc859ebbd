// SPDX-License-Identifier: Apache-2.0
#include "lower/kernel.h"

#include <set>

#include "base/hash.h"

namespace hone {
namespace {

uint64_t hash_body(const KernelBody& body, uint64_t hash);

uint64_t hash_stmt(const KernelStmt& stmt, uint64_t hash) {
  hash = hash_combine(hash, stmt.node.index());
  if (const auto* loop = std::get_if<KernelFor>(&stmt.node)) {
    hash = hash_combine(hash, static_cast<uint64_t>(loop->var.value));
    hash = hash_combine(hash_combine(hash, hash_of(loop->begin)), hash_of(loop->end));
    return hash_body(loop->body, hash_combine(hash, loop->parallel));
  }
  if (const auto* branch = std::get_if<KernelIf>(&stmt.node)) {
    hash = hash_body(branch->then_body, hash_combine(hash, hash_of(branch->condition)));
    return hash_body(branch->else_body, hash);
  }
  if (const auto* let = std::get_if<KernelLet>(&stmt.node))
    return hash_combine(hash_combine(hash, static_cast<uint64_t>(let->var.value)),
                        hash_of(let->value));
  if (const auto* set = std::get_if<KernelSet>(&stmt.node))
    return hash_combine(hash_combine(hash, static_cast<uint64_t>(set->reg.value)),
                        hash_of(set->value));
  const KernelStore& store = std::get<KernelStore>(stmt.node);
  hash = hash_combine(hash, static_cast<uint64_t>(store.buffer.value));
  hash = hash_combine(hash_combine(hash, hash_of(store.index)), hash_of(store.value));
  return store.mask ? hash_combine(hash, hash_of(store.mask)) : hash;
}

uint64_t hash_body(const KernelBody& body, uint64_t hash) {
  for (const KernelStmt& stmt : body) hash = hash_stmt(stmt, hash);
  return hash_combine(hash, body.size());
}

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel) {}

  Result<void> body(const KernelBody& statements) {
    const std::set<int32_t> outside = bound_;
    for (const KernelStmt& stmt : statements) TRYV(statement(stmt));
    bound_ = outside;
    return {};
  }

 private:
  Result<void> statement(const KernelStmt& stmt) {
    if (const auto* loop = std::get_if<KernelFor>(&stmt.node)) {
      TRYV(index(loop->begin));
      TRYV(index(loop->end));
      TRYV(bind(loop->var));
      if (loop->parallel && in_parallel_) return fail("a parallel loop inside a parallel loop");
      const bool outer = in_parallel_;
      in_parallel_ = outer || loop->parallel;
      TRYV(body(loop->body));
      in_parallel_ = outer;
      return {};
    }
    if (const auto* branch = std::get_if<KernelIf>(&stmt.node)) {
      TRYV(expr(branch->condition));
      if (branch->condition->dtype != DType::b1 || branch->condition->lanes != 1)
        return fail("a condition of type {}", to_string(branch->condition->dtype));
      TRYV(body(branch->then_body));
      return body(branch->else_body);
    }
    if (const auto* let = std::get_if<KernelLet>(&stmt.node)) {
      TRYV(index(let->value));
      return bind(let->var);
    }
    if (const auto* set = std::get_if<KernelSet>(&stmt.node)) {
      TRYV(expr(set->value));
      if (!kernel_.registers.contains(set->reg)) return fail("a register that is not there");
      const Register& reg = kernel_.registers[set->reg];
      if (reg.dtype != set->value->dtype || reg.lanes != set->value->lanes)
        return fail("register '{}' of {}x{} is set to {}x{}", reg.name, to_string(reg.dtype),
                    reg.lanes, to_string(set->value->dtype), set->value->lanes);
      return {};
    }
    return store(std::get<KernelStore>(stmt.node));
  }

  Result<void> store(const KernelStore& store) {
    TRYV(expr(store.index));
    TRYV(expr(store.value));
    if (!kernel_.buffers.contains(store.buffer)) return fail("a buffer that is not there");
    const KernelBuffer& buffer = kernel_.buffers[store.buffer];
    if (!buffer.written) return fail("argument '{}' is stored to and only read", buffer.name);
    if (store.value->dtype != buffer.dtype)
      return fail("a {} is stored to '{}' of {}", to_string(store.value->dtype), buffer.name,
                  to_string(buffer.dtype));
    if (store.index->lanes != 1 && store.index->lanes != store.value->lanes)
      return fail("'{}': {} values at {} places", buffer.name, store.value->lanes,
                  store.index->lanes);
    if (store.mask && (store.mask->lanes != store.value->lanes || store.mask->dtype != DType::b1))
      return fail("'{}': the mask does not fit the value", buffer.name);
    return store.mask ? expr(store.mask) : Result<void>{};
  }

  Result<void> bind(VarId var) {
    if (!kernel_.vars.contains(var)) return fail("a variable that is not there");
    if (!ever_bound_.insert(var.value).second)
      return fail("variable '{}' is bound twice", kernel_.vars[var]);
    bound_.insert(var.value);
    return {};
  }

  Result<void> index(const Expr& value) {
    TRYV(expr(value));
    if (value->dtype != DType::i64 || value->lanes != 1)
      return fail("an index of type {}x{}", to_string(value->dtype), value->lanes);
    return {};
  }

  Result<void> expr(const Expr& value) {
    Result<void> result;
    walk(value, [&](const ExprNode& node) {
      if (!result) return;
      if (node.op == Op::axis) result = fail("a block's axis in a kernel");
      if (node.op == Op::var && !bound_.contains(node.id))
        result = fail("variable '{}' is used where it is not bound",
                      kernel_.vars.contains(VarId{node.id}) ? kernel_.vars[VarId{node.id}] : "?");
      if (node.op == Op::load && !kernel_.buffers.contains(BufferId{node.id}))
        result = fail("a load from a buffer that is not there");
      if (node.op == Op::load && node.dtype != kernel_.buffers[BufferId{node.id}].dtype)
        result = fail("a load of {} from '{}'", to_string(node.dtype),
                      kernel_.buffers[BufferId{node.id}].name);
    });
    return result;
  }

  const Kernel& kernel_;
  std::set<int32_t> bound_;
  std::set<int32_t> ever_bound_;
  bool in_parallel_ = false;
};

}  // namespace

uint64_t hash_of(const Kernel& kernel) {
  uint64_t hash = hash_body(kernel.body, 0);
  for (const KernelBuffer& buffer : kernel.buffers)
    for (const uint64_t value :
         {static_cast<uint64_t>(buffer.dtype), static_cast<uint64_t>(buffer.elements),
          static_cast<uint64_t>(buffer.space), static_cast<uint64_t>(buffer.offset)})
      hash = hash_combine(hash, value);
  return hash;
}

Result<void> verify(const Kernel& kernel) { return Verifier(kernel).body(kernel.body); }

}  // namespace hone
