#include "base/host/cpu.h"

#include <set>
#include <string_view>
#include <utility>

#include "base/host/fact_list.h"
#include "base/host/words.h"

namespace chokepoint::host {
namespace {

constexpr std::string_view kCpuInfo = "/proc/cpuinfo";
constexpr std::string_view kFolder = "/sys/devices/system/cpu";
constexpr std::string_view kProduct = "/sys/class/dmi/id/product_name";

std::string in_folder(std::string_view name) { return fmt::format("{}/{}", kFolder, name); }

// The value of the first "key : value" line.
std::optional<std::string> first_value(const std::string& cpuinfo, std::string_view key) {
  for (const std::string& line : lines_of(cpuinfo)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || words_of(line.substr(0, colon), "\t").empty() ||
        words_of(line.substr(0, colon), "\t").front() != key) {
      continue;
    }
    const std::size_t value = line.find_first_not_of(' ', colon + 1);
    return value == std::string::npos ? std::string() : line.substr(value);
  }
  return std::nullopt;
}

std::optional<std::int64_t> count_cores(const sys::Root& root, const std::vector<int>& online) {
  std::set<std::pair<std::int64_t, std::int64_t>> cores;
  for (const int cpu : online) {
    const std::string folder = in_folder(fmt::format("cpu{}/topology", cpu));
    const std::optional<std::int64_t> core = root.number(folder + "/core_id");
    if (!core) {
      return std::nullopt;
    }
    cores.emplace(root.number(folder + "/physical_package_id").value_or(0), *core);
  }
  return cores.empty() ? std::nullopt : std::optional(static_cast<std::int64_t>(cores.size()));
}

// x86 tells by a flag; elsewhere the firmware's product name does, where there is one.
std::optional<bool> is_virtualised(const sys::Root& root, const std::string& cpuinfo) {
  if (const std::optional<std::string> flags = first_value(cpuinfo, "flags")) {
    return (" " + *flags + " ").find(" hypervisor ") != std::string::npos;
  }
  const std::optional<std::string> product = root.text(kProduct);
  if (!product) {
    return std::nullopt;
  }
  for (const std::string_view name : {"KVM", "QEMU", "Virtual", "VMware", "Standard PC"}) {
    if (product->find(name) != std::string::npos) {
      return true;
    }
  }
  return false;
}

FrequencyPolicy read_policy(const sys::Root& root, const std::string& name) {
  const std::string folder = in_folder("cpufreq/" + name);
  return {.name = name,
          .driver = root.text(folder + "/scaling_driver"),
          .governor = root.text(folder + "/scaling_governor"),
          .preference = root.text(folder + "/energy_performance_preference"),
          .base_khz = root.number(folder + "/base_frequency"),
          .allowed_khz = root.number(folder + "/scaling_max_freq"),
          .most_khz = root.number(folder + "/cpuinfo_max_freq")};
}

std::optional<bool> read_multithreading(const sys::Root& root) {
  const std::optional<std::int64_t> active = root.number(in_folder("smt/active"));
  return active ? std::optional(*active != 0) : std::nullopt;
}

}  // namespace

Cpu read_cpu(const sys::Root& root) {
  Cpu cpu;
  if (const Result<std::string> cpuinfo = root.read(kCpuInfo)) {
    cpu.model = first_value(*cpuinfo, "model name");
    cpu.virtualised = is_virtualised(root, *cpuinfo);
  }
  if (const std::optional<std::string> list = root.text(in_folder("online"))) {
    const std::vector<int> online = cpus_of(*list);
    cpu.online = static_cast<std::int64_t>(online.size());
    cpu.cores = count_cores(root, online);
  }
  cpu.multithreading = read_multithreading(root);
  if (root.exists(in_folder("isolated"))) {
    cpu.isolated = root.text(in_folder("isolated")).value_or("");
  }
  for (const std::string& name : root.list(in_folder("cpufreq"))) {
    if (name.starts_with("policy")) {
      cpu.policies.push_back(read_policy(root, name));
    }
  }
  return cpu;
}

void append_facts(const Cpu& cpu, Facts& facts) {
  FactList list(facts, "cpu");
  list.add("model", cpu.model, kCpuInfo);
  list.add("online", cpu.online, in_folder("online"));
  list.add("cores", cpu.cores, in_folder("cpu*/topology"));
  list.add("multithreading", cpu.multithreading, in_folder("smt/active"));
  list.add("virtualised", cpu.virtualised, kCpuInfo);
  list.add("isolated", cpu.isolated, in_folder("isolated"));
  for (const FrequencyPolicy& policy : cpu.policies) {
    const std::string folder = in_folder("cpufreq/" + policy.name);
    FactList one(facts, "cpu", policy.name);
    one.add("driver", policy.driver, folder + "/scaling_driver");
    one.add("governor", policy.governor, folder + "/scaling_governor");
    one.add("preference", policy.preference, folder + "/energy_performance_preference");
    one.add("base_khz", policy.base_khz, folder + "/base_frequency");
    one.add("allowed_khz", policy.allowed_khz, folder + "/scaling_max_freq");
    one.add("most_khz", policy.most_khz, folder + "/cpuinfo_max_freq");
  }
}

}  // namespace chokepoint::host
