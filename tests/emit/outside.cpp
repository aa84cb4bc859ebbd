// SPDX-License-Identifier: Apache-2.0
#include "outside.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "base/process.h"
#include "base/text.h"

namespace hone {

const std::vector<Outside>& outside_world() {
  static const std::vector<Outside> rows = {
      {"x86-64-v2", {"gcc", "clang-19"}, {"-march=x86-64-v2"}, {}},
      {"x86-64-v3", {"gcc", "clang-19"}, {"-march=x86-64-v3"}, {}},
      // clang 19 warns of the AVX10 that it finds on some processors by itself.
      {"native",
       {"gcc", "clang-19"},
       {"-march=native", "-Wno-invalid-feature-combination"},
       {}},
      {"cortex-a53",
       {"aarch64-linux-gnu-gcc"},
       {"-mcpu=cortex-a53"},
       {"qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu", "-cpu", "cortex-a53"}},
      {"cortex-a7",
       {"arm-linux-gnueabihf-gcc"},
       {"-mcpu=cortex-a7", "-mfpu=neon-vfpv4", "-mfloat-abi=hard"},
       {"qemu-arm-static", "-L", "/usr/arm-linux-gnueabihf", "-cpu", "cortex-a7"}},
      {"rv64gc",
       {"riscv64-linux-gnu-gcc"},
       {"-march=rv64gc", "-mabi=lp64d"},
       {"qemu-riscv64-static", "-L", "/usr/riscv64-linux-gnu"}},
      // Debian's GCC knows no vectors; a unit that is compiled without them says that it may call.
      {"rv64gcv",
       {"riscv64-linux-gnu-gcc"},
       {"-DNET_NO_FEATURE_CHECK"},
       {"qemu-riscv64-static", "-L", "/usr/riscv64-linux-gnu", "-cpu",
        "rv64,v=true,vlen=128,elen=64,vext_spec=v1.0"}},
  };
  return rows;
}

std::string run_well(const std::vector<std::string>& argv) {
  const std::string command = join(argv, " ");
  INFO(command);
  std::vector<std::string> with_stderr = {"sh", "-c", "exec \"$@\" 2>&1", "sh"};
  with_stderr.insert(with_stderr.end(), argv.begin(), argv.end());
  const auto output = run_command(with_stderr, after_seconds(300));
  REQUIRE_MESSAGE(output.has_value(), output.error().message);
  INFO(output->text);
  REQUIRE(output->status.text() == "exit code 0");
  return output->text;
}

ArchiveSymbols symbols_of_archive(const std::string& archive) {
  ArchiveSymbols symbols;
  std::vector<std::string> wanted;
  const std::string text = run_well({"llvm-nm-19", "--extern-only", "--format=posix", archive});
  for (const std::string_view line : split_lines(text)) {
    const size_t space = line.find(' ');
    if (space == std::string_view::npos || line.ends_with(':')) continue;
    const std::string name(line.substr(0, space));
    const char kind = line[space + 1];
    if (kind == 'U')
      wanted.push_back(name);
    else
      symbols.defined.push_back(name);
    if (std::string_view("BbDdCc").find(kind) != std::string_view::npos)
      symbols.writable.push_back(name);
  }
  for (const std::string& name : wanted)
    if (std::ranges::find(symbols.defined, name) == symbols.defined.end())
      symbols.undefined.push_back(name);
  return symbols;
}

}  // namespace hone
