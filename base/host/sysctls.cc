#include "base/host/sysctls.h"

#include <algorithm>
#include <array>

#include "base/host/fact_list.h"
#include "base/host/words.h"

namespace chokepoint::host {
namespace {

constexpr std::array kNames = {
    "net.core.bpf_jit_enable",
    "net.core.busy_poll",
    "net.core.default_qdisc",
    "net.core.netdev_budget",
    "net.core.netdev_max_backlog",
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.rps_sock_flow_entries",
    "net.core.somaxconn",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.conf.all.rp_filter",
    "net.ipv4.ip_forward",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_adv_win_scale",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
    "net.ipv6.bindv6only",
    "net.ipv6.conf.all.disable_ipv6",
    "net.ipv6.conf.all.forwarding",
    "net.ipv6.conf.default.disable_ipv6",
    "kernel.numa_balancing",
    "kernel.perf_event_paranoid",
    "kernel.unprivileged_bpf_disabled",
    "kernel.yama.ptrace_scope",
    "vm.max_map_count",
    "vm.overcommit_memory",
    "vm.swappiness",
    "vm.zone_reclaim_mode",
};

std::string path_of(std::string name) {
  std::ranges::replace(name, '.', '/');
  return "/proc/sys/" + name;
}

}  // namespace

std::optional<std::string> Sysctls::text(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::int64_t> Sysctls::number(const std::string& name) const {
  const std::optional<std::string> value = text(name);
  return value ? number_of(*value) : std::nullopt;
}

std::optional<std::int64_t> Sysctls::most(const std::string& name) const {
  const std::vector<std::string> words = words_of(text(name).value_or(""));
  return words.size() == 3 ? number_of(words[2]) : std::nullopt;
}

Sysctls read_sysctls(const sys::Root& root) {
  Sysctls::Values values;
  for (const std::string name : kNames) {
    if (std::optional<std::string> value = root.text(path_of(name))) {
      std::ranges::replace(*value, '\t', ' ');
      values[name] = *value;
    }
  }
  return Sysctls(std::move(values));
}

void append_facts(const Sysctls& sysctls, Facts& facts) {
  FactList list(facts, "sysctl");
  for (const auto& [name, value] : sysctls.all()) {
    list.add_text(name, value, path_of(name));
  }
}

}  // namespace chokepoint::host
