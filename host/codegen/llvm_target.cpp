// SPDX-License-Identifier: Apache-2.0
//
// From a Kernel to object code: LLVM's target machine, a short pass pipeline, the object file. The
// IR arrives unrolled, vectorised and in SSA form, so the passes only share what statements compute
// twice and move what does not change out of loops; a full -O2 costs twice the time and gives the
// same code. No pass may know a library function: there is no library on the device.
#include "codegen/llvm_target.h"
#include "codegen/llvm_internal.h"
#include "codegen/object_facts.h"

#include <functional>
#include <mutex>

#include "base/text.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#pragma GCC diagnostic pop

namespace hone {
namespace {

// In the order of the enumerators.
constexpr IsaTraits kTraits[] = {
    {.rounding = true, .number_min = true, .wide = true},     // x86_64 (from SSE4.1 on)
    {.rounding = true, .number_min = true, .wide = true},     // aarch64
    {.rounding = false, .number_min = false, .wide = false},  // armv7a
    {.rounding = false, .number_min = false, .wide = false},  // armv7em
    {.rounding = true, .number_min = true, .wide = true},     // riscv64
};

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeARMTargetInfo();
    LLVMInitializeARMTarget();
    LLVMInitializeARMTargetMC();
    LLVMInitializeARMAsmPrinter();
    LLVMInitializeRISCVTargetInfo();
    LLVMInitializeRISCVTarget();
    LLVMInitializeRISCVTargetMC();
    LLVMInitializeRISCVAsmPrinter();
  });
}

llvm::TargetOptions options_for(const Target& target) {
  llvm::TargetOptions options;
  options.EmitStackSizeSection = true;
  if (target.float_abi == "hard") options.FloatABIType = llvm::FloatABI::Hard;
  if (target.float_abi == "soft") options.FloatABIType = llvm::FloatABI::Soft;
  if (target.isa == Isa::riscv64) options.MCOptions.ABIName = target.float_abi;
  return options;
}

// Code is relative to the program counter, so that it can be linked anywhere and also into a
// position independent program; a microcontroller's image has one place.
Result<std::unique_ptr<llvm::TargetMachine>> make_machine(const Target& target, bool optimize) {
  std::string error;
  const llvm::Target* backend = llvm::TargetRegistry::lookupTarget(target.triple, error);
  if (backend == nullptr) return fail("target {}: {}", target.name, error);
  const auto reloc = target.isa == Isa::armv7em ? llvm::Reloc::Static : llvm::Reloc::PIC_;
  const auto model = target.isa == Isa::riscv64 ? llvm::CodeModel::Medium : llvm::CodeModel::Small;
  std::unique_ptr<llvm::TargetMachine> machine(backend->createTargetMachine(
      target.triple, target.cpu, join(target.features, ","), options_for(target), reloc, model,
      optimize ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::None));
  if (machine == nullptr) return fail("target {}: LLVM makes no code for it", target.name);
  if (!machine->getMCSubtargetInfo()->isCPUStringValid(target.cpu))
    return fail("target {}: LLVM knows no cpu {}", target.name, target.cpu);
  return machine;
}

bool uses_f64(const Expr& expr) {
  if (expr->dtype == DType::f64) return true;
  for (const Expr& arg : expr->args)
    if (uses_f64(arg)) return true;
  return false;
}

bool uses_f64(const KernelBody& body) {
  for (const KernelStmt& statement : body) {
    if (const auto* loop = std::get_if<KernelFor>(&statement.node)) {
      if (uses_f64(loop->body)) return true;
    } else if (const auto* branch = std::get_if<KernelIf>(&statement.node)) {
      if (uses_f64(branch->condition) || uses_f64(branch->then_body) || uses_f64(branch->else_body))
        return true;
    } else if (const auto* set = std::get_if<KernelSet>(&statement.node)) {
      if (uses_f64(set->value)) return true;
    } else if (const auto* store = std::get_if<KernelStore>(&statement.node)) {
      if (uses_f64(store->value)) return true;
    }
  }
  return false;
}

// What LLVM reports while it works; its default would print and exit.
struct Diagnostics : llvm::DiagnosticHandler {
  explicit Diagnostics(std::string& errors) : errors_(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream stream(errors_);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }
  std::string& errors_;
};

}  // namespace

const IsaTraits& traits_of(Isa isa) { return kTraits[static_cast<size_t>(isa)]; }

namespace {

using MakeModule =
    std::function<std::unique_ptr<llvm::Module>(llvm::LLVMContext&, const llvm::DataLayout&)>;

struct Backend {
  Target target;
  std::unique_ptr<llvm::TargetMachine> machines[2];  // by CodegenOptions::optimize
  llvm::TargetLibraryInfoImpl no_library;

  static Result<Backend> create(const Target& target);
  // `emit` sees the module after the passes.
  Result<void> run(const MakeModule& make, bool optimized, bool verify,
                   const std::function<void(llvm::Module&, llvm::TargetMachine&)>& emit);
  Result<std::string> emit_file(const MakeModule& make, bool optimized, llvm::CodeGenFileType type);
  void optimize(llvm::Module& module, llvm::TargetMachine& machine);
};

void Backend::optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(no_library); });
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) passes.run(function, functions);
}

