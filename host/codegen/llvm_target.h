// SPDX-License-Identifier: Apache-2.0
//
// From a module to object code, for the files of this folder that write modules of their own.
#pragma once

#include <functional>

#include "codegen/codegen.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#pragma GCC diagnostic pop

namespace hone {

// `write` gets an empty module that knows the target's data layout.
Result<ObjectCode> compile_module(const Target& target,
                                  const std::function<void(llvm::Module&)>& write);

}  // namespace hone
