#include "base/host/kernel.h"

#include <sys/timex.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "base/host/fact.h"
#include "base/host/kernel_text.h"

namespace chokepoint::host {
namespace {

constexpr std::string_view kReleasePath = "/proc/sys/kernel/osrelease";
constexpr std::string_view kDistributionPath = "/etc/os-release";
constexpr std::string_view kBootIdPath = "/proc/sys/kernel/random/boot_id";

std::optional<std::string> pretty_name(const std::string& os_release) {
  constexpr std::string_view kKey = "PRETTY_NAME=";
  const std::size_t key = os_release.find(kKey);
  if (key == std::string::npos) {
    return std::nullopt;
  }
  const std::size_t start = key + kKey.size();
  std::string name = os_release.substr(start, os_release.find('\n', start) - start);
  if (name.size() >= 2 && name.front() == '"' && name.back() == '"') {
    name = name.substr(1, name.size() - 2);
  }
  return name;
}

}  // namespace

Kernel read_kernel(const sys::Root& root) {
  Kernel kernel;
  kernel.release = root.text(kReleasePath);
  kernel.boot_id = root.text(kBootIdPath);
  if (const std::optional<std::string> os_release = root.text(kDistributionPath)) {
    kernel.distribution = pretty_name(*os_release);
  }
  return kernel;
}

void append_facts(const Kernel& kernel, Facts& facts) {
  const auto add = [&](const char* key, const std::optional<std::string>& value,
                       std::string_view source) {
    if (value) {
      facts.push_back({"kernel", "", key, *value, std::string(source)});
    }
  };
  add("release", kernel.release, kReleasePath);
  add("distribution", kernel.distribution, kDistributionPath);
  add("boot_id", kernel.boot_id, kBootIdPath);
}

std::optional<int> release_number(const Kernel& kernel) {
  int major = 0;
  int minor = 0;
  if (!kernel.release || std::sscanf(kernel.release->c_str(), "%d.%d", &major, &minor) != 2) {
    return std::nullopt;
  }
  return major * 1000 + minor;
}

namespace {

constexpr std::array kSysctls = {
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
  for (const std::string name : kSysctls) {
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

namespace {

constexpr std::string_view kSource =
    "/sys/devices/system/clocksource/clocksource0/current_clocksource";
constexpr std::string_view kSources =
    "/sys/devices/system/clocksource/clocksource0/available_clocksource";
constexpr std::string_view kKernel = "adjtimex";
constexpr std::string_view kTimesyncd = "/run/systemd/timesync/synchronized";

void ask_kernel(Timekeeping& time) {
  timex state{};
  if (adjtimex(&state) < 0) {
    return;
  }
  time.synchronised = (state.status & STA_UNSYNC) == 0;
  time.largest_error_us = state.maxerror;
  // adjtimex(2): a tick is 10,000 us long where nothing is corrected, and freq counts 2^-16 ppm.
  constexpr double kTick = 10'000;
  constexpr double kPpmOfTick = 100;
  constexpr double kFrequencyUnits = 65'536;
  time.correction_ppm = (static_cast<double>(state.tick) - kTick) * kPpmOfTick +
                        static_cast<double>(state.freq) / kFrequencyUnits;
  time.correction_source = kKernel;
}

// Where chronyd and ntpd keep what they found the oscillator's error to be, in ppm.
constexpr std::array<std::string_view, 4> kDriftFiles = {
    "/var/lib/chrony/chrony.drift", "/var/lib/chrony/drift", "/var/lib/ntpsec/ntp.drift",
    "/var/lib/ntp/ntp.drift"};

// For a copy of a host, and for a kernel whose clock no process corrects any more.
void read_drift_file(const sys::Root& root, Timekeeping& time) {
  for (const std::string_view path : kDriftFiles) {
    const std::vector<std::string> words = words_of(root.text(path).value_or(""));
    const auto ppm = words.empty() ? std::nullopt : sys::parse_number<double>(words.front());
    if (ppm && std::isfinite(*ppm)) {
      time.correction_ppm = ppm;
      time.correction_source = path;
      return;
    }
  }
}

bool is_time_service(const std::string& command) {
  // The kernel cuts a command's name at 15 characters.
  constexpr std::array<std::string_view, 8> kTimeServices = {
      "chronyd", "ntpd", "openntpd", "ntpsec", "systemd-timesyn", "ptp4l", "phc2sys", "sfptpd"};
  return std::ranges::find(kTimeServices, command) != kTimeServices.end();
}

std::vector<std::string> find_time_services(const sys::Root& root) {
  std::vector<std::string> services;
  for (const std::string& process : root.list("/proc")) {
    if (!number_of(process)) {
      continue;
    }
    const std::optional<std::string> command = root.text("/proc/" + process + "/comm");
    if (command && is_time_service(*command) &&
        std::ranges::find(services, *command) == services.end()) {
      services.push_back(*command);
    }
  }
  return services;
}

}  // namespace

Timekeeping read_timekeeping(const sys::Root& root) {
  Timekeeping time;
  if (root.is_live()) {
    ask_kernel(time);
  } else if (root.exists(kTimesyncd)) {
    time.synchronised = true;
  }
  if (!time.synchronised.value_or(false) || !time.correction_ppm) {
    read_drift_file(root, time);
  }
  time.services = find_time_services(root);
  time.source = root.text(kSource);
  time.sources = words_of(root.text(kSources).value_or(""));
  return time;
}

void append_facts(const Timekeeping& time, Facts& facts) {
  FactList list(facts, "time");
  list.add("synchronised", time.synchronised, kKernel);
  list.add("largest_error_us", time.largest_error_us, kKernel);
  list.add("correction_ppm", time.correction_ppm, time.correction_source);
  for (const std::string& service : time.services) {
    list.add_text("keeper", service, "/proc/*/comm");
  }
  list.add("source", time.source, kSource);
}

}  // namespace chokepoint::host
