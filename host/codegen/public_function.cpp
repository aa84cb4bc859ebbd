// SPDX-License-Identifier: Apache-2.0
//
//   int NAME(a0, …, an, workspace, parallel) {
//     if (any is null) return null_pointer;
//     if ((a0 | … | workspace) % alignment) return misaligned;
//     if (!parallel) parallel = &in_line;           // { run_in_line, 1, null } in this frame
//     if (!parallel->run || parallel->threads < 1) return bad_parallel;
//     ENTRY({a0, …, an}, workspace, parallel);
//     return ok;
//   }
// A function that runs alone has no workspace and no hook, and its kernel gets nulls for them.
// Rejected: an inline function in the header (code in every unit that includes it, and no symbol
// that other languages can call), and the kernel's own entry as the public one (an untyped array of
// pointers).
#include "codegen/archive.h"

#include <algorithm>

#include "codegen/llvm_target.h"

namespace hone {
namespace {

using llvm::BasicBlock;
using llvm::Value;

class PublicFunctionWriter {
 public:
  PublicFunctionWriter(const PublicFunction& wanted, llvm::Module& module)
      : wanted_(wanted),
        module_(module),
        builder_(module.getContext()),
        pointer_(builder_.getPtrTy()),
        index_(module.getDataLayout().getIntPtrType(module.getContext())),
        parallel_type_(llvm::StructType::get(module.getContext(),
                                             {pointer_, builder_.getInt32Ty(), pointer_})) {}

  void write();

 private:
  llvm::Function* add(const std::string& name, llvm::Type* result,
                      std::vector<llvm::Type*> arguments, llvm::GlobalValue::LinkageTypes linkage) {
    auto* type = llvm::FunctionType::get(result, arguments, false);
    auto* function = llvm::Function::Create(type, linkage, name, module_);
    function->setDoesNotThrow();
    return function;
  }
  llvm::Function* write_run_in_line();
  void refuse_if(Value* condition, int status);
  Value* or_in_line(Value* parallel);
  Value* checked_hook(Value* given);
  void call_kernel(Value* workspace, Value* parallel);
  Value* alloca_at_entry(llvm::Type* type, const char* name);

