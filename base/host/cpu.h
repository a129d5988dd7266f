// The processors of this host: how many, how fast they may run and who decides that. Reads under
// the given root only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/host/fact.h"
#include "base/sys/root.h"

namespace chokepoint::host {

// CPUs whose frequency is set together, /sys/devices/system/cpu/cpufreq/policyN.
struct FrequencyPolicy {
  std::string name;  // policy0
  std::optional<std::string> driver;
  std::optional<std::string> governor;
  std::optional<std::string> preference;  // energy_performance_preference of the *pstate drivers
  std::optional<std::int64_t> base_khz;
  std::optional<std::int64_t> allowed_khz;  // the most that scaling_max_freq lets it run
  std::optional<std::int64_t> most_khz;     // the most that the hardware can
};

struct Cpu {
  std::optional<std::string> model;
  std::optional<std::int64_t> online;  // logical CPUs
  std::optional<std::int64_t> cores;   // physical ones
  std::optional<bool> multithreading;
  std::optional<bool> virtualised;
  std::optional<std::string> isolated;  // "2-7"; empty text is no CPU, nothing is not known
  std::vector<FrequencyPolicy> policies;
};

Cpu read_cpu(const sys::Root& root);
void append_facts(const Cpu& cpu, Facts& facts);

}  // namespace chokepoint::host
