// SPDX-License-Identifier: Apache-2.0
#include "runner.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include <unistd.h>

#include "base/process.h"
#include "base/text.h"

namespace hone::test {
namespace {

struct Header {
  uint64_t load_address = 0;
  uint64_t image_bytes = 0;
  uint64_t bss_bytes = 0;
  uint64_t entry_offset = 0;
  uint64_t workspace_bytes = 0;
  uint64_t threads = 0;
  uint64_t calls = 0;
  uint64_t buffer_count = 0;
  uint64_t buffer_bytes[128] = {};
};

// A folder for this process, gone at its end.
const std::string& scratch() {
  static const struct Folder {
    Folder() {
      char name[] = "/tmp/hone-codegen-XXXXXX";
      path = mkdtemp(name);
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string path;
  } folder;
  return folder.path;
}

std::string fresh(const std::string& suffix) {
  static int number = 0;
  return fmt::format("{}/{}{}", scratch(), number++, suffix);
}

Result<std::string> run_checked(const std::vector<std::string>& argv) {
  const CommandOutput output = TRY(run_command(argv, after_seconds(120)));
  if (output.status.signaled || output.status.code != 0)
    return fail("{}: {}: {}", join(argv, " "), output.status.text(), output.text);
  return output.text;
}

Result<std::string> build_runner(const Machine& machine, const std::string& compiler,
                                 const std::vector<std::string>& extra) {
  const std::string out = fresh(".run");
  std::vector<std::string> argv = {compiler, "-O1", "-static",
                                   "-o",     out,   HONE_SOURCE_DIR "/tests/unit/codegen/runner.c"};
  argv.insert(argv.end(), machine.compiler_flags.begin(), machine.compiler_flags.end());
  argv.insert(argv.end(), extra.begin(), extra.end());
  TRY(run_checked(argv));
  return out;
}

Result<std::vector<Bytes>> execute(const Machine& machine, const std::string& program,
                                   const Header& header, const Bytes& image, const Run& run) {
  const std::string data = fresh(".data");
  std::string content(reinterpret_cast<const char*>(&header), sizeof header);
  content.append(image.begin(), image.end());
  for (const Bytes& buffer : run.buffers) content.append(buffer.begin(), buffer.end());
  TRYV(write_file(data, content));
  std::vector<std::string> argv = machine.emulator;
  argv.push_back(program);
  argv.push_back(data);
  const std::string output = TRY(run_checked(argv));
  std::filesystem::remove(data);
  std::vector<Bytes> after;
  size_t offset = 0;
  for (const Bytes& buffer : run.buffers) {
    if (offset + buffer.size() > output.size()) return fail("the runner printed too little");
    after.emplace_back(output.begin() + static_cast<std::ptrdiff_t>(offset),
                       output.begin() + static_cast<std::ptrdiff_t>(offset + buffer.size()));
    offset += buffer.size();
  }
  return after;
}

Header header_of(const Run& run) {
  Header header;
  header.workspace_bytes = static_cast<uint64_t>(run.workspace_bytes);
  header.threads = static_cast<uint64_t>(run.threads);
  header.calls = static_cast<uint64_t>(run.calls);
  header.buffer_count = run.buffers.size();
  ENSURE(run.buffers.size() <= std::size(header.buffer_bytes));
  for (size_t i = 0; i < run.buffers.size(); ++i) header.buffer_bytes[i] = run.buffers[i].size();
  return header;
}

}  // namespace

std::vector<Machine> machines() {
  return {
      {"native", "gcc", {}, {}},
      {"x86-64-v2", "gcc", {}, {}},
      {"x86-64-v3", "gcc", {}, {}},
      {"cortex-a72", "aarch64-linux-gnu-gcc", {}, {"qemu-aarch64-static", "-cpu", "cortex-a72"}},
      {"cortex-a76", "aarch64-linux-gnu-gcc", {}, {"qemu-aarch64-static", "-cpu", "max"}},
      {"cortex-a7", "arm-linux-gnueabihf-gcc", {}, {"qemu-arm-static", "-cpu", "cortex-a7"}},
      {"rv64gc", "riscv64-linux-gnu-gcc", {}, {"qemu-riscv64-static", "-cpu", "rv64"}},
      {"rv64gcv",
       "riscv64-linux-gnu-gcc",
       {},
       {"qemu-riscv64-static", "-cpu", "rv64,v=true,vlen=128,vext_spec=v1.0"}},
  };
}

Target target_of(const Machine& machine) {
  auto target = find_target(HONE_SOURCE_DIR "/targets", machine.target);
  ENSURE(target.has_value(), "{}", target.error().message);
  return *target;
}

bool runs_here(const Machine& machine) {
  if (!machine.emulator.empty()) return true;
#if defined(__x86_64__)
  if (machine.target == "x86-64-v3")
    return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  return true;
#else
  return false;
#endif
}

uint64_t load_address_for(const Target& target) {
  return target.pointer_bits == 64 ? 0x200000000 : 0x60000000;
}

Result<std::vector<Bytes>> run_image(const Machine& machine, const Image& image, const Run& run) {
  static std::map<std::string, std::string> runners;
  std::string& runner = runners[machine.compiler];
  if (runner.empty()) runner = TRY(build_runner(machine, machine.compiler, {}));
  Header header = header_of(run);
  header.load_address = image.load_address;
  header.image_bytes = image.bytes.size();
  header.bss_bytes = static_cast<uint64_t>(image.bss_bytes);
  header.entry_offset = static_cast<uint64_t>(image.entry_offset);
  return execute(machine, runner, header, image.bytes, run);
}

Result<std::vector<Bytes>> run_c(const Machine& machine, const std::string& compiler,
                                 const std::vector<std::string>& flags, const std::string& source,
                                 const std::string& entry, const Run& run) {
  const std::string file = fresh(".c");
  const std::string object = fresh(".o");
  TRYV(write_file(file, source));
  std::vector<std::string> argv = {compiler, "-c", "-o", object, file};
  argv.insert(argv.end(), flags.begin(), flags.end());
  TRY(run_checked(argv));
  const std::string runner =
      TRY(build_runner(machine, machine.compiler, {object, "-DENTRY=" + entry}));
  auto after = execute(machine, runner, header_of(run), {}, run);
  for (const std::string& done : {file, object, runner}) std::filesystem::remove(done);
  return after;
}

}  // namespace hone::test
