// SPDX-License-Identifier: Apache-2.0
//
// The shape of a module:
//
//   ENTRY(buffers, workspace, parallel)         unpacks pointers, calls
//     ENTRY.main(pointers…, parallel)           the kernel's body; every pointer noalias where it
//     is
//       parallel.run(parallel, ENTRY.p0, frame, chunks)
//         ENTRY.p0(frame, chunk)                unpacks pointers and captured variables, calls
//           ENTRY.p0.body(pointers…, captured…, begin, end)
//
// Pointers travel as arguments because only arguments carry noalias. A parallel loop of n
// iterations on t threads is min(n, t) chunks of consecutive iterations; a chunk's number names its
// part of the per-worker workspace, so no two that run at once share one.
//
// Registers become SSA values while statements are written: control flow is structured, so phis
// stand only at loop headers (for registers that the body sets) and behind ifs. Loops are written
// rotated, test at the end, which is the form that later passes want.
#include "codegen/llvm_module.h"

#include <set>

#include "codegen/llvm_values.h"

namespace hone {
namespace {

void collect_set_registers(const KernelBody& body, std::set<int32_t>& registers) {
  for (const KernelStmt& stmt : body) {
    if (const auto* set = std::get_if<KernelSet>(&stmt.node)) registers.insert(set->reg.value);
    if (const auto* loop = std::get_if<KernelFor>(&stmt.node))
      collect_set_registers(loop->body, registers);
    if (const auto* branch = std::get_if<KernelIf>(&stmt.node)) {
      collect_set_registers(branch->then_body, registers);
      collect_set_registers(branch->else_body, registers);
    }
  }
}

bool overlaps_another(const Kernel& kernel, BufferId id) {
  const KernelBuffer& buffer = kernel.buffers[id];
  if (buffer.space != Space::workspace && buffer.space != Space::per_worker) return false;
  const auto end = [](const KernelBuffer& row) {
    return row.offset + row.elements * bytes_of(row.dtype);
  };
  for (int32_t i = 0; i < kernel.buffers.size(); ++i) {
    const KernelBuffer& other = kernel.buffers[BufferId{i}];
    if (i == id.value || other.space != buffer.space) continue;
    if (other.offset < end(buffer) && buffer.offset < end(other)) return true;
  }
  return false;
}

class ModuleWriter {
 public:
  ModuleWriter(const Kernel& kernel, const Target& target, const std::string& entry,
               llvm::LLVMContext& context)
      : kernel_(kernel),
        target_(target),
        entry_(entry),
        context_(context),
        module_(std::make_unique<llvm::Module>(entry, context)),
        builder_(context) {
    pointer_ = llvm::PointerType::get(context, 0);
    index_ = builder_.getIntNTy(static_cast<unsigned>(target.pointer_bits));
    // struct hone_parallel { run; threads; pool }
    parallel_ = llvm::StructType::get(context, {pointer_, builder_.getInt32Ty(), pointer_});
  }

  std::unique_ptr<llvm::Module> run() {
    llvm::Function* main = begin_function(entry_ + ".main", pointer_arguments(), {pointer_});
    FunctionState state = fresh_state(main);
    parallel_value_ = main->getArg(static_cast<unsigned>(main->arg_size() - 1));
    builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", main));
    make_stack_buffers(state);
    body(kernel_.body, state);
    builder_.CreateRetVoid();
    write_entry(main);
    return std::move(module_);
  }

 private:
  // Kernel buffers that are passed as pointers: all but those on the stack.
  std::vector<BufferId> pointer_arguments() const {
    std::vector<BufferId> ids;
    for (int32_t i = 0; i < kernel_.buffers.size(); ++i)
      if (kernel_.buffers[BufferId{i}].space != Space::stack) ids.push_back(BufferId{i});
    return ids;
  }

