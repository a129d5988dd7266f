#include "base/host/process.h"

#include <string_view>

#include "base/host/fact.h"
#include "base/host/kernel_text.h"
#include "base/sys/library.h"
#include "base/sys/number.h"
#include "base/sys/sandbox.h"

namespace chokepoint::host {
namespace {

constexpr std::string_view kLimits = "/proc/self/limits";
constexpr std::string_view kOwnStatus = "/proc/self/status";
constexpr std::string_view kEnvironment = "/proc/self/environ";

std::optional<std::int64_t> limit_value(const std::string& word) {
  return word == "unlimited" ? kUnlimited : number_of(word);
}

// "Max locked memory         8388608              8388608              bytes"
std::optional<Limit> limit_of(const std::string& limits, std::string_view name) {
  for (const std::string& line : lines_of(limits)) {
    if (!line.starts_with(name)) {
      continue;
    }
    const std::vector<std::string> words = words_of(line.substr(name.size()));
    if (words.size() < 2) {
      return std::nullopt;
    }
    const std::optional<std::int64_t> soft = limit_value(words[0]);
    const std::optional<std::int64_t> hard = limit_value(words[1]);
    return soft && hard ? std::optional(Limit{*soft, *hard}) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> capabilities_of(const std::string& status) {
  for (const std::string& line : lines_of(status)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() != 2 || words[0] != "CapEff:") {
      continue;
    }
    return sys::parse_number<std::uint64_t>(words[1], 16);
  }
  return std::nullopt;
}

bool steers_a_library(std::string_view name) {
  return name.starts_with("NCCL_") || name.starts_with("GLOO_") || name == "TP_SOCKET_IFNAME" ||
         name == "MASTER_ADDR" || name == "MASTER_PORT";
}

void append_limit(FactList& list, const std::string& key, const std::optional<Limit>& limit) {
  if (limit) {
    const auto text = [](std::int64_t value) {
      return value == kUnlimited ? std::string("unlimited") : std::to_string(value);
    };
    list.add_text(key + "_soft", text(limit->soft), kLimits);
    list.add_text(key + "_hard", text(limit->hard), kLimits);
  }
}

}  // namespace

Process read_process(const sys::Root& root) {
  Process process;
  if (const Result<std::string> limits = root.read(kLimits)) {
    process.locked_memory_bytes = limit_of(*limits, "Max locked memory");
    process.open_files = limit_of(*limits, "Max open files");
    process.core_bytes = limit_of(*limits, "Max core file size");
  }
  if (const Result<std::string> status = root.read(kOwnStatus)) {
    process.capabilities = capabilities_of(*status);
  }
  if (const Result<std::string> environ = root.read(kEnvironment)) {
    process.environment = steering_variables(*environ);
  }
  if (root.is_live()) {
    const auto program = sys::library_beside(sys::kCaptureProgram);
    process.is_capture_allowed = program && sys::gives_capabilities(*program);
    process.allow_capture = sys::command_to_allow_capture();
  }
  return process;
}

std::map<std::string, std::string> steering_variables(std::string_view environ) {
  std::map<std::string, std::string> variables;
  // A recorded copy may hold them a line each.
  for (const std::string& line : words_of(std::string(environ), std::string_view("\0\n", 2))) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos && steers_a_library(line.substr(0, equals))) {
      variables[line.substr(0, equals)] = line.substr(equals + 1);
    }
  }
  return variables;
}

void append_facts(const Process& process, Facts& facts) {
  FactList list(facts, "process");
  append_limit(list, "locked_memory_bytes", process.locked_memory_bytes);
  append_limit(list, "open_files", process.open_files);
  append_limit(list, "core_bytes", process.core_bytes);
  if (process.capabilities) {
    list.add_text("capabilities", fmt::format("{:016x}", *process.capabilities), kOwnStatus);
  }
  if (process.environment) {
    FactList variables(facts, "environment");
    for (const auto& [name, value] : *process.environment) {
      variables.add_text(name, value, kEnvironment);
    }
  }
}

std::optional<bool> has(const Process& process, Capability capability) {
  if (!process.capabilities) {
    return std::nullopt;
  }
  return (*process.capabilities >> static_cast<unsigned>(capability) & 1) != 0;
}

std::optional<std::string> variable(const Process& process, const std::string& name) {
  if (!process.environment || !process.environment->contains(name)) {
    return std::nullopt;
  }
  return process.environment->at(name);
}

}  // namespace chokepoint::host
