// SPDX-License-Identifier: Apache-2.0
//
// LLVM module → object code or text. The pass pipeline is light, because Kernels arrive unrolled,
// in vectors, with accumulators in SSA values: what is left to do is to share common loads and
// addresses and to move what does not change out of loops. No vectoriser, no unroller, no idiom
// recognition (which would make calls to a library that is not there).
#include <mutex>

#include <llvm/ADT/SmallString.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/LEB128.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include "base/hash.h"
#include "codegen/codegen.h"
#include "codegen/llvm_module.h"

namespace hone {
namespace {

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

// Code is reached from addresses far from zero (a device's load region), so data has to be
// addressed relative to the program counter where the ISA knows two ways.
struct Addressing {
  llvm::Reloc::Model relocation;
  std::optional<llvm::CodeModel::Model> code_model;
};
Addressing addressing_of(const Target& target) {
  switch (target.isa) {
    case Isa::x86_64:
    case Isa::aarch64:
      return {llvm::Reloc::PIC_, llvm::CodeModel::Small};
    case Isa::riscv64:
      return {llvm::Reloc::Static, llvm::CodeModel::Medium};
    default:
      return {llvm::Reloc::Static, std::nullopt};
  }
}

Result<std::unique_ptr<llvm::TargetMachine>> make_machine(const Target& target, bool optimize) {
  initialize_llvm();
  std::string message;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(target.triple, message);
  if (found == nullptr) return fail("target {}: {}", target.name, message);
  llvm::TargetOptions options;
  options.FunctionSections = true;
  options.DataSections = true;
  options.EmitStackSizeSection = true;
  if (target.isa == Isa::riscv64) {
    options.MCOptions.ABIName = target.float_abi;
  } else if (target.float_abi == "hard") {
    options.FloatABIType = llvm::FloatABI::Hard;
  }
  const Addressing addressing = addressing_of(target);
  std::unique_ptr<llvm::TargetMachine> machine(found->createTargetMachine(
      target.triple, target.cpu, fmt::format("{}", fmt::join(target.features, ",")), options,
      addressing.relocation, addressing.code_model,
      optimize ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::None));
  if (!machine) return fail("LLVM has no code generator for target {}", target.name);
  return machine;
}

void run_passes(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  llvm::TargetLibraryInfoImpl no_library(llvm::Triple(module.getTargetTriple()));
  no_library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(no_library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                       /*UseMemorySSA=*/true));
  passes.addPass(llvm::EarlyCSEPass(true));
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) passes.run(function, functions);
}

Result<std::string> emit(llvm::Module& module, llvm::TargetMachine& machine,
                         llvm::CodeGenFileType type) {
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  llvm::TargetLibraryInfoImpl no_library(llvm::Triple(module.getTargetTriple()));
  no_library.disableAllFunctions();
  passes.add(new llvm::TargetLibraryInfoWrapperPass(no_library));
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    return fail("LLVM cannot write this kind of file for {}", module.getTargetTriple());
  passes.run(module);
  return std::string(bytes.data(), bytes.size());
}

struct Prepared {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
};

Result<Prepared> prepare(const Kernel& kernel, const Target& target,
                         const CodegenOptions& options) {
  Prepared prepared;
  prepared.machine = TRY(make_machine(target, options.optimize));
  prepared.context = std::make_unique<llvm::LLVMContext>();
  prepared.module = write_module(kernel, target, options.entry, *prepared.context);
  prepared.module->setTargetTriple(target.triple);
  prepared.module->setDataLayout(prepared.machine->createDataLayout());
  if (target.isa == Isa::riscv64)
    prepared.module->addModuleFlag(llvm::Module::Error, "target-abi",
                                   llvm::MDString::get(*prepared.context, target.float_abi));
  std::string complaint;
  llvm::raw_string_ostream stream(complaint);
  ENSURE(!llvm::verifyModule(*prepared.module, &stream), "{}", complaint);
  if (options.optimize) run_passes(*prepared.module, *prepared.machine);
  return prepared;
}

// Frames of all functions together: each is on the stack at most once, and there are few.
int64_t stack_bytes_of(llvm::StringRef section, int pointer_bytes) {
  int64_t total = 0;
  size_t at = 0;
  while (at + static_cast<size_t>(pointer_bytes) < section.size()) {
    at += static_cast<size_t>(pointer_bytes);
    unsigned length = 0;
    total += static_cast<int64_t>(
        llvm::decodeULEB128(reinterpret_cast<const uint8_t*>(section.data()) + at, &length));
    at += length;
  }
  return total;
}

Result<void> read_sizes(ObjectCode& object, const Target& target) {
  const llvm::StringRef bytes(reinterpret_cast<const char*>(object.bytes.data()),
                              object.bytes.size());
  auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(bytes, "object"));
  if (!file) return fail("{}", llvm::toString(file.takeError()));
  for (const llvm::object::SectionRef& section : (*file)->sections()) {
    auto name = section.getName();
    if (!name) return fail("{}", llvm::toString(name.takeError()));
    const int64_t size = static_cast<int64_t>(section.getSize());
    if (section.isText()) object.text_bytes += size;
    if (name->starts_with(".rodata")) object.rodata_bytes += size;
    if (*name == ".stack_sizes") {
      auto contents = section.getContents();
      if (!contents) return fail("{}", llvm::toString(contents.takeError()));
      object.stack_bytes += stack_bytes_of(*contents, target.pointer_bits / 8);
    }
  }
  return {};
}

}  // namespace

Result<ObjectCode> compile(const Kernel& kernel, const Target& target,
                           const CodegenOptions& options) {
  Prepared prepared = TRY(prepare(kernel, target, options));
  const std::string bytes =
      TRY(emit(*prepared.module, *prepared.machine, llvm::CodeGenFileType::ObjectFile));
  ObjectCode object;
  object.bytes.assign(bytes.begin(), bytes.end());
  TRYV(read_sizes(object, target));
  return object;
}

Result<std::string> llvm_text(const Kernel& kernel, const Target& target,
                              const CodegenOptions& options) {
  const Prepared prepared = TRY(prepare(kernel, target, options));
  std::string text;
  llvm::raw_string_ostream stream(text);
  prepared.module->print(stream, nullptr);
  return text;
}

Result<std::string> assembly_text(const Kernel& kernel, const Target& target,
                                  const CodegenOptions& options) {
  Prepared prepared = TRY(prepare(kernel, target, options));
  return emit(*prepared.module, *prepared.machine, llvm::CodeGenFileType::AssemblyFile);
}

std::string codegen_fingerprint() { return "hone-codegen 1, LLVM " LLVM_VERSION_STRING; }

}  // namespace hone
