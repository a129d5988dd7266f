// The kernel and the distribution this host runs. Reads under the given root only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/host/fact.h"
#include "base/sys/root.h"

namespace chokepoint::host {

struct Kernel {
  std::optional<std::string> release;       // 6.1.0-37-amd64
  std::optional<std::string> distribution;  // Debian GNU/Linux 12 (bookworm)
  std::optional<std::string> boot_id;
};

Kernel read_kernel(const sys::Root& root);
void append_facts(const Kernel& kernel, Facts& facts);

// major * 1000 + minor of "6.1.0-37-amd64": 6001; nullopt where it cannot be read.
std::optional<int> release_number(const Kernel& kernel);

// The kernel's settings that bear on transfers, by their sysctl names, as text: what is a fact and
// what a check asks for are the same words that `sysctl -w` takes. Reads under the given root only.

class Sysctls {
 public:
  using Values = std::map<std::string, std::string>;

  Sysctls() = default;
  explicit Sysctls(Values values) : values_(std::move(values)) {}

  // Nothing where this kernel has no such setting, or it could not be read.
  std::optional<std::string> text(const std::string& name) const;
  std::optional<std::int64_t> number(const std::string& name) const;
  // The third of "least default most", as tcp_rmem and tcp_wmem have it.
  std::optional<std::int64_t> most(const std::string& name) const;

  const Values& all() const { return values_; }

 private:
  Values values_;
};

Sysctls read_sysctls(const sys::Root& root);
void append_facts(const Sysctls& sysctls, Facts& facts);

// Which clock the kernel runs on and whether a process (NTP, PTP) corrects it. Reads under the
// given root, and calls adjtimex() where that is live.

struct Timekeeping {
  std::optional<bool> synchronised;              // as the process that corrects it has set it
  std::optional<std::int64_t> largest_error_us;  // what the kernel reckons it may be off by
  // Millionths by which the clock is corrected all the time: how wrong the host's oscillator is.
  std::optional<double> correction_ppm;
  std::string correction_source;
  std::vector<std::string> services;  // "chronyd", "ptp4l": programs that run
  std::optional<std::string> source;  // tsc, hpet, kvm-clock
  std::vector<std::string> sources;   // those to choose from
};

Timekeeping read_timekeeping(const sys::Root& root);
void append_facts(const Timekeeping& time, Facts& facts);

}  // namespace chokepoint::host
