#include "base/host/cpu.h"

#include <fmt/format.h>

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/host/fact.h"
#include "base/host/kernel_text.h"

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

// On x86 by a flag; elsewhere by the firmware's product name, where there is one.
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

// x86 has a name; Arm has numbers, of which lscpu knows the names.
std::optional<std::string> model_in(const std::string& cpuinfo) {
  if (std::optional<std::string> name = first_value(cpuinfo, "model name")) {
    return name;
  }
  const auto implementer = first_value(cpuinfo, "CPU implementer");
  const auto part = first_value(cpuinfo, "CPU part");
  return implementer && part
             ? std::optional(fmt::format("Arm, implementer {}, part {}", *implementer, *part))
             : std::nullopt;
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
    cpu.model = model_in(*cpuinfo);
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

namespace {

constexpr std::string_view kStat = "/proc/stat";

// The columns behind "cpuN", as proc(5) numbers them.
constexpr std::size_t kIdle = 3;
constexpr std::size_t kIoWait = 4;
constexpr std::size_t kSoftIrq = 6;
constexpr std::size_t kColumns = 8;  // up to "steal"; what guests took is in "user" already

std::optional<CoreTime> core_time_of(const std::vector<std::string>& words) {
  CoreTime time;
  for (std::size_t i = 0; i < kColumns; ++i) {
    const std::optional<std::int64_t> ticks =
        i + 1 < words.size() ? number_of(words[i + 1]) : std::nullopt;
    if (!ticks) {
      return std::nullopt;
    }
    time.all += *ticks;
    time.busy += i == kIdle || i == kIoWait ? 0 : *ticks;
    time.softirq += i == kSoftIrq ? *ticks : 0;
  }
  return time;
}

double percent(std::int64_t part, std::int64_t whole) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

CoreTimes core_times_in(std::string_view stat) {
  CoreTimes times;
  // The cores stand first; the thousands of words after them are interrupts.
  for (const std::string& line : lines_of(stat.substr(0, stat.find("\nintr")))) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty() || !words.front().starts_with("cpu") || words.front() == "cpu") {
      continue;
    }
    const std::optional<std::int64_t> core = number_of(std::string_view(words.front()).substr(3));
    const std::optional<CoreTime> time = core_time_of(words);
    if (core && time) {
      times.emplace(static_cast<int>(*core), *time);
    }
  }
  return times;
}

Result<CoreTimes> read_core_times(const sys::Root& root) {
  TRY(const std::string text, root.read(kStat));
  return core_times_in(text);
}

std::optional<BusiestCores> busiest(const CoreTimes& before, const CoreTimes& after) {
  std::optional<BusiestCores> found;
  for (const auto& [core, now] : after) {
    const auto then = before.find(core);
    if (then == before.end() || now.all <= then->second.all) {
      continue;
    }
    const std::int64_t all = now.all - then->second.all;
    const double softirq = percent(now.softirq - then->second.softirq, all);
    const double busy = percent(now.busy - then->second.busy, all);
    found = found ? found : BusiestCores{.softirq_core = core};
    if (softirq > found->softirq_percent) {
      found->softirq_core = core;
      found->softirq_percent = softirq;
    }
    found->busy_percent = std::max(found->busy_percent, busy);
  }
  return found;
}

namespace {

// " 45:  123  456  PCI-MSI 524288-edge  eth0-TxRx-0"
std::optional<Interrupt> parse_line(std::string_view line) {
  const std::vector<std::string> words = words_of(line);
  if (words.empty() || !words[0].ends_with(':')) {
    return std::nullopt;
  }
  const auto number = number_of(words[0].substr(0, words[0].size() - 1));
  if (!number) {
    return std::nullopt;
  }
  Interrupt interrupt{.number = static_cast<int>(*number)};
  std::size_t at = 1;
  for (; at < words.size(); ++at) {
    const auto count = number_of(words[at]);
    if (!count) {
      break;
    }
    interrupt.counts.push_back(*count);
  }
  interrupt.name = at < words.size() ? words.back() : "";
  return interrupt;
}

std::optional<CpuSet> read_cpus(const sys::Root& root, int number) {
  for (const std::string_view file : {"effective_affinity_list", "smp_affinity_list"}) {
    if (const auto text = root.text(fmt::format("/proc/irq/{}/{}", number, file))) {
      return cpus_of(*text);
    }
  }
  return std::nullopt;
}

}  // namespace

InterruptTable parse_interrupts(std::string_view text) {
  InterruptTable table;
  for (const std::string& line : lines_of(text)) {
    if (auto interrupt = parse_line(line)) {
      table.emplace(interrupt->number, std::move(*interrupt));
    }
  }
  return table;
}

InterruptTable read_interrupts(const sys::Root& root) {
  return parse_interrupts(root.read("/proc/interrupts").value_or(""));
}

std::vector<Interrupt> read_affinity(const sys::Root& root, const InterruptTable& table,
                                     const std::vector<int>& numbers) {
  std::vector<Interrupt> interrupts;
  for (const int number : numbers) {
    const auto known = table.find(number);
    Interrupt interrupt = known == table.end() ? Interrupt{.number = number} : known->second;
    interrupt.cpus = read_cpus(root, number);
    interrupts.push_back(std::move(interrupt));
  }
  return interrupts;
}

}  // namespace chokepoint::host
