#include "probe/host/cpu_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace chokepoint::probe {
namespace {

constexpr const char* kSetGovernor = "cpupower frequency-set -g performance";
constexpr const char* kSetPreference =
    "echo balance_performance | tee "
    "/sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference";

struct Judgement {
  Status status = Status::Pass;
  std::string why;
  std::string next_step;
};

// Under these drivers "powersave" lets the processor choose between speed and power; the preference
// says which it favours.
bool balances_itself(const host::FrequencyPolicy& policy) {
  return policy.driver == "intel_pstate" || policy.driver == "amd-pstate-epp";
}

Judgement judge_preference(const std::optional<std::string>& preference) {
  if (preference == "performance" || preference == "balance_performance") {
    return {Status::Info,
            "the processor sets its own frequency and favours speed; single flows gain a few "
            "percent from the governor performance",
            kSetGovernor};
  }
  if (!preference) {
    return {Status::Info, "the driver raises the frequency with load, a moment late", kSetGovernor};
  }
  return {Status::Warning, "the processor favours saving power: interrupts and copies are late",
          kSetPreference};
}

Judgement judge(const host::FrequencyPolicy& policy) {
  if (policy.governor == "performance") {
    return {};
  }
  if (!policy.governor) {
    return {Status::Unknown, "what sets the frequency could not be read",
            "cpupower frequency-info"};
  }
  if (policy.governor == "powersave" && balances_itself(policy)) {
    return judge_preference(policy.preference);
  }
  if (policy.governor == "powersave") {
    return {Status::Warning, "this driver's powersave pins the processor to its lowest frequency",
            kSetGovernor};
  }
  return {Status::Warning,
          "the frequency follows load and is low when a burst of packets arrives; 30 Gb/s in one "
          "flow want 3 GHz and more",
          kSetGovernor};
}

std::string governors_of(const host::Cpu& cpu) {
  std::set<std::string> names;
  for (const host::FrequencyPolicy& policy : cpu.policies) {
    std::string name = policy.governor.value_or("?");
    if (policy.governor == "powersave") {
      name += fmt::format(" ({}{}{})", policy.driver.value_or("?"), policy.preference ? ", " : "",
                          policy.preference.value_or(""));
    }
    names.insert(name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Check without_policies(const host::Cpu& cpu, Check check) {
  if (!cpu.online && !cpu.virtualised) {
    check.status = Status::Unknown;
    check.next_step = "cpupower frequency-info";
    return check;
  }
  check.status = Status::Info;
  check.found = "not set by this system";
  check.wanted.clear();
  check.why = cpu.virtualised.value_or(false)
                  ? "a virtual machine: its host sets the frequency; look there"
                  : "the firmware sets the frequency; its power profile should be performance";
  return check;
}

void check_governor(const host::Cpu& cpu, Checks& checks) {
  Check check{.id = "cpu.governor",
              .subject = "host",
              .wanted = "performance",
              .why = "a processor that clocks down serves packets late"};
  if (cpu.policies.empty()) {
    checks.push_back(without_policies(cpu, std::move(check)));
    return;
  }
  check.found = governors_of(cpu);
  for (const host::FrequencyPolicy& policy : cpu.policies) {
    Judgement judgement = judge(policy);
    if (judgement.status > check.status) {
      check.status = judgement.status;
      check.why = std::move(judgement.why);
      check.next_step = std::move(judgement.next_step);
    }
  }
  checks.push_back(std::move(check));
}

double gigahertz(std::int64_t khz) { return static_cast<double>(khz) / 1e6; }

bool is_capped(const host::FrequencyPolicy& policy) {
  return policy.allowed_khz && policy.most_khz && *policy.allowed_khz < *policy.most_khz;
}

void check_frequency(const host::Cpu& cpu, Checks& checks) {
  const auto capped = std::ranges::find_if(cpu.policies, is_capped);
  const auto known = std::ranges::find_if(
      cpu.policies, [](const auto& policy) { return policy.allowed_khz && policy.most_khz; });
  if (known == cpu.policies.end()) {
    return;
  }
  const host::FrequencyPolicy& shown = capped == cpu.policies.end() ? *known : *capped;
  Check check{.id = "cpu.frequency",
              .subject = "host",
              .found = fmt::format("up to {:.2f} GHz", gigahertz(*shown.allowed_khz)),
              .wanted = fmt::format("{:.2f} GHz", gigahertz(*shown.most_khz)),
              .why = "a setting or a limit keeps the processor below its maximum frequency"};
  if (capped != cpu.policies.end()) {
    check.status = Status::Warning;
    check.next_step = fmt::format("cpupower frequency-set -u {}", *shown.most_khz);
  }
  checks.push_back(std::move(check));
}

void check_isolated(const host::Cpu& cpu, Checks& checks) {
  if (cpu.isolated && !cpu.isolated->empty()) {
    checks.push_back({.id = "cpu.isolated",
                      .status = Status::Info,
                      .subject = "host",
                      .found = *cpu.isolated,
                      .why = "isolated processors run only what is pinned to them: a job that is "
                             "not pinned has fewer than it seems"});
  }
}

std::string nodes_of(const host::Memory& memory) {
  std::vector<std::string> texts;
  texts.reserve(memory.nodes.size());
  for (const host::NumaNode& node : memory.nodes) {
    texts.push_back(fmt::format(
        "{}: CPUs {}, {}", node.name,
        node.cpus && node.cpus->empty() ? "none" : node.cpus.value_or("?"),
        node.memory_bytes
            ? fmt::format("{:.0f} GiB", static_cast<double>(*node.memory_bytes) / (1UL << 30))
            : std::string("memory ?")));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

bool has_no_memory(const host::NumaNode& node) {
  return node.cpus && !node.cpus->empty() && node.memory_bytes == 0;
}

}  // namespace

void check_cpu(const host::Cpu& cpu, Checks& checks) {
  check_governor(cpu, checks);
  check_frequency(cpu, checks);
  check_isolated(cpu, checks);
}

void check_numa(const host::Memory& memory, const host::Sysctls& sysctls, Checks& checks) {
  Check check{.id = "cpu.numa",
              .subject = "host",
              .found = nodes_of(memory),
              .why = "a rank should run, keep its buffers and have its NIC and GPU on one node"};
  if (memory.nodes.empty()) {
    check.status = Status::Info;
    check.why = "the kernel reports no NUMA nodes; one is assumed";
  } else if (std::ranges::any_of(memory.nodes, has_no_memory)) {
    check.status = Status::Warning;
    check.wanted = "memory on every node";
    check.why = "a node without memory of its own reads everything from the other socket";
    check.next_step = "fill the memory slots of that socket; dmidecode -t memory shows them";
  } else if (memory.nodes.size() > 1 && sysctls.number("kernel.numa_balancing").value_or(0) > 0) {
    check.status = Status::Info;
    check.wanted = "kernel.numa_balancing = 0 for pinned jobs";
    check.why = "automatic balancing unmaps pages to see who uses them: pauses in a pinned job";
    check.next_step = "sysctl -w kernel.numa_balancing=0";
  }
  checks.push_back(std::move(check));
}

}  // namespace chokepoint::probe