  llvm::Function* begin_function(const std::string& name, const std::vector<BufferId>& buffers,
                                 const std::vector<llvm::Type*>& others) {
    std::vector<llvm::Type*> types(buffers.size(), pointer_);
    types.insert(types.end(), others.begin(), others.end());
    auto* function =
        llvm::Function::Create(llvm::FunctionType::get(builder_.getVoidTy(), types, false),
                               llvm::GlobalValue::InternalLinkage, name, module_.get());
    set_attributes(*function);
    function->addFnAttr(llvm::Attribute::NoInline);
    for (size_t i = 0; i < buffers.size(); ++i) {
      const KernelBuffer& buffer = kernel_.buffers[buffers[i]];
      llvm::Argument* argument = function->getArg(static_cast<unsigned>(i));
      argument->setName(buffer.name);
      if (!overlaps_another(kernel_, buffers[i])) argument->addAttr(llvm::Attribute::NoAlias);
      argument->addAttr(llvm::Attribute::NonNull);
      argument->addAttr(llvm::Attribute::getWithAlignment(context_, llvm::Align(64)));
      if (buffer.space == Space::argument && !buffer.written)
        argument->addAttr(llvm::Attribute::ReadOnly);
    }
    return function;
  }

  void set_attributes(llvm::Function& function) {
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr("no-builtins");
    function.addFnAttr("frame-pointer", "none");
    function.addFnAttr("target-cpu", target_.cpu);
    function.addFnAttr("target-features", fmt::format("{}", fmt::join(target_.features, ",")));
    if (target_.isa == Isa::x86_64) {
      const std::string width = fmt::format("{}", target_.vector_bits);
      function.addFnAttr("prefer-vector-width", width);
      function.addFnAttr("min-legal-vector-width", width);
    }
  }

  FunctionState fresh_state(llvm::Function* function) {
    FunctionState state;
    state.function = function;
    state.buffers.resize(static_cast<size_t>(kernel_.buffers.size()));
    state.vars.resize(static_cast<size_t>(kernel_.vars.size()));
    state.registers.resize(static_cast<size_t>(kernel_.registers.size()));
    unsigned argument = 0;
    for (const BufferId id : pointer_arguments())
      state.buffers[static_cast<size_t>(id.value)] = function->getArg(argument++);
    return state;
  }

  // Stack buffers are made in every function that may use them; unused ones vanish.
  void make_stack_buffers(FunctionState& state) {
    for (int32_t i = 0; i < kernel_.buffers.size(); ++i) {
      const KernelBuffer& buffer = kernel_.buffers[BufferId{i}];
      if (buffer.space != Space::stack) continue;
      auto* type = llvm::ArrayType::get(
          builder_.getInt8Ty(), static_cast<uint64_t>(buffer.elements * bytes_of(buffer.dtype)));
      llvm::AllocaInst* memory = builder_.CreateAlloca(type, nullptr, buffer.name);
      memory->setAlignment(llvm::Align(64));
      state.buffers[static_cast<size_t>(i)] = memory;
    }
  }

  // -- statements
  // ----------------------------------------------------------------------------------

  void body(const KernelBody& statements, FunctionState& state) {
    for (const KernelStmt& stmt : statements) {
      ValueWriter values(kernel_, target_, builder_, state);
      if (const auto* set = std::get_if<KernelSet>(&stmt.node)) {
        llvm::Value* value = values.value(set->value);
        const Register& reg = kernel_.registers[set->reg];
        if (reg.dtype == DType::i64)
          value = builder_.CreateSExt(value, values.type_of(DType::i64, reg.lanes));
        state.registers[static_cast<size_t>(set->reg.value)] = value;
      } else if (const auto* let = std::get_if<KernelLet>(&stmt.node)) {
        state.vars[static_cast<size_t>(let->var.value)] = values.index(let->value);
      } else if (const auto* store = std::get_if<KernelStore>(&stmt.node)) {
        values.store(*store);
      } else if (const auto* branch = std::get_if<KernelIf>(&stmt.node)) {
        if_statement(*branch, state);
      } else {
        const KernelFor& loop = std::get<KernelFor>(stmt.node);
        if (loop.parallel) {
          parallel_loop(loop, state);
        } else {
          llvm::Value* begin = values.index(loop.begin);
          llvm::Value* end = values.index(loop.end);
          serial_loop(loop.var, begin, end, loop.body, state);
        }
      }
    }
  }

