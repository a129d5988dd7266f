// The processors of this host: how many, how fast they may run and who decides that. Reads under
// the given root only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/fact.h"
#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::host {

// From these shares of a core's time on, in percent, nothing is left of it: of what a core does for
// everybody, interrupts included, and of what one thread has. A judgement: a thread is descheduled
// now and then, hence its lower share.
inline constexpr double kFullCorePercent = 92;
inline constexpr double kFullThreadPercent = 88;

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

// How each core has spent its time since the host started, from /proc/stat. Two readings give the
// shares in between. Values.

// In the kernel's ticks.
struct CoreTime {
  std::int64_t busy = 0;     // everything but idle and waiting for a disk
  std::int64_t softirq = 0;  // the part of it that handled packets and timers
  std::int64_t all = 0;
};

// By the core's number.
using CoreTimes = std::map<int, CoreTime>;

Result<CoreTimes> read_core_times(const sys::Root& root);
// Of the content of /proc/stat.
CoreTimes core_times_in(std::string_view stat);

struct BusiestCores {
  int softirq_core = 0;
  double softirq_percent = 0;
  double busy_percent = 0;  // of the busiest core, which may be another one
};

// Nothing where no time passed.
std::optional<BusiestCores> busiest(const CoreTimes& before, const CoreTimes& after);

// Which CPUs serve which interrupts, from /proc/interrupts and /proc/irq. A NIC's queues are worth
// no more than the CPUs that drain them. Values, read once below the given root.

using CpuSet = std::vector<int>;  // sorted, each once

struct Interrupt {
  int number = 0;
  std::string name = {};                  // "ice-eth0-TxRx-3"
  std::vector<std::int64_t> counts = {};  // since boot, in the order of the table's CPUs
  std::optional<CpuSet> cpus = {};        // that it is delivered to
};

using InterruptTable = std::map<int, Interrupt>;

// The text of /proc/interrupts. Lines that are no device's interrupt are left out.
InterruptTable parse_interrupts(std::string_view text);
InterruptTable read_interrupts(const sys::Root& root);

// The given ones with the CPUs they are delivered to: the effective ones, or else the allowed ones.
std::vector<Interrupt> read_affinity(const sys::Root& root, const InterruptTable& table,
                                     const std::vector<int>& numbers);

}  // namespace chokepoint::host
