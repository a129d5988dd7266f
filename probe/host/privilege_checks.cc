#include "probe/host/privilege_checks.h"

#include <fmt/format.h>

namespace chokepoint::probe {
namespace {

using host::Capability;
using host::Process;

constexpr std::int64_t kManyFiles = 4096;

bool may(const Process& process, Capability capability) {
  return has(process, capability).value_or(false);
}

std::string grant(const Process& process, const char* capabilities) {
  return fmt::format("sudo setcap {}+ep {}", capabilities,
                     process.program.value_or("$(command -v chokepoint)"));
}

Check privilege(const char* id, bool granted, const char* wanted, const char* why,
                std::string next_step) {
  return {.id = id,
          .status = granted ? Status::Pass : Status::Info,
          .subject = "chokepoint",
          .found = granted ? "yes" : "no",
          .wanted = wanted,
          .why = why,
          .next_step = std::move(next_step)};
}

bool may_trace(const Process& process) {
  return may(process, Capability::SysAdmin) ||
         (may(process, Capability::Bpf) && may(process, Capability::Perfmon));
}

std::string trace_found(const Process& process, const host::Sysctls& sysctls) {
  return fmt::format("{} (unprivileged_bpf_disabled {}, perf_event_paranoid {})",
                     may_trace(process) ? "yes" : "no",
                     sysctls.text("kernel.unprivileged_bpf_disabled").value_or("?"),
                     sysctls.text("kernel.perf_event_paranoid").value_or("?"));
}

void check_open_files(const Process& process, Checks& checks) {
  if (!process.open_files) {
    return;
  }
  const bool few = process.open_files->soft < kManyFiles;
  checks.push_back({.id = "limit.open-files",
                    .status = few ? Status::Info : Status::Pass,
                    .subject = "host",
                    .found = process.open_files->soft == host::kUnlimited
                                 ? "unlimited"
                                 : std::to_string(process.open_files->soft),
                    .wanted = fmt::format("{} or more", kManyFiles),
                    .why = "every peer and every channel takes sockets: a job of many ranks runs "
                           "out at 1024",
                    .next_step = "ulimit -n 65536"});
}

}  // namespace

void check_privileges(const Process& process, const host::Sysctls& sysctls, Checks& checks) {
  if (!process.capabilities) {
    checks.push_back({.id = "privilege.capture",
                      .status = Status::Unknown,
                      .subject = "chokepoint",
                      .why = "this process's capabilities could not be read",
                      .next_step = "grep Cap /proc/self/status"});
    return;
  }
  checks.push_back(privilege("privilege.capture", may(process, Capability::NetRaw), "cap_net_raw",
                             "without it 'capture' and 'run' see no packets, only sockets",
                             grant(process, "cap_net_raw,cap_net_admin")));
  checks.push_back(
      privilege("privilege.sockets",
                may(process, Capability::NetAdmin) && may(process, Capability::SysPtrace),
                "cap_net_admin, cap_sys_ptrace",
                "without them only this user's own processes are matched with their sockets",
                grant(process, "cap_net_raw,cap_net_admin,cap_sys_ptrace")));
  Check trace = privilege("privilege.bpf", may_trace(process), "cap_bpf, cap_perfmon",
                          "nothing needs it; where granted, kernel events can be counted",
                          grant(process, "cap_net_raw,cap_net_admin,cap_bpf,cap_perfmon"));
  trace.found = trace_found(process, sysctls);
  checks.push_back(std::move(trace));
  check_open_files(process, checks);
}

}  // namespace chokepoint::probe