  void if_statement(const KernelIf& branch, FunctionState& state) {
    llvm::Value* condition = ValueWriter(kernel_, target_, builder_, state).value(branch.condition);
    auto* then_block = llvm::BasicBlock::Create(context_, "if.then", state.function);
    auto* else_block = llvm::BasicBlock::Create(context_, "if.else", state.function);
    auto* join = llvm::BasicBlock::Create(context_, "if.end", state.function);
    builder_.CreateCondBr(condition, then_block, else_block);
    const std::vector<llvm::Value*> before = state.registers;
    const std::vector<llvm::Value*> vars = state.vars;  // what a branch binds ends with it

    builder_.SetInsertPoint(then_block);
    body(branch.then_body, state);
    const std::vector<llvm::Value*> then_registers = state.registers;
    llvm::BasicBlock* then_end = builder_.GetInsertBlock();
    builder_.CreateBr(join);

    state.registers = before;
    state.vars = vars;
    builder_.SetInsertPoint(else_block);
    body(branch.else_body, state);
    llvm::BasicBlock* else_end = builder_.GetInsertBlock();
    builder_.CreateBr(join);

    state.vars = vars;
    builder_.SetInsertPoint(join);
    std::set<int32_t> changed;
    collect_set_registers(branch.then_body, changed);
    collect_set_registers(branch.else_body, changed);
    for (const int32_t reg : changed) {
      const size_t i = static_cast<size_t>(reg);
      llvm::Type* type = register_type(reg, state);
      llvm::PHINode* phi = builder_.CreatePHI(type, 2);
      phi->addIncoming(or_zero(then_registers[i], type), then_end);
      phi->addIncoming(or_zero(state.registers[i], type), else_end);
      state.registers[i] = phi;
    }
  }

  llvm::Type* register_type(int32_t reg, FunctionState& state) {
    const Register& row = kernel_.registers[RegId{reg}];
    return ValueWriter(kernel_, target_, builder_, state).type_of(row.dtype, row.lanes);
  }

  static llvm::Value* or_zero(llvm::Value* value, llvm::Type* type) {
    return value == nullptr ? llvm::Constant::getNullValue(type) : value;
  }

  void serial_loop(VarId var, llvm::Value* begin, llvm::Value* end, const KernelBody& statements,
                   FunctionState& state) {
    std::set<int32_t> set;
    collect_set_registers(statements, set);
    auto* loop_block = llvm::BasicBlock::Create(context_, kernel_.vars[var], state.function);
    auto* exit = llvm::BasicBlock::Create(context_, kernel_.vars[var] + ".end", state.function);
    llvm::BasicBlock* before = builder_.GetInsertBlock();
    builder_.CreateCondBr(builder_.CreateICmpSLT(begin, end), loop_block, exit);

    builder_.SetInsertPoint(loop_block);
    llvm::PHINode* counter = builder_.CreatePHI(index_, 2, kernel_.vars[var]);
    counter->addIncoming(begin, before);
    std::vector<std::pair<int32_t, llvm::PHINode*>> phis;
    std::vector<llvm::Value*> initial;
    for (const int32_t reg : set) {
      llvm::Type* type = register_type(reg, state);
      llvm::Value*& current = state.registers[static_cast<size_t>(reg)];
      initial.push_back(or_zero(current, type));
      llvm::PHINode* phi = builder_.CreatePHI(type, 2);
      phi->addIncoming(initial.back(), before);
      current = phi;
      phis.emplace_back(reg, phi);
    }
    const std::vector<llvm::Value*> vars = state.vars;  // what the body binds ends with it
    state.vars[static_cast<size_t>(var.value)] = counter;
    body(statements, state);
    state.vars = vars;
    llvm::BasicBlock* latch = builder_.GetInsertBlock();
    llvm::Value* next =
        builder_.CreateAdd(counter, llvm::ConstantInt::get(index_, 1), "", true, true);
    counter->addIncoming(next, latch);
    builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), loop_block, exit);

