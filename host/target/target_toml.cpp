// SPDX-License-Identifier: Apache-2.0
//
// Core files. One table of fields says section, key, whether it must be there, and where its value goes;
// what is not in the table is an error, so that a slip of a name never passes as a default.
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "base/text.h"
#include "target/detect.h"
#include "target/target.h"

namespace hone {
namespace {

struct Field {
  const char* section;  // empty: top level
  const char* key;
  bool required;
  const char* wanted;  // type, for messages
  bool (*set)(const toml::node& node, Target& target);
};

template <auto Member>
bool set_string(const toml::node& node, Target& target) {
  const auto value = node.value_exact<std::string>();
  if (value) target.*Member = *value;
  return value.has_value();
}

template <auto Member>
bool set_integer(const toml::node& node, Target& target) {
  const auto value = node.value_exact<int64_t>();
  if (!value || *value < 0 || *value > (int64_t{1} << 40)) return false;
  target.*Member = static_cast<std::remove_reference_t<decltype(target.*Member)>>(*value);
  return true;
}

template <auto Member>
bool set_number(const toml::node& node, Target& target) {
  const auto value = node.value<double>();
  if (!value || !(*value > 0)) return false;
  target.*Member = *value;
  return true;
}

template <auto Member>
bool set_bool(const toml::node& node, Target& target) {
  const auto value = node.value_exact<bool>();
  if (value) target.*Member = *value;
  return value.has_value();
}

bool set_isa(const toml::node& node, Target& target) {
  const auto value = node.value_exact<std::string>();
  for (int i = 0; value && i <= static_cast<int>(Isa::riscv64); ++i) {
    if (*value != to_string(static_cast<Isa>(i))) continue;
    target.isa = static_cast<Isa>(i);
    return true;
  }
  return false;
}

bool set_features(const toml::node& node, Target& target) {
  const toml::array* array = node.as_array();
  if (array == nullptr) return false;
  for (const toml::node& item : *array) {
    const auto value = item.value_exact<std::string>();
    if (!value || value->size() < 2 || (value->front() != '+' && value->front() != '-')) return false;
    target.features.push_back(*value);
  }
  return true;
}

bool set_vector_dtypes(const toml::node& node, Target& target) {
  const toml::array* array = node.as_array();
  if (array == nullptr) return false;
  for (const toml::node& item : *array) {
    const auto value = item.value_exact<std::string>();
    const auto dtype = value ? parse_dtype(*value) : std::nullopt;
    if (!dtype) return false;
    target.vector_dtypes.push_back(*dtype);
  }
  return true;
}

constexpr const char* kIsaWanted = "one of x86_64, aarch64, armv7a, armv7em, riscv64";

const std::array kFields = {
    Field{"", "isa", true, kIsaWanted, set_isa},
    Field{"", "triple", true, "a string", set_string<&Target::triple>},
    Field{"", "cpu", true, "a string", set_string<&Target::cpu>},
    Field{"", "features", true, "an array of strings that start with + or -", set_features},
    Field{"", "float_abi", false, "a string", set_string<&Target::float_abi>},
    Field{"", "c_flags", true, "a string", set_string<&Target::c_flags>},
    Field{"registers", "vector_bits", true, "bits, 0 for none", set_integer<&Target::vector_bits>},
    Field{"registers", "vector", true, "a count", set_integer<&Target::vector_registers>},
    Field{"registers", "scalar", true, "a count", set_integer<&Target::scalar_registers>},
    Field{"registers", "float", false, "a count", set_integer<&Target::float_registers>},
    Field{"registers", "vector_dtypes", true, "an array of dtypes", set_vector_dtypes},
    Field{"registers", "fma", false, "true or false", set_bool<&Target::fma>},
    Field{"registers", "masks", false, "true or false", set_bool<&Target::masks>},
    Field{"registers", "by_element", false, "true or false", set_bool<&Target::by_element>},
    Field{"registers", "f16_conversion", false, "true or false", set_bool<&Target::f16_conversion>},
    Field{"registers", "f16_arithmetic", false, "true or false", set_bool<&Target::f16_arithmetic>},
    Field{"registers", "f64", false, "true or false", set_bool<&Target::f64>},
    Field{"throughput", "fma_per_cycle", true, "a positive number",
          set_number<&Target::fma_per_cycle>},
    Field{"throughput", "fma_latency", true, "cycles", set_integer<&Target::fma_latency>},
    Field{"throughput", "loads_per_cycle", true, "a positive number",
          set_number<&Target::loads_per_cycle>},
    Field{"memory", "l1d_bytes", true, "bytes, 0 for none", set_integer<&Target::l1d_bytes>},
    Field{"memory", "l1i_bytes", true, "bytes, 0 for none", set_integer<&Target::l1i_bytes>},
    Field{"memory", "l2_bytes", true, "bytes, 0 for none", set_integer<&Target::l2_bytes>},
    Field{"memory", "l3_bytes", true, "bytes, 0 for none", set_integer<&Target::l3_bytes>},
    Field{"memory", "line_bytes", true, "bytes", set_integer<&Target::line_bytes>},
    Field{"limits", "stack_bytes", true, "bytes", set_integer<&Target::stack_bytes>},
    Field{"limits", "code_bytes", true, "bytes", set_integer<&Target::code_bytes>},
    Field{"limits", "workspace_bytes", true, "bytes", set_integer<&Target::workspace_bytes>},
    Field{"run", "cores", true, "a count", set_integer<&Target::cores>},
    Field{"run", "agent", true, "an agent's architecture, or an empty string",
          set_string<&Target::agent>},
    Field{"run", "rules", true, "the name of a rule set", set_string<&Target::rules>},
};

std::string spelled(const Field& field) {
  return *field.section == '\0' ? field.key : fmt::format("{}.{}", field.section, field.key);
}

std::unexpected<Error> at(const std::string& path, const toml::source_region& where,
                          const std::string& message) {
  return fail("{}:{}:{}: {}", path, where.begin.line, where.begin.column, message);
}

Result<void> refuse_unknown(const std::string& path, const toml::table& table,
                            const std::string& section) {
  std::vector<std::string> keys;
  for (const Field& field : kFields) {
    if (section == field.section) keys.emplace_back(field.key);
    if (section.empty() && *field.section != '\0') keys.emplace_back(field.section);
  }
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (std::find(keys.begin(), keys.end(), name) == keys.end()) {
      const auto near = closest(name, keys);
      return at(path, key.source(), fmt::format("unknown field '{}'{}", name,
                                                near ? fmt::format("; is it {}?", *near) : ""));
    }
    if (section.empty() && node.is_table())
      TRYV(refuse_unknown(path, *node.as_table(), name));
  }
  return {};
}

Result<void> check_facts(const std::string& path, const Target& target) {
  if (target.vector_bits % 64 != 0 || target.vector_bits > 4096)
    return fail("{}: registers.vector_bits is {}, expected a multiple of 64 up to 4096", path,
                target.vector_bits);
  if ((target.vector_bits == 0) != target.vector_dtypes.empty())
    return fail("{}: registers.vector_bits is {} with {} vector_dtypes", path, target.vector_bits,
                target.vector_dtypes.size());
  if (target.vector_bits > 0 && target.vector_registers < 4)
    return fail("{}: registers.vector is {}, expected at least 4", path, target.vector_registers);
  if (target.scalar_registers < 4)
    return fail("{}: registers.scalar is {}, expected at least 4", path, target.scalar_registers);
  if (target.cores < 1) return fail("{}: run.cores is {}, expected at least 1", path, target.cores);
  if (target.line_bytes < 1 || target.code_bytes < 1024 || target.stack_bytes < 256)
    return fail("{}: a limit is too small to run anything", path);
  return {};
}

}  // namespace

