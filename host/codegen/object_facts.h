// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "codegen/codegen.h"

namespace hone {

// The object with its sizes, from the ELF file's own sections: code, constants, and the frames that
// LLVM lists in .stack_sizes.
Result<ObjectCode> read_object(std::string_view elf);

// The loadable parts of a linked ELF file as they lie in memory, from `load_address` on. `prepare`:
// the symbol of the second entry; empty: there is none.
Result<Image> flatten(std::string_view elf, uint64_t load_address, std::string_view prepare);

}  // namespace hone