    builder_.SetInsertPoint(exit);
    for (size_t i = 0; i < phis.size(); ++i) {
      const auto& [reg, phi] = phis[i];
      llvm::Value*& current = state.registers[static_cast<size_t>(reg)];
      phi->addIncoming(current, latch);
      llvm::PHINode* after = builder_.CreatePHI(phi->getType(), 2);
      after->addIncoming(initial[i], before);
      after->addIncoming(current, latch);
      current = after;
    }
  }

  // -- parallel loops
  // --------------------------------------------------------------------------------

  // frame: { pointers…, captured variables…, begin, end, chunks }
  struct Frame {
    std::vector<BufferId> pointers;
    std::vector<size_t> captured;  // VarIds
    llvm::StructType* type = nullptr;
  };

  void parallel_loop(const KernelFor& loop, FunctionState& state) {
    ValueWriter values(kernel_, target_, builder_, state);
    Frame frame;
    frame.pointers = pointer_arguments();
    std::vector<llvm::Type*> fields(frame.pointers.size(), pointer_);
    for (size_t i = 0; i < state.vars.size(); ++i) {
      if (state.vars[i] == nullptr) continue;
      frame.captured.push_back(i);
      fields.push_back(index_);
    }
    fields.insert(fields.end(), 3, index_);
    frame.type = llvm::StructType::get(context_, fields);

    llvm::Value* begin = values.index(loop.begin);
    llvm::Value* end = values.index(loop.end);
    llvm::Value* count = builder_.CreateSub(end, begin);
    llvm::Value* threads = builder_.CreateSExtOrTrunc(
        builder_.CreateLoad(builder_.getInt32Ty(),
                            builder_.CreateStructGEP(parallel_, parallel_value_, 1)),
        index_);
    llvm::Value* chunks =
        builder_.CreateSelect(builder_.CreateICmpSLT(count, threads), count, threads);

    llvm::IRBuilder<> at_entry(&state.function->getEntryBlock(),
                               state.function->getEntryBlock().begin());
    llvm::Value* memory = at_entry.CreateAlloca(frame.type, nullptr, "frame");
    unsigned field = 0;
    for (const BufferId id : frame.pointers)
      builder_.CreateStore(state.buffers[static_cast<size_t>(id.value)],
                           builder_.CreateStructGEP(frame.type, memory, field++));
    for (const size_t var : frame.captured)
      builder_.CreateStore(state.vars[var], builder_.CreateStructGEP(frame.type, memory, field++));
    for (llvm::Value* value : {begin, end, chunks})
      builder_.CreateStore(value, builder_.CreateStructGEP(frame.type, memory, field++));

    llvm::Function* chunk = write_chunk(loop, frame);
    auto* run_type = llvm::FunctionType::get(builder_.getVoidTy(),
                                             {pointer_, pointer_, pointer_, index_}, false);
    auto* run_block = llvm::BasicBlock::Create(context_, "parallel", state.function);
    auto* after = llvm::BasicBlock::Create(context_, "parallel.end", state.function);
    builder_.CreateCondBr(builder_.CreateICmpSGT(chunks, llvm::ConstantInt::get(index_, 0)),
                          run_block, after);
    builder_.SetInsertPoint(run_block);
    llvm::Value* run =
        builder_.CreateLoad(pointer_, builder_.CreateStructGEP(parallel_, parallel_value_, 0));
    builder_.CreateCall(run_type, run, {parallel_value_, chunk, memory, chunks});
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
  }

