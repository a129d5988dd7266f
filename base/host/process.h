// This process's resource limits, capabilities and environment. A job
// started from the same shell gets the same. Reads under the given root only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/host/fact.h"
#include "base/sys/root.h"

namespace chokepoint::host {

struct Limit {
  std::int64_t soft = 0;  // kUnlimited for no limit
  std::int64_t hard = 0;
};

inline constexpr std::int64_t kUnlimited = INT64_MAX;

enum class Capability {
  NetAdmin = 12,
  NetRaw = 13,
  IpcLock = 14,
  SysPtrace = 19,
  SysAdmin = 21,
  Perfmon = 38,
  Bpf = 39
};

struct Process {
  std::optional<Limit> locked_memory_bytes;
  std::optional<Limit> open_files;
  std::optional<Limit> core_bytes;
  std::optional<std::uint64_t> capabilities;  // the effective ones, a bit each
  // Whether the program that may be given the right to capture has it (see capture/main.cc), and
  // how it gets it, as a command to type.
  bool is_capture_allowed = false;
  std::string allow_capture = "sudo setcap cap_net_raw+ep chokepoint-capture";
  // As steering_variables() has them. Nothing where it could not be read.
  std::optional<std::map<std::string, std::string>> environment;
};

// Of an environment as /proc/PID/environ has it, the variables by which libraries choose where to
// meet and what to bind: NCCL_*, GLOO_*, TP_SOCKET_IFNAME, MASTER_ADDR, MASTER_PORT.
std::map<std::string, std::string> steering_variables(std::string_view environ);

Process read_process(const sys::Root& root);
void append_facts(const Process& process, Facts& facts);

// Nothing where the capabilities are not known.
std::optional<bool> has(const Process& process, Capability capability);
std::optional<std::string> variable(const Process& process, const std::string& name);

}  // namespace chokepoint::host
