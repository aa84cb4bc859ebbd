// SPDX-License-Identifier: Apache-2.0
//
// Loads and stores. Addresses are a chain of offsets, the outermost variable first, so that what
// does not change in a loop is a prefix that LLVM moves out, and the constant comes last, where
// addressing modes take it. Every access says which buffer it is of, because the pointers come out
// of an array and nothing else tells LLVM that they do not overlap.
#include "codegen/llvm_internal.h"

#include <algorithm>
#include <climits>
#include <numeric>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <llvm/IR/MDBuilder.h>
#pragma GCC diagnostic pop

namespace hone {

using llvm::Value;

namespace {

constexpr int64_t kBaseAlign = 64;
constexpr int64_t kMaxShuffleStride = 4;

bool may_overlap(const KernelBuffer& a, const KernelBuffer& b) {
  if (a.space != Space::workspace && a.space != Space::per_worker) return false;
  if (a.space != b.space) return false;
  return a.offset < b.offset + b.elements * bytes_of(b.dtype) &&
         b.offset < a.offset + a.elements * bytes_of(a.dtype);
}

int depth_of(const Expr& atom, const std::vector<int>& depths) {
  if (atom->op == Op::var) return depths[static_cast<size_t>(atom->id)];
  if (atom->op == Op::load || atom->op == Op::reg) return INT_MAX;
  int deepest = 0;
  for (const Expr& arg : atom->args) deepest = std::max(deepest, depth_of(arg, depths));
  return deepest;
}

}  // namespace

void ExprEmitter::tag_buffers() {
  llvm::LLVMContext& context = builder_.getContext();
  llvm::MDBuilder metadata(context);
  llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain();
  std::vector<llvm::Metadata*> scopes;
  for (const KernelBuffer& buffer : kernel_.buffers)
    scopes.push_back(metadata.createAnonymousAliasScope(domain, buffer.name));
  for (int32_t i = 0; i < kernel_.buffers.size(); ++i) {
    std::vector<llvm::Metadata*> others;
    for (int32_t j = 0; j < kernel_.buffers.size(); ++j)
      if (i != j && !may_overlap(kernel_.buffers[BufferId{i}], kernel_.buffers[BufferId{j}]))
        others.push_back(scopes[static_cast<size_t>(j)]);
    own_scope_.push_back(llvm::MDNode::get(context, {scopes[static_cast<size_t>(i)]}));
    other_scopes_.push_back(llvm::MDNode::get(context, others));
  }
}

template <typename Access>
Access* ExprEmitter::tagged(Access* access, BufferId buffer) {
  const size_t row = static_cast<size_t>(buffer.value);
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, own_scope_[row]);
  access->setMetadata(llvm::LLVMContext::MD_noalias, other_scopes_[row]);
  return access;
}

ExprEmitter::Address ExprEmitter::address(BufferId buffer, const LinearForm& index) {
  const KernelBuffer& facts_of = kernel_.buffers[buffer];
  const int64_t bytes = bytes_of(facts_of.dtype);
  llvm::Type* element = memory_type(facts_of.dtype, 1);
  // Insertion keeps the order of equals; there are a handful of terms.
  std::vector<LinearTerm> terms;
  for (const LinearTerm& term : index.terms) {
    const int depth = depth_of(term.atom, frame_.depths);
    const auto deeper = std::find_if(terms.begin(), terms.end(), [&](const LinearTerm& other) {
      return depth_of(other.atom, frame_.depths) > depth;
    });
    terms.insert(deeper, term);
  }
  Value* pointer = frame_.bases[static_cast<size_t>(buffer.value)];
  ENSURE(pointer != nullptr, "buffer {} has no address here", facts_of.name);
  int64_t align = kBaseAlign;
  for (const LinearTerm& term : terms) {
    Value* offset = this->index(term.atom);
    if (term.factor != 1)
      offset = builder_.CreateMul(offset, llvm::ConstantInt::getSigned(index_type_, term.factor));
    pointer = builder_.CreateGEP(element, pointer, offset);
    align = std::gcd(align, term.factor * bytes);
  }
  if (index.constant != 0) {
    pointer = builder_.CreateGEP(element, pointer,
                                 llvm::ConstantInt::getSigned(index_type_, index.constant));
    align = std::gcd(align, index.constant * bytes);
  }
  return {pointer, align};
}

Value* ExprEmitter::addresses(BufferId buffer, const Expr& index) {
  llvm::Type* element = memory_type(kernel_.buffers[buffer].dtype, 1);
  Value* base = frame_.bases[static_cast<size_t>(buffer.value)];
  ENSURE(base != nullptr, "buffer {} has no address here", kernel_.buffers[buffer].name);
  return builder_.CreateGEP(element, base, this->index(index));
}

Value* ExprEmitter::load(const Expr& expr) {
  Value* mask = expr->args.size() > 1 ? value(expr->args[1]) : nullptr;
  if (mask_ != nullptr) {
    const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(mask_->getType());
    const int lanes = type == nullptr ? 1 : static_cast<int>(type->getNumElements());
    if (lanes != expr->lanes || lanes == 1) {
      // A read shared by all lanes, or by none.
      llvm::Type* result = type_of(expr->dtype, expr->lanes);
      Value* outer = std::exchange(mask_, nullptr);
      Value* loaded = only_if(any_lane(outer), result, [&] { return load(expr); });
      mask_ = outer;
      return loaded;
    }
    mask = both_masks(mask_, mask);
  }
  if (mask != nullptr) return load_masked(expr, mask);
  const Expr& index = expr->args[0];
  const BufferId buffer{expr->id};
  StridedIndex strided{{}, 1};
  if (index->lanes == 1) {
    strided.first = linear_form(index);
  } else if (auto form = strided_form(index)) {
    strided = *std::move(form);
  } else {
    return gather(expr, nullptr);
  }
  if (expr->lanes > 1 && strided.stride != 1) return load_strided(expr, strided);
  const Address from = address(buffer, strided.first);
  auto* loaded = builder_.CreateAlignedLoad(memory_type(expr->dtype, expr->lanes), from.pointer,
                                            llvm::Align(static_cast<uint64_t>(from.align)));
  return from_memory(tagged(loaded, buffer), expr->dtype);
}