  const PublicFunction& wanted_;
  llvm::Module& module_;
  llvm::IRBuilder<> builder_;
  llvm::PointerType* pointer_;
  llvm::Type* index_;
  llvm::StructType* parallel_type_;
  llvm::Function* function_ = nullptr;
};

// void run_in_line(self, body, context, count): body(context, i, 0) for i in [0, count)
llvm::Function* PublicFunctionWriter::write_run_in_line() {
  llvm::Function* run =
      add("run_in_line", builder_.getVoidTy(), {pointer_, pointer_, pointer_, index_},
          llvm::GlobalValue::InternalLinkage);
  auto& context = module_.getContext();
  BasicBlock* entry = BasicBlock::Create(context, "entry", run);
  BasicBlock* loop = BasicBlock::Create(context, "loop", run);
  BasicBlock* end = BasicBlock::Create(context, "end", run);
  Value* count = run->getArg(3);
  builder_.SetInsertPoint(entry);
  Value* zero = llvm::ConstantInt::get(index_, 0);
  builder_.CreateCondBr(builder_.CreateICmpSGT(count, zero), loop, end);
  builder_.SetInsertPoint(loop);
  llvm::PHINode* i = builder_.CreatePHI(index_, 2, "i");
  auto* body = llvm::FunctionType::get(builder_.getVoidTy(), {pointer_, index_, index_}, false);
  builder_.CreateCall(body, run->getArg(1), {run->getArg(2), i, zero});
  Value* next = builder_.CreateAdd(i, llvm::ConstantInt::get(index_, 1));
  i->addIncoming(zero, entry);
  i->addIncoming(next, loop);
  builder_.CreateCondBr(builder_.CreateICmpSLT(next, count), loop, end);
  builder_.SetInsertPoint(end);
  builder_.CreateRetVoid();
  return run;
}

void PublicFunctionWriter::refuse_if(Value* condition, int status) {
  auto& context = module_.getContext();
  BasicBlock* refused = BasicBlock::Create(context, "refused", function_);
  BasicBlock* on = BasicBlock::Create(context, "on", function_);
  builder_.CreateCondBr(condition, refused, on);
  builder_.SetInsertPoint(refused);
  builder_.CreateRet(builder_.getInt32(static_cast<uint32_t>(status)));
  builder_.SetInsertPoint(on);
}

Value* PublicFunctionWriter::alloca_at_entry(llvm::Type* type, const char* name) {
  BasicBlock& entry = function_->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  return at_entry.CreateAlloca(type, nullptr, name);
}

// In this frame, because a constant with the address of a function needs relocating at load time.
Value* PublicFunctionWriter::or_in_line(Value* parallel) {
  const llvm::IRBuilder<>::InsertPoint here = builder_.saveIP();
  llvm::Function* run = write_run_in_line();
  builder_.restoreIP(here);
  Value* in_line = alloca_at_entry(parallel_type_, "in_line");
  const auto field = [&](unsigned i) {
    return builder_.CreateStructGEP(parallel_type_, in_line, i);
  };
  builder_.CreateStore(run, field(0));
  builder_.CreateStore(builder_.getInt32(1), field(1));
  builder_.CreateStore(llvm::ConstantPointerNull::get(pointer_), field(2));
  return builder_.CreateSelect(builder_.CreateIsNull(parallel), in_line, parallel);
}

Value* PublicFunctionWriter::checked_hook(Value* given) {
  Value* parallel = or_in_line(given);
  const auto field = [&](llvm::Type* type, unsigned i) {
    return builder_.CreateLoad(type, builder_.CreateStructGEP(parallel_type_, parallel, i));
  };
  Value* no_run = builder_.CreateIsNull(field(pointer_, 0));
  Value* no_threads = builder_.CreateICmpSLT(field(builder_.getInt32Ty(), 1), builder_.getInt32(1));
  refuse_if(builder_.CreateOr(no_run, no_threads), wanted_.bad_parallel);
  return parallel;
}

void PublicFunctionWriter::call_kernel(Value* workspace, Value* parallel) {
  int64_t last = 0;
  for (const auto& pointer : wanted_.pointers) last = std::max(last, pointer.slot);
  Value* buffers =
      alloca_at_entry(llvm::ArrayType::get(pointer_, static_cast<uint64_t>(last + 1)), "buffers");
  std::vector<Value*> values(static_cast<size_t>(last + 1),
                             llvm::ConstantPointerNull::get(pointer_));
  for (unsigned i = 0; i < wanted_.pointers.size(); ++i)
    values[static_cast<size_t>(wanted_.pointers[i].slot)] = function_->getArg(i);
  for (unsigned slot = 0; slot < values.size(); ++slot)
    builder_.CreateStore(values[slot],
                         builder_.CreateConstInBoundsGEP1_32(pointer_, buffers, slot));
  llvm::Function* entry = add(wanted_.entry, builder_.getVoidTy(), {pointer_, pointer_, pointer_},
                              llvm::GlobalValue::ExternalLinkage);
  // Called directly, and no name of a shared library that takes the archive in.
  entry->setVisibility(llvm::GlobalValue::HiddenVisibility);
  builder_.CreateCall(entry, {buffers, workspace, parallel});
}

void PublicFunctionWriter::write() {
  const auto count = static_cast<unsigned>(wanted_.pointers.size());
  function_ = add(wanted_.name, builder_.getInt32Ty(),
                  std::vector<llvm::Type*>(count + (wanted_.runs_alone ? 0 : 2), pointer_),
                  llvm::GlobalValue::ExternalLinkage);
  builder_.SetInsertPoint(BasicBlock::Create(module_.getContext(), "entry", function_));
  Value* nothing = llvm::ConstantPointerNull::get(pointer_);
  Value* workspace = wanted_.runs_alone ? nothing : function_->getArg(count);

  Value* null = wanted_.needs_workspace ? builder_.CreateIsNull(workspace) : builder_.getFalse();
  Value* bits = builder_.CreatePtrToInt(workspace, index_);
  for (unsigned i = 0; i < count; ++i) {
    if (!wanted_.pointers[i].may_be_null)
      null = builder_.CreateOr(null, builder_.CreateIsNull(function_->getArg(i)));
    bits = builder_.CreateOr(bits, builder_.CreatePtrToInt(function_->getArg(i), index_));
  }
  refuse_if(null, wanted_.null_pointer);
  const auto mask = static_cast<uint64_t>(wanted_.alignment - 1);
  refuse_if(builder_.CreateIsNotNull(builder_.CreateAnd(bits, mask)), wanted_.misaligned);

  Value* parallel = wanted_.runs_alone ? nothing : checked_hook(function_->getArg(count + 1));

  if (!wanted_.entry.empty()) call_kernel(workspace, parallel);
  builder_.CreateRet(builder_.getInt32(static_cast<uint32_t>(wanted_.ok)));
}

void write_text_function(const TextFunction& wanted, llvm::Module& module) {
  llvm::IRBuilder<> builder(module.getContext());
  auto* type = llvm::FunctionType::get(builder.getPtrTy(), false);
  auto* function =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, wanted.name, module);
  function->setDoesNotThrow();
  builder.SetInsertPoint(BasicBlock::Create(module.getContext(), "entry", function));
  builder.CreateRet(builder.CreateGlobalString(wanted.text, "text", 0, &module));
}

}  // namespace

Result<ObjectCode> compile_public_function(const PublicFunction& function, const Target& target) {
  return compile_module(
      target, [&](llvm::Module& module) { PublicFunctionWriter(function, module).write(); });
}

Result<ObjectCode> compile_text_functions(const std::vector<TextFunction>& functions,
                                          const Target& target) {
  return compile_module(target, [&](llvm::Module& module) {
    for (const TextFunction& function : functions) write_text_function(function, module);
  });
}

}  // namespace hone
