// SPDX-License-Identifier: Apache-2.0
#include "device/device_url.h"

#include <optional>

#include <unistd.h>

#include "base/text.h"
#include "device/pipe_transport.h"

namespace hone {
namespace {

Result<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = '\0';
  for (const char c : text) {
    if (quote != '\0' && c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
      if (!word) word.emplace();
    } else if (quote == '\0' && (c == ' ' || c == '\t')) {
      if (word) words.push_back(*std::exchange(word, std::nullopt));
    } else {
      if (!word) word.emplace();
      *word += c;
    }
  }
  if (quote != '\0') return fail("device '{}': the quote {} is not closed", text, quote);
  if (word) words.push_back(*word);
  return words;
}

bool is_emulator(const std::string& program) {
  const size_t slash = program.rfind('/');
  const std::string name = slash == std::string::npos ? program : program.substr(slash + 1);
  return name.starts_with("qemu-");
}

void replace_all(std::string& text, std::string_view what, const std::string& with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

}  // namespace

Result<DeviceUrl> parse_device_url(std::string_view text) {
  constexpr std::string_view kExec = "exec:";
  if (text == "local") return DeviceUrl{"local", {}, false};
  if (text.starts_with(kExec)) {
    DeviceUrl url{std::string(text), TRY(split_words(text.substr(kExec.size()))), false};
    if (url.command.empty())
      return fail(
          "device '{}': no command after exec:, expected e.g. exec:qemu-aarch64-static "
          "{{agent}}",
          text);
    url.emulated = is_emulator(url.command.front());
    return url;
  }
  return fail(
      "unknown device '{}', expected 'local' or 'exec:COMMAND' ({{agent}} in the command "
      "stands for the agent's path)",
      text);
}

std::string_view host_agent() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#elif defined(__arm__)
  return "armv7";
#elif defined(__riscv)
  return "riscv64";
#else
#error "no agent for this machine"
#endif
}

Result<std::unique_ptr<Transport>> connect(const DeviceUrl& url, const std::string& agents_folder,
                                           std::string_view agent) {
  if (url.local() && agent != host_agent())
    return fail(
        "the device 'local' is {}, the target needs {}; an emulator is a device too: "
        "exec:qemu-{}-static {{agent}}",
        host_agent(), agent, agent == "armv7" ? "arm" : agent);
  const std::string path = fmt::format("{}/hone-agent-{}", agents_folder, agent);
  if (access(path.c_str(), X_OK) != 0) return fail("there is no agent at {}", path);
  if (url.local()) return start_pipe({path});
  std::vector<std::string> command = url.command;
  for (std::string& word : command) replace_all(word, "{agent}", path);
  return start_pipe(command);
}

}  // namespace hone
