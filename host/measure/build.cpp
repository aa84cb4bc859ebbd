// SPDX-License-Identifier: Apache-2.0
#include "measure/build.h"

#include <chrono>

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/process.h"
#include "ir/text.h"
#include "lower/lower.h"

namespace hone {
namespace {

using Json = nlohmann::json;

constexpr const char* kEntry = "hone_candidate";
constexpr const char* kPrepare = "hone_candidate_prepare";

Result<void> check_limits(const Built& built, const Target& target) {
  const auto limit = [](const char* what, int64_t needs, int64_t has) -> Result<void> {
    if (needs <= has) return {};
    return fail("needs {} bytes of {}, the target has {}", needs, what, has);
  };
  TRYV(limit("code", built.text_bytes + built.rodata_bytes, target.code_bytes));
  TRYV(limit("stack", built.stack_bytes, target.stack_bytes));
  return limit("workspace", built.workspace_bytes + built.workspace_bytes_per_worker * target.cores,
               target.workspace_bytes);
}

uint64_t hash_of(const ObjectCode& object) {
  return hash_bytes({reinterpret_cast<const char*>(object.bytes.data()), object.bytes.size()});
}

std::string to_bytes(const Json& json) {
  const std::vector<uint8_t> bytes = Json::to_cbor(json);
  return std::string(bytes.begin(), bytes.end());
}

template <typename T, typename Body>
Result<T> from_bytes(const std::string& bytes, Body body) {
  try {
    return body(Json::from_cbor(bytes));
  } catch (const nlohmann::json::exception& error) {
    return fail("not a message of a build worker: {}", error.what());
  }
}

}  // namespace

BuildResult build(const BuildRequest& request, const Target& target) {
  const auto start = Clock::now();
  const auto failure = [](FailureKind kind, const Error& error) {
    return BuildResult(Failure{kind, error.message});
  };
  const auto program = parse_program(request.program, "program");
  if (!program) return failure(FailureKind::build, program.error());
  const auto kernel = lower(*program, target, {});
  if (!kernel) return failure(FailureKind::constraint, kernel.error());
  auto generator = CodeGenerator::create(target);
  if (!generator) return failure(FailureKind::build, generator.error());
  const auto object = generator->compile(*kernel, {.entry = kEntry, .optimize = request.optimize});
  if (!object) return failure(FailureKind::build, object.error());
  std::vector<LinkPart> parts = {{&*object, kEntry}};
  std::optional<ObjectCode> prepare;
  if (kernel->constants_bytes > 0) {
    const auto constants = lower_constants(*program, target, {});
    if (!constants) return failure(FailureKind::constraint, constants.error());
    // It runs once, so it is to compile fast.
    auto compiled = generator->compile(*constants, {.entry = kPrepare, .optimize = false});
    if (!compiled) return failure(FailureKind::build, compiled.error());
    parts.push_back({&prepare.emplace(std::move(*compiled)), kPrepare});
  }
  auto image = link_image(parts, target, request.load_address);
  if (!image) return failure(FailureKind::build, image.error());
  Built built;
  built.image = std::move(*image);
  built.text_bytes = object->text_bytes;
  built.rodata_bytes = object->rodata_bytes;
  built.stack_bytes = object->stack_bytes;
  built.constants_bytes = kernel->constants_bytes;
  built.workspace_bytes = kernel->workspace_bytes;
  built.workspace_bytes_per_worker = kernel->workspace_bytes_per_worker;
  built.object_hash = hash_of(*object);
  if (prepare) built.object_hash = hash_combine(built.object_hash, hash_of(*prepare));
  built.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (const auto fits = check_limits(built, target); !fits)
    return failure(FailureKind::constraint, fits.error());
  return built;
}

std::string encode(const BuildRequest& request) {
  return to_bytes(Json{{"program", request.program},
                       {"load_address", request.load_address},
                       {"optimize", request.optimize}});
}

Result<BuildRequest> decode_request(const std::string& bytes) {
  return from_bytes<BuildRequest>(bytes, [](const Json& json) -> Result<BuildRequest> {
    return BuildRequest{json.at("program"), json.at("load_address"), json.at("optimize")};
  });
}

std::string encode(const BuildResult& result) {
  if (const auto* failure = std::get_if<Failure>(&result))
    return to_bytes(Json{{"failure", to_string(failure->kind)}, {"reason", failure->reason}});
  const Built& built = std::get<Built>(result);
  return to_bytes(Json{{"image", Json::binary(built.image.bytes)},
                       {"load_address", built.image.load_address},
                       {"bss_bytes", built.image.bss_bytes},
                       {"entry_offset", built.image.entry_offset},
                       {"prepare_offset", built.image.prepare_offset.value_or(-1)},
                       {"constants_bytes", built.constants_bytes},
                       {"text_bytes", built.text_bytes},
                       {"rodata_bytes", built.rodata_bytes},
                       {"stack_bytes", built.stack_bytes},
                       {"workspace_bytes", built.workspace_bytes},
                       {"workspace_bytes_per_worker", built.workspace_bytes_per_worker},
                       {"object_hash", built.object_hash},
                       {"seconds", built.seconds}});
}

Result<BuildResult> decode_result(const std::string& bytes) {
  return from_bytes<BuildResult>(bytes, [](const Json& json) -> Result<BuildResult> {
    if (json.contains("failure")) {
      const auto kind = parse_failure_kind(json.at("failure").get<std::string>());
      if (!kind) return fail("unknown failure '{}'", json.at("failure").dump());
      return BuildResult(Failure{*kind, json.at("reason")});
    }
    Built built;
    const auto& image = json.at("image").get_binary();
    built.image.bytes.assign(image.begin(), image.end());
    built.image.load_address = json.at("load_address");
    built.image.bss_bytes = json.at("bss_bytes");
    built.image.entry_offset = json.at("entry_offset");
    if (const int64_t offset = json.at("prepare_offset"); offset >= 0)
      built.image.prepare_offset = offset;
    built.constants_bytes = json.at("constants_bytes");
    built.text_bytes = json.at("text_bytes");
    built.rodata_bytes = json.at("rodata_bytes");
    built.stack_bytes = json.at("stack_bytes");
    built.workspace_bytes = json.at("workspace_bytes");
    built.workspace_bytes_per_worker = json.at("workspace_bytes_per_worker");
    built.object_hash = json.at("object_hash");
    built.seconds = json.at("seconds");
    return BuildResult(std::move(built));
  });
}

}  // namespace hone
