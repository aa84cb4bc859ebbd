// SPDX-License-Identifier: Apache-2.0
#include "codegen/archive.h"

#include <algorithm>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#pragma GCC diagnostic pop

namespace hone {
namespace {

llvm::MemoryBufferRef as_buffer(const std::vector<uint8_t>& bytes, llvm::StringRef name) {
  return {llvm::StringRef(reinterpret_cast<const char*>(bytes.data()), bytes.size()), name};
}

}  // namespace

Result<std::vector<uint8_t>> write_archive(const std::vector<ArchiveMember>& members) {
  std::vector<llvm::NewArchiveMember> rows;
  for (const ArchiveMember& member : members) {
    TRYV(symbols_of(member.bytes));
    rows.emplace_back(as_buffer(member.bytes, member.name));
  }
  auto archive = llvm::writeArchiveToBuffer(rows, llvm::SymtabWritingMode::NormalSymtab,
                                            llvm::object::Archive::K_GNU, /*Deterministic=*/true,
                                            /*Thin=*/false);
  if (!archive) return fail("writing the archive: {}", llvm::toString(archive.takeError()));
  const llvm::StringRef bytes = (*archive)->getBuffer();
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

Result<Symbols> symbols_of(const std::vector<uint8_t>& object) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(as_buffer(object, "object"));
  if (!file) return fail("not an object: {}", llvm::toString(file.takeError()));
  Symbols symbols;
  for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags || !name) {
      llvm::consumeError(flags.takeError());
      llvm::consumeError(name.takeError());
      return fail("the symbol table of an object cannot be read");
    }
    if (!(*flags & llvm::object::SymbolRef::SF_Global)) continue;
    const bool undefined = *flags & llvm::object::SymbolRef::SF_Undefined;
    (undefined ? symbols.undefined : symbols.defined).push_back(name->str());
  }
  std::ranges::sort(symbols.defined);
  std::ranges::sort(symbols.undefined);
  return symbols;
}

}  // namespace hone
