// SPDX-License-Identifier: Apache-2.0
#include "codegen/object_facts.h"

#include <algorithm>
#include <cstring>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <llvm/Object/ELF.h>  // ELFObjectFile.h brings in a header that clang refuses in C++23
#include <llvm/Support/DataExtractor.h>
#pragma GCC diagnostic pop

namespace hone {
namespace {

namespace object = llvm::object;

// Calls `read` with the file as 32-bit or 64-bit little endian ELF.
template <typename T, typename Read>
Result<T> with_elf(std::string_view bytes, Read read) {
  const llvm::StringRef text(bytes.data(), bytes.size());
  const auto as = [&](auto elf) -> Result<T> {
    if (!elf) return fail("object file: {}", llvm::toString(elf.takeError()));
    return read(*elf);
  };
  const bool wide =
      bytes.size() > llvm::ELF::EI_CLASS && bytes[llvm::ELF::EI_CLASS] == llvm::ELF::ELFCLASS64;
  if (wide) return as(object::ELFFile<object::ELF64LE>::create(text));
  return as(object::ELFFile<object::ELF32LE>::create(text));
}

// Pairs of a function's address and the size of its frame.
int64_t sum_of_frames(llvm::StringRef section, uint8_t address_bytes) {
  const llvm::DataExtractor data(section, true, address_bytes);
  uint64_t sum = 0;
  for (uint64_t offset = 0; offset < section.size();) {
    data.getAddress(&offset);
    sum += data.getULEB128(&offset);
  }
  return static_cast<int64_t>(sum);
}

template <typename ElfType>
Result<int64_t> address_of(const object::ELFFile<ElfType>& elf, std::string_view name) {
  auto sections = elf.sections();
  if (!sections) return fail("linked file: {}", llvm::toString(sections.takeError()));
  for (const auto& section : *sections) {
    if (section.sh_type != llvm::ELF::SHT_SYMTAB) continue;
    auto symbols = elf.symbols(&section);
    auto names = elf.getStringTableForSymtab(section);
    if (!symbols) return fail("linked file: {}", llvm::toString(symbols.takeError()));
    if (!names) return fail("linked file: {}", llvm::toString(names.takeError()));
    for (const auto& symbol : *symbols)
      if (auto found = symbol.getName(*names); found && *found == llvm::StringRef(name))
        return static_cast<int64_t>(symbol.st_value);
  }
  return fail("linked file: no symbol {}", name);
}

template <typename ElfType>
Result<Image> flatten_as(const object::ELFFile<ElfType>& elf, uint64_t load_address,
                         std::string_view prepare) {
  auto headers = elf.program_headers();
  if (!headers) return fail("linked file: {}", llvm::toString(headers.takeError()));
  Image image;
  image.load_address = load_address;
  uint64_t end = load_address;
  for (const auto& header : *headers) {
    if (header.p_type != llvm::ELF::PT_LOAD || header.p_memsz == 0) continue;
    if (header.p_vaddr < load_address)
      return fail("linked file: a part lies at {:#x}, before the load address",
                  static_cast<uint64_t>(header.p_vaddr));
    auto content = elf.getSegmentContents(header);
    if (!content) return fail("linked file: {}", llvm::toString(content.takeError()));
    const size_t start = header.p_vaddr - load_address;
    image.bytes.resize(std::max(image.bytes.size(), start + content->size()));
    std::copy(content->begin(), content->end(),
              image.bytes.begin() + static_cast<std::ptrdiff_t>(start));
    end = std::max<uint64_t>(end, header.p_vaddr + header.p_memsz);
  }
  image.bss_bytes = static_cast<int64_t>(end - load_address - image.bytes.size());
  image.entry_offset = static_cast<int64_t>(elf.getHeader().e_entry - load_address);
  if (!prepare.empty())
    image.prepare_offset = TRY(address_of(elf, prepare)) - static_cast<int64_t>(load_address);
  return image;
}

template <typename ElfType>
Result<ObjectCode> sizes_of(const object::ELFFile<ElfType>& elf) {
  ObjectCode code;
  auto sections = elf.sections();
  if (!sections) return fail("object file: {}", llvm::toString(sections.takeError()));
  for (const auto& section : *sections) {
    const int64_t bytes = static_cast<int64_t>(section.sh_size);
    if ((section.sh_flags & llvm::ELF::SHF_EXECINSTR) != 0)
      code.text_bytes += bytes;
    else if ((section.sh_flags & llvm::ELF::SHF_ALLOC) != 0)
      code.rodata_bytes += bytes;
    auto name = elf.getSectionName(section);
    if (!name) return fail("object file: {}", llvm::toString(name.takeError()));
    if (*name != ".stack_sizes") continue;
    auto content = elf.getSectionContents(section);
    if (!content) return fail("object file: {}", llvm::toString(content.takeError()));
    const llvm::StringRef text(reinterpret_cast<const char*>(content->data()), content->size());
    code.stack_bytes += sum_of_frames(text, ElfType::Is64Bits ? 8 : 4);
  }
  return code;
}

}  // namespace

Result<ObjectCode> read_object(std::string_view elf) {
  ObjectCode code = TRY(with_elf<ObjectCode>(elf, [](const auto& file) { return sizes_of(file); }));
  code.bytes.assign(elf.begin(), elf.end());
  return code;
}

Result<Image> flatten(std::string_view elf, uint64_t load_address, std::string_view prepare) {
  return with_elf<Image>(elf,
                         [&](const auto& file) { return flatten_as(file, load_address, prepare); });
}

}  // namespace hone
