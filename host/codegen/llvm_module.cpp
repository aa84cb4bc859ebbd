// SPDX-License-Identifier: Apache-2.0
//
// Kernel statements → functions of a module. Control flow is structured, so SSA form is made while
// walking: a loop's header has a phi for each register that its body sets, the end of an If one for
// each that an arm sets. Loops are made with the test at the end, as LLVM would rotate them.
//
// A parallel loop becomes a function of its own. What it reads of the code around it (variables,
// registers, stack memory) travels in a struct in the caller's frame.
#include "codegen/llvm_internal.h"
#include "codegen/scan.h"

namespace hone {

using llvm::Value;

namespace {

llvm::Align as_align(int64_t bytes) { return llvm::Align(static_cast<uint64_t>(bytes)); }

class ModuleMaker {
 public:
  ModuleMaker(const Kernel& kernel, const Target& target, const std::string& entry,
              llvm::Module& module)
      : kernel_(kernel),
        target_(target),
        entry_(entry),
        module_(module),
        context_(module.getContext()),
        pointer_(llvm::PointerType::getUnqual(context_)) {}

  void make_entry();

 private:
  // Builds one function: the entry, or the body of a parallel loop.
  class FunctionMaker;
  llvm::Function* make_function(llvm::FunctionType* type, const std::string& name, bool exported);

  const Kernel& kernel_;
  const Target& target_;
  const std::string& entry_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::PointerType* pointer_;
  int bodies_ = 0;
};

llvm::Function* ModuleMaker::make_function(llvm::FunctionType* type, const std::string& name,
                                           bool exported) {
  auto* function = llvm::Function::Create(
      type, exported ? llvm::Function::ExternalLinkage : llvm::Function::InternalLinkage, name,
      module_);
  function->setDSOLocal(true);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr("no-builtins");
  function->addFnAttr("no-trapping-math", "true");
  if (target_.isa == Isa::x86_64 && target_.vector_bits > 0) {
    // Without these LLVM splits 512-bit vectors where it thinks that clocks would drop.
    const std::string bits = std::to_string(target_.vector_bits);
    function->addFnAttr("prefer-vector-width", bits);
    function->addFnAttr("min-legal-vector-width", bits);
  }
  return function;
}

class ModuleMaker::FunctionMaker {
 public:
  FunctionMaker(ModuleMaker& owner, llvm::Function* function)
      : owner_(owner), emitter_(owner.kernel_, owner.target_, owner.context_) {
    const Kernel& kernel = owner.kernel_;
    frame().function = function;
    frame().vars.assign(static_cast<size_t>(kernel.vars.size()), nullptr);
    frame().depths.assign(static_cast<size_t>(kernel.vars.size()), 0);
    frame().registers.assign(static_cast<size_t>(kernel.registers.size()), nullptr);
    frame().bases.assign(static_cast<size_t>(kernel.buffers.size()), nullptr);
    b().SetInsertPoint(llvm::BasicBlock::Create(owner.context_, "", function));
  }

  Builder& b() { return emitter_.builder(); }
  Frame& frame() { return emitter_.frame(); }
  void body(const KernelBody& statements) {
    for (const KernelStmt& statement : statements)
      std::visit([&](const auto& node) { emit(node); }, statement.node);
  }
  // Addresses of the buffers that `used` names; stack buffers only those of `on_stack`.
  void bind_buffers(const std::set<int32_t>& used, const std::set<int32_t>& on_stack);

  Value* array = nullptr;  // the call's pointers
  Value* workspace = nullptr;
  Value* worker = nullptr;    // index type; null: worker 0
  Value* parallel = nullptr;  // null inside a parallel body

 private:
  // What travels from the code around a parallel loop into its body, in the struct's order.
  struct Context {
    llvm::StructType* type;
    std::vector<int32_t> vars;
    std::vector<int32_t> registers;
    std::vector<int32_t> stack;
  };

  llvm::Type* index_type() { return emitter_.index_type(); }
  Value* index_number(int64_t value) { return llvm::ConstantInt::getSigned(index_type(), value); }
  llvm::BasicBlock* block() {
    return llvm::BasicBlock::Create(owner_.context_, "", frame().function);
  }
  llvm::LoadInst* load_pointer(Value* from, int64_t dereferenceable, int64_t align);