  // ENTRY.pN and ENTRY.pN.body. Leaves the builder where it was.
  llvm::Function* write_chunk(const KernelFor& loop, const Frame& frame) {
    const llvm::IRBuilder<>::InsertPointGuard guard(builder_);
    const std::string name = fmt::format("{}.p{}", entry_, parallel_loops_++);
    std::vector<llvm::Type*> numbers(frame.captured.size() + 2, index_);
    llvm::Function* inner = begin_function(name + ".body", frame.pointers, numbers);
    FunctionState state = fresh_state(inner);
    unsigned argument = static_cast<unsigned>(frame.pointers.size());
    for (const size_t var : frame.captured) state.vars[var] = inner->getArg(argument++);
    builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", inner));
    make_stack_buffers(state);
    llvm::Value* saved_parallel = std::exchange(parallel_value_, nullptr);
    serial_loop(loop.var, inner->getArg(argument), inner->getArg(argument + 1), loop.body, state);
    parallel_value_ = saved_parallel;
    builder_.CreateRetVoid();

    auto* outer = llvm::Function::Create(
        llvm::FunctionType::get(builder_.getVoidTy(), {pointer_, index_}, false),
        llvm::GlobalValue::InternalLinkage, name, module_.get());
    set_attributes(*outer);
    builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", outer));
    llvm::Value* memory = outer->getArg(0);
    llvm::Value* number = outer->getArg(1);
    std::vector<llvm::Value*> arguments;
    unsigned field = 0;
    const auto next_field = [&](llvm::Type* type) {
      return builder_.CreateLoad(type, builder_.CreateStructGEP(frame.type, memory, field++));
    };
    for (const BufferId id : frame.pointers) {
      llvm::Value* pointer = next_field(pointer_);
      if (kernel_.buffers[id].space == Space::per_worker)
        pointer = builder_.CreateInBoundsGEP(
            builder_.getInt8Ty(), pointer,
            builder_.CreateMul(
                number, llvm::ConstantInt::getSigned(index_, kernel_.workspace_bytes_per_worker)));
      arguments.push_back(pointer);
    }
    for (size_t i = 0; i < frame.captured.size(); ++i) arguments.push_back(next_field(index_));
    llvm::Value* begin = next_field(index_);
    llvm::Value* end = next_field(index_);
    llvm::Value* chunks = next_field(index_);
    llvm::Value* count = builder_.CreateSub(end, begin);
    // Iterations of chunk c: from count·c/chunks to count·(c+1)/chunks.
    const auto edge = [&](llvm::Value* c) {
      return builder_.CreateAdd(begin, builder_.CreateUDiv(builder_.CreateMul(count, c), chunks));
    };
    arguments.push_back(edge(number));
    arguments.push_back(edge(builder_.CreateAdd(number, llvm::ConstantInt::get(index_, 1))));
    builder_.CreateCall(inner, arguments);
    builder_.CreateRetVoid();
    return outer;
  }

  void write_entry(llvm::Function* main) {
    auto* function = llvm::Function::Create(
        llvm::FunctionType::get(builder_.getVoidTy(), {pointer_, pointer_, pointer_}, false),
        llvm::GlobalValue::ExternalLinkage, entry_, module_.get());
    set_attributes(*function);
    builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function));
    std::vector<llvm::Value*> arguments;
    for (const BufferId id : pointer_arguments()) {
      const KernelBuffer& buffer = kernel_.buffers[id];
      if (buffer.space == Space::argument) {
        llvm::Value* slot = builder_.CreateInBoundsGEP(
            pointer_, function->getArg(0), llvm::ConstantInt::getSigned(index_, buffer.slot));
        arguments.push_back(builder_.CreateLoad(pointer_, slot));
        continue;
      }
      const int64_t offset =
          buffer.offset + (buffer.space == Space::per_worker ? kernel_.workspace_bytes : 0);
      arguments.push_back(builder_.CreateInBoundsGEP(builder_.getInt8Ty(), function->getArg(1),
                                                     llvm::ConstantInt::getSigned(index_, offset)));
    }
    arguments.push_back(function->getArg(2));
    builder_.CreateCall(main, arguments);
    builder_.CreateRetVoid();
  }

  const Kernel& kernel_;
  const Target& target_;
  const std::string& entry_;
  llvm::LLVMContext& context_;
  std::unique_ptr<llvm::Module> module_;
  llvm::IRBuilder<> builder_;
  llvm::PointerType* pointer_ = nullptr;
  llvm::Type* index_ = nullptr;
  llvm::StructType* parallel_ = nullptr;
  llvm::Value* parallel_value_ = nullptr;
  int parallel_loops_ = 0;
};

}  // namespace

std::unique_ptr<llvm::Module> write_module(const Kernel& kernel, const Target& target,
                                           const std::string& entry, llvm::LLVMContext& context) {
  return ModuleWriter(kernel, target, entry, context).run();
}

}  // namespace hone
