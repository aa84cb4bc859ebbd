// SPDX-License-Identifier: Apache-2.0
//
// Kernel → LLVM module. Internal to codegen/.
#pragma once

#include <memory>
#include <string>

#include <llvm/IR/Module.h>

#include "lower/kernel.h"
#include "target/target.h"

namespace hone {

std::unique_ptr<llvm::Module> write_module(const Kernel& kernel, const Target& target,
                                           const std::string& entry, llvm::LLVMContext& context);

}  // namespace hone