Result<void> Backend::run(const MakeModule& make, bool optimized, bool verify,
                          const std::function<void(llvm::Module&, llvm::TargetMachine&)>& emit) {
  llvm::LLVMContext context;
  std::string errors;
  context.setDiagnosticHandler(std::make_unique<Diagnostics>(errors));
  llvm::TargetMachine& machine = *machines[optimized ? 1 : 0];
  const auto module = make(context, machine.createDataLayout());
  if (verify) {
    std::string message;
    llvm::raw_string_ostream stream(message);
    ENSURE(!llvm::verifyModule(*module, &stream), "{}: {}", module->getName().str(), message);
  }
  if (optimized) optimize(*module, machine);
  emit(*module, machine);
  if (!errors.empty()) return fail("LLVM: {}", errors);
  return {};
}

Result<std::string> Backend::emit_file(const MakeModule& make, bool optimized,
                                       llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  bool possible = true;
  TRYV(run(make, optimized, false, [&](llvm::Module& module, llvm::TargetMachine& machine) {
    llvm::raw_svector_ostream stream(bytes);
    llvm::legacy::PassManager passes;
    passes.add(new llvm::TargetLibraryInfoWrapperPass(no_library));
    possible = !machine.addPassesToEmitFile(passes, stream, nullptr, type);
    if (possible) passes.run(module);
  }));
  if (!possible) return fail("target {}: LLVM writes no such file for it", target.name);
  return std::string(bytes.begin(), bytes.end());
}

Result<Backend> Backend::create(const Target& target) {
  initialize_llvm();
  Backend backend;
  backend.target = target;
  for (const bool optimized : {false, true})
    backend.machines[optimized ? 1 : 0] = TRY(make_machine(target, optimized));
  backend.no_library = llvm::TargetLibraryInfoImpl(llvm::Triple(target.triple));
  backend.no_library.disableAllFunctions();
  return backend;
}

}  // namespace

struct CodeGenerator::State {
  Backend backend;

  // Error: arithmetic that the target would call a library for.
  Result<MakeModule> maker(const Kernel& kernel, const CodegenOptions& options) const;
};

Result<MakeModule> CodeGenerator::State::maker(const Kernel& kernel,
                                               const CodegenOptions& options) const {
  const Target& target = backend.target;
  if (!target.f64 && uses_f64(kernel.body))
    return fail("kernel {} computes in f64, which {} has no instructions for", kernel.name,
                target.name);
  return [&](llvm::LLVMContext& context, const llvm::DataLayout& layout) {
    return make_module(kernel, target, options.entry, context, layout);
  };
}

CodeGenerator::CodeGenerator(std::unique_ptr<State> state) : state_(std::move(state)) {}
CodeGenerator::CodeGenerator(CodeGenerator&&) noexcept = default;
CodeGenerator& CodeGenerator::operator=(CodeGenerator&&) noexcept = default;
CodeGenerator::~CodeGenerator() = default;

Result<CodeGenerator> CodeGenerator::create(const Target& target) {
  return CodeGenerator(std::make_unique<State>(State{TRY(Backend::create(target))}));
}

Result<ObjectCode> CodeGenerator::compile(const Kernel& kernel, const CodegenOptions& options) {
  const MakeModule make = TRY(state_->maker(kernel, options));
  return read_object(
      TRY(state_->backend.emit_file(make, options.optimize, llvm::CodeGenFileType::ObjectFile)));
}

Result<std::string> CodeGenerator::assembly_text(const Kernel& kernel,
                                                 const CodegenOptions& options) {
  const MakeModule make = TRY(state_->maker(kernel, options));
  return state_->backend.emit_file(make, options.optimize, llvm::CodeGenFileType::AssemblyFile);
}

Result<std::string> CodeGenerator::llvm_text(const Kernel& kernel, const CodegenOptions& options) {
  const MakeModule make = TRY(state_->maker(kernel, options));
  std::string text;
  TRYV(state_->backend.run(make, options.optimize, true,
                           [&](llvm::Module& module, llvm::TargetMachine&) {
                             llvm::raw_string_ostream stream(text);
                             module.print(stream, nullptr);
                           }));
  return text;
}

Result<ObjectCode> compile_module(const Target& target,
                                  const std::function<void(llvm::Module&)>& write) {
  Backend backend = TRY(Backend::create(target));
  const MakeModule make = [&](llvm::LLVMContext& context, const llvm::DataLayout& layout) {
    auto module = std::make_unique<llvm::Module>("library", context);
    module->setTargetTriple(target.triple);
    module->setDataLayout(layout);
    write(*module);
    return module;
  };
  return read_object(TRY(backend.emit_file(make, true, llvm::CodeGenFileType::ObjectFile)));
}

Result<ObjectCode> compile(const Kernel& kernel, const Target& target,
                           const CodegenOptions& options) {
  return TRY(CodeGenerator::create(target)).compile(kernel, options);
}

Result<std::string> llvm_text(const Kernel& kernel, const Target& target,
                              const CodegenOptions& options) {
  return TRY(CodeGenerator::create(target)).llvm_text(kernel, options);
}

Result<std::string> assembly_text(const Kernel& kernel, const Target& target,
                                  const CodegenOptions& options) {
  return TRY(CodeGenerator::create(target)).assembly_text(kernel, options);
}

// The number grows with every change of the code that comes out.
std::string codegen_fingerprint() { return "codegen 1, LLVM " LLVM_VERSION_STRING; }

}  // namespace hone