Value* ExprEmitter::load_strided(const Expr& expr, const StridedIndex& index) {
  if (index.stride < 0 || index.stride > kMaxShuffleStride) return gather(expr, nullptr);
  const BufferId buffer{expr->id};
  const int stride = static_cast<int>(index.stride);
  const int span = stride * (expr->lanes - 1) + 1;  // from the first lane to the last, no further
  const Address from = address(buffer, index.first);
  const llvm::Align align(static_cast<uint64_t>(from.align));
  if (stride == 0) {
    auto* one = builder_.CreateAlignedLoad(memory_type(expr->dtype, 1), from.pointer, align);
    return builder_.CreateVectorSplat(static_cast<unsigned>(expr->lanes),
                                      from_memory(tagged(one, buffer), expr->dtype));
  }
  auto* all = builder_.CreateAlignedLoad(memory_type(expr->dtype, span), from.pointer, align);
  llvm::SmallVector<int> lanes;
  for (int i = 0; i < expr->lanes; ++i) lanes.push_back(i * stride);
  return from_memory(builder_.CreateShuffleVector(tagged(all, buffer), lanes), expr->dtype);
}

Value* ExprEmitter::load_masked(const Expr& expr, Value* mask) {
  llvm::Type* type = type_of(expr->dtype, expr->lanes);
  const BufferId buffer{expr->id};
  const Expr& index = expr->args[0];
  if (expr->lanes == 1)
    return only_if(mask, type, [&] {
      const Address from = address(buffer, linear_form(index));
      auto* loaded = builder_.CreateAlignedLoad(memory_type(expr->dtype, 1), from.pointer,
                                                llvm::Align(static_cast<uint64_t>(from.align)));
      return from_memory(tagged(loaded, buffer), expr->dtype);
    });
  StridedIndex strided{{}, 1};
  if (index->lanes == 1) {
    strided.first = linear_form(index);
  } else {
    auto form = strided_form(index);
    if (!form || form->stride != 1) return gather(expr, mask);
    strided = *std::move(form);
  }
  const Address from = address(buffer, strided.first);
  llvm::Type* stored = memory_type(expr->dtype, expr->lanes);
  auto* loaded = builder_.CreateMaskedLoad(stored, from.pointer,
                                           llvm::Align(static_cast<uint64_t>(from.align)), mask,
                                           llvm::Constant::getNullValue(stored));
  return from_memory(tagged(loaded, buffer), expr->dtype);
}

Value* ExprEmitter::gather(const Expr& expr, Value* mask) {
  const BufferId buffer{expr->id};
  llvm::Type* stored = memory_type(expr->dtype, expr->lanes);
  const llvm::Align align(static_cast<uint64_t>(bytes_of(expr->dtype)));
  auto* loaded = builder_.CreateMaskedGather(stored, addresses(buffer, expr->args[0]), align, mask,
                                             llvm::Constant::getNullValue(stored));
  return from_memory(tagged(loaded, buffer), expr->dtype);
}

void ExprEmitter::store(const KernelStore& store) {
  Value* stored = to_memory(value(store.value), store.value->dtype);
  if (store.mask) {
    store_masked(store, stored, value(store.mask));
    return;
  }
  StridedIndex strided{{}, 1};
  if (store.index->lanes == 1) {
    strided.first = linear_form(store.index);
  } else {
    auto form = strided_form(store.index);
    if (!form || form->stride != 1) {
      store_masked(store, stored, nullptr);
      return;
    }
    strided = *std::move(form);
  }
  const Address to = address(store.buffer, strided.first);
  tagged(
      builder_.CreateAlignedStore(stored, to.pointer, llvm::Align(static_cast<uint64_t>(to.align))),
      store.buffer);
}

void ExprEmitter::store_masked(const KernelStore& store, Value* stored, Value* mask) {
  if (store.value->lanes == 1) {
    branch(
        mask,
        [&]() -> Value* {
          const Address to = address(store.buffer, linear_form(store.index));
          tagged(builder_.CreateAlignedStore(stored, to.pointer,
                                             llvm::Align(static_cast<uint64_t>(to.align))),
                 store.buffer);
          return nullptr;
        },
        [&]() -> Value* { return nullptr; });
    return;
  }
  if (store.index->lanes == 1) {
    const Address to = address(store.buffer, linear_form(store.index));
    tagged(builder_.CreateMaskedStore(stored, to.pointer,
                                      llvm::Align(static_cast<uint64_t>(to.align)), mask),
           store.buffer);
    return;
  }
  const llvm::Align align(static_cast<uint64_t>(bytes_of(store.value->dtype)));
  tagged(builder_.CreateMaskedScatter(stored, addresses(store.buffer, store.index), align, mask),
         store.buffer);
}

}  // namespace hone