  void emit(const KernelFor& loop);
  void emit_serial(const KernelFor& loop);
  void emit_parallel(const KernelFor& loop);
  void emit(const KernelIf& branch);
  void emit(const KernelLet& let);
  void emit(const KernelSet& set);
  void emit(const KernelStore& store) {
    emitter_.store(store);
    emitter_.forget();
  }
  void bind(VarId var, Value* value);
  Context context_of(const KernelFor& loop);
  llvm::Function* outline(const KernelFor& loop, const Context& context);

  ModuleMaker& owner_;
  ExprEmitter emitter_;
  int depth_ = 0;
};

llvm::LoadInst* ModuleMaker::FunctionMaker::load_pointer(Value* from, int64_t dereferenceable,
                                                         int64_t align) {
  llvm::LoadInst* pointer = b().CreateLoad(owner_.pointer_, from);
  const auto number = [&](int64_t value) {
    return llvm::MDNode::get(
        owner_.context_,
        {llvm::ConstantAsMetadata::get(b().getInt64(static_cast<uint64_t>(value)))});
  };
  pointer->setMetadata(llvm::LLVMContext::MD_invariant_load,
                       llvm::MDNode::get(owner_.context_, {}));
  pointer->setMetadata(llvm::LLVMContext::MD_nonnull, llvm::MDNode::get(owner_.context_, {}));
  pointer->setMetadata(llvm::LLVMContext::MD_noundef, llvm::MDNode::get(owner_.context_, {}));
  if (align > 0) pointer->setMetadata(llvm::LLVMContext::MD_align, number(align));
  if (dereferenceable > 0)
    pointer->setMetadata(llvm::LLVMContext::MD_dereferenceable, number(dereferenceable));
  return pointer;
}

void ModuleMaker::FunctionMaker::bind_buffers(const std::set<int32_t>& used,
                                              const std::set<int32_t>& on_stack) {
  const Kernel& kernel = owner_.kernel_;
  Value* own_part = nullptr;
  for (const int32_t id : used) {
    const KernelBuffer& buffer = kernel.buffers[BufferId{id}];
    Value*& base = frame().bases[static_cast<size_t>(id)];
    const int64_t bytes = buffer.elements * bytes_of(buffer.dtype);
    switch (buffer.space) {
      case Space::argument:
        base = load_pointer(b().CreateGEP(owner_.pointer_, array, index_number(buffer.slot)), bytes,
                            64);
        break;
      case Space::constants:
        base = b().CreateGEP(
            b().getInt8Ty(),
            load_pointer(b().CreateGEP(owner_.pointer_, array, index_number(buffer.slot)),
                         kernel.constants_bytes, 64),
            index_number(buffer.offset));
        break;
      case Space::workspace:
        base = b().CreateGEP(b().getInt8Ty(), workspace, index_number(buffer.offset));
        break;
      case Space::per_worker:
        if (own_part == nullptr) {
          own_part =
              b().CreateGEP(b().getInt8Ty(), workspace, index_number(kernel.workspace_bytes));
          if (worker != nullptr)
            own_part = b().CreateGEP(
                b().getInt8Ty(), own_part,
                b().CreateMul(worker, index_number(kernel.workspace_bytes_per_worker)));
        }
        base = b().CreateGEP(b().getInt8Ty(), own_part, index_number(buffer.offset));
        break;
      case Space::stack:
        if (!on_stack.contains(id)) break;
        llvm::AllocaInst* memory =
            b().CreateAlloca(llvm::ArrayType::get(b().getInt8Ty(), static_cast<uint64_t>(bytes)));
        memory->setAlignment(as_align(64));
        base = memory;
        break;
    }
  }
}

void ModuleMaker::FunctionMaker::bind(VarId var, Value* value) {
  frame().vars[static_cast<size_t>(var.value)] = value;
  frame().depths[static_cast<size_t>(var.value)] = depth_;
}

void ModuleMaker::FunctionMaker::emit(const KernelLet& let) {
  bind(let.var, emitter_.index(let.value));
  emitter_.forget();
}

void ModuleMaker::FunctionMaker::emit(const KernelSet& set) {
  frame().registers[static_cast<size_t>(set.reg.value)] = emitter_.value(set.value);
  emitter_.forget();
}

void ModuleMaker::FunctionMaker::emit(const KernelIf& branch) {
  Value* condition = emitter_.value(branch.condition);
  emitter_.forget();
  llvm::BasicBlock* arms[2] = {block(), block()};
  llvm::BasicBlock* after = block();
  b().CreateCondBr(condition, arms[0], arms[1]);
  const std::vector<Value*> before = frame().registers;
  std::vector<Value*> ends[2];
  const KernelBody* bodies[2] = {&branch.then_body, &branch.else_body};
  for (const int arm : {0, 1}) {
    frame().registers = before;
    b().SetInsertPoint(arms[arm]);
    body(*bodies[arm]);
    ends[arm] = frame().registers;
    arms[arm] = b().GetInsertBlock();
    b().CreateBr(after);
  }
  b().SetInsertPoint(after);
  for (size_t i = 0; i < before.size(); ++i) {
    if (ends[0][i] == ends[1][i]) continue;
    llvm::Type* type = (ends[0][i] != nullptr ? ends[0][i] : ends[1][i])->getType();
    llvm::PHINode* phi = b().CreatePHI(type, 2);
    for (const int arm : {0, 1})
      phi->addIncoming(ends[arm][i] != nullptr ? ends[arm][i] : llvm::PoisonValue::get(type),
                       arms[arm]);
    frame().registers[i] = phi;
  }
}

void ModuleMaker::FunctionMaker::emit(const KernelFor& loop) {
  ++depth_;
  if (loop.parallel)
    emit_parallel(loop);
  else
    emit_serial(loop);
  --depth_;
}

void ModuleMaker::FunctionMaker::emit_serial(const KernelFor& loop) {
  Value* begin = emitter_.index(loop.begin);
  Value* end = emitter_.index(loop.end);
  emitter_.forget();
  const bool constant = is_constant(loop.begin) && is_constant(loop.end);
  const int64_t trips = constant ? loop.end->int_value - loop.begin->int_value : -1;
  if (constant && trips <= 0) return;
  if (trips == 1) {
    bind(loop.var, begin);
    body(loop.body);
    return;
  }
  llvm::BasicBlock* before = b().GetInsertBlock();
  llvm::BasicBlock* header = block();
  llvm::BasicBlock* after = block();
  if (constant)
    b().CreateBr(header);
  else
    b().CreateCondBr(b().CreateICmpSLT(begin, end), header, after);
  b().SetInsertPoint(header);
  llvm::PHINode* counter = b().CreatePHI(index_type(), 2);
  counter->addIncoming(begin, before);
  bind(loop.var, counter);
  std::vector<std::pair<size_t, llvm::PHINode*>> carried;
  const std::vector<Value*> entering = frame().registers;
  for (const int32_t id : touched_by(loop.body).registers_set) {
    const size_t row = static_cast<size_t>(id);
    const Register& reg = owner_.kernel_.registers[RegId{id}];
    llvm::Type* type = emitter_.type_of(reg.dtype, reg.lanes);
    llvm::PHINode* phi = b().CreatePHI(type, 2);
    phi->addIncoming(entering[row] != nullptr ? entering[row] : llvm::PoisonValue::get(type),
                     before);
    carried.emplace_back(row, phi);
    frame().registers[row] = phi;
  }
  body(loop.body);
  Value* next = b().CreateAdd(counter, index_number(1), "", false, true);
  llvm::BasicBlock* latch = b().GetInsertBlock();
  counter->addIncoming(next, latch);
  b().CreateCondBr(b().CreateICmpSLT(next, end), header, after);
  b().SetInsertPoint(after);
  for (const auto& [row, phi] : carried) {
    Value* last = frame().registers[row];
    phi->addIncoming(last, latch);
    llvm::PHINode* exit = b().CreatePHI(last->getType(), 2);
    exit->addIncoming(last, latch);
    if (!constant) exit->addIncoming(phi->getIncomingValue(0), before);
    frame().registers[row] = exit;
  }
}

ModuleMaker::FunctionMaker::Context ModuleMaker::FunctionMaker::context_of(const KernelFor& loop) {
  const Touched touched = touched_by(loop.body);
  const std::set<int32_t> own = stack_buffers_of(owner_.kernel_, &loop);
  Context context{};
  std::vector<llvm::Type*> fields = {owner_.pointer_, owner_.pointer_, index_type()};
  for (const int32_t id : touched.vars_read) {
    if (frame().vars[static_cast<size_t>(id)] == nullptr) continue;
    context.vars.push_back(id);
    fields.push_back(index_type());
  }
  for (const int32_t id : touched.registers_read) {
    Value* value = frame().registers[static_cast<size_t>(id)];
    if (value == nullptr) continue;
    context.registers.push_back(id);
    fields.push_back(value->getType());
  }
  for (const int32_t id : touched.buffers) {
    if (owner_.kernel_.buffers[BufferId{id}].space != Space::stack || own.contains(id)) continue;
    context.stack.push_back(id);
    fields.push_back(owner_.pointer_);
  }
  context.type = llvm::StructType::get(owner_.context_, fields);
  return context;
}

llvm::Function* ModuleMaker::FunctionMaker::outline(const KernelFor& loop, const Context& context) {
  auto* type = llvm::FunctionType::get(b().getVoidTy(),
                                       {owner_.pointer_, index_type(), index_type()}, false);
  llvm::Function* function = owner_.make_function(
      type, fmt::format("{}_parallel{}", owner_.entry_, owner_.bodies_++), false);
  FunctionMaker maker(owner_, function);
  unsigned field = 0;
  const auto next_field = [&](llvm::Type* of) {
    return maker.b().CreateLoad(
        of, maker.b().CreateStructGEP(context.type, function->getArg(0), field++));
  };
  maker.array = next_field(owner_.pointer_);
  maker.workspace = next_field(owner_.pointer_);
  Value* first = next_field(index_type());
  maker.worker = function->getArg(2);
  for (const int32_t id : context.vars) {
    maker.frame().vars[static_cast<size_t>(id)] = next_field(index_type());
    maker.frame().depths[static_cast<size_t>(id)] = frame().depths[static_cast<size_t>(id)];
  }
  for (const int32_t id : context.registers) {
    const size_t row = static_cast<size_t>(id);
    maker.frame().registers[row] = next_field(frame().registers[row]->getType());
  }
  maker.bind_buffers(touched_by(loop.body).buffers, stack_buffers_of(owner_.kernel_, &loop));
  for (const int32_t id : context.stack)
    maker.frame().bases[static_cast<size_t>(id)] = next_field(owner_.pointer_);
  maker.depth_ = depth_;
  maker.bind(loop.var, maker.b().CreateAdd(first, function->getArg(1)));
  maker.body(loop.body);
  maker.b().CreateRetVoid();
  return function;
}

void ModuleMaker::FunctionMaker::emit_parallel(const KernelFor& loop) {
  ENSURE(parallel != nullptr, "a parallel loop inside another");
  Value* begin = emitter_.index(loop.begin);
  Value* end = emitter_.index(loop.end);
  emitter_.forget();
  const Context context = context_of(loop);
  llvm::Function* function = outline(loop, context);
  const auto here = b().saveIP();
  b().SetInsertPoint(&frame().function->getEntryBlock(),
                     frame().function->getEntryBlock().getFirstInsertionPt());
  Value* memory = b().CreateAlloca(context.type);
  b().restoreIP(here);
  unsigned field = 0;
  const auto store_next = [&](Value* value) {
    b().CreateStore(value, b().CreateStructGEP(context.type, memory, field++));
  };
  store_next(array);
  store_next(workspace);
  store_next(begin);
  for (const int32_t id : context.vars) store_next(frame().vars[static_cast<size_t>(id)]);
  for (const int32_t id : context.registers) store_next(frame().registers[static_cast<size_t>(id)]);
  for (const int32_t id : context.stack) store_next(frame().bases[static_cast<size_t>(id)]);
  Value* run = b().CreateLoad(owner_.pointer_, parallel);
  auto* run_type = llvm::FunctionType::get(
      b().getVoidTy(), {owner_.pointer_, owner_.pointer_, owner_.pointer_, index_type()}, false);
  b().CreateCall(run_type, run, {parallel, function, memory, b().CreateSub(end, begin)});
}

void ModuleMaker::make_entry() {
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context_),
                                       {pointer_, pointer_, pointer_}, false);
  llvm::Function* function = make_function(type, entry_, true);
  FunctionMaker maker(*this, function);
  maker.array = function->getArg(0);
  maker.workspace = function->getArg(1);
  maker.parallel = function->getArg(2);
  for (const unsigned i : {0U, 1U}) function->addParamAttr(i, llvm::Attribute::NoUndef);
  maker.bind_buffers(touched_by(kernel_.body).buffers, stack_buffers_of(kernel_, nullptr));
  maker.body(kernel_.body);
  maker.b().CreateRetVoid();
}

}  // namespace

std::unique_ptr<llvm::Module> make_module(const Kernel& kernel, const Target& target,
                                          const std::string& entry, llvm::LLVMContext& context,
                                          const llvm::DataLayout& layout) {
  auto module = std::make_unique<llvm::Module>(kernel.name, context);
  module->setTargetTriple(target.triple);
  module->setDataLayout(layout);
  ModuleMaker(kernel, target, entry, *module).make_entry();
  return module;
}

}  // namespace hone