Result<Target> load_target(const std::string& path) {
  const std::string text = TRY(read_file(path));
  const toml::parse_result parsed = toml::parse(text, path);
  if (!parsed)
    return at(path, parsed.error().source(), std::string(parsed.error().description()));
  const toml::table& table = parsed.table();
  TRYV(refuse_unknown(path, table, ""));
  Target target;
  target.name = std::filesystem::path(path).stem().string();
  for (const Field& field : kFields) {
    const toml::table* section =
        *field.section == '\0' ? &table : table[field.section].as_table();
    const toml::node* node = section == nullptr ? nullptr : section->get(field.key);
    if (node == nullptr) {
      if (field.required) return fail("{}: field '{}' is missing", path, spelled(field));
      continue;
    }
    if (!field.set(*node, target))
      return at(path, node->source(),
                fmt::format("field '{}': expected {}", spelled(field), field.wanted));
  }
  target.pointer_bits = target.isa == Isa::armv7a || target.isa == Isa::armv7em ? 32 : 64;
  TRYV(check_facts(path, target));
  return target;
}

std::vector<std::string> target_names(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/cores", ignored))
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

Result<Target> find_target(const std::string& folder, const std::string& name) {
  if (name == "native") return detect_native(folder);
  const std::vector<std::string> names = target_names(folder);
  if (std::find(names.begin(), names.end(), name) != names.end())
    return load_target(fmt::format("{}/cores/{}.toml", folder, name));
  if (names.empty()) return fail("there are no targets in {}/cores", folder);
  const auto near = closest(name, names);
  return fail("there is no target '{}'{}; there are: native, {}", name,
              near ? fmt::format(" (is it {}?)", *near) : "", join(names, ", "));
}

}  // namespace hone
