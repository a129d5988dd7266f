#include "probe/host/time_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace chokepoint::probe {
namespace {

std::string found_text(const host::Timekeeping& time) {
  std::string text = *time.synchronised ? "synchronised" : "not synchronised";
  if (*time.synchronised && time.largest_error_us) {
    text += fmt::format(" within {:.1f} ms", static_cast<double>(*time.largest_error_us) / 1e3);
  }
  if (!time.keepers.empty()) {
    text += fmt::format(" by {}", fmt::join(time.keepers, ", "));
  }
  return text;
}

void check_synchronised(const host::Timekeeping& time, Checks& checks) {
  Check check{.id = "time.sync",
              .subject = "host",
              .wanted = "synchronised",
              .why =
                  "the nodes' records are laid side by side: the nearer their clocks, the surer "
                  "who waited for whom"};
  if (time.synchronised) {
    check.found = found_text(time);
    check.status = *time.synchronised ? Status::Pass : Status::Warning;
    check.next_step = time.keepers.empty() ? "apt-get install chrony || dnf install chrony"
                                           : "chronyc tracking || timedatectl timesync-status";
  } else if (!time.keepers.empty()) {
    check.status = Status::Info;
    check.found = fmt::format("{} runs; whether it is in step was not recorded",
                              fmt::join(time.keepers, ", "));
  } else {
    check.status = Status::Unknown;
    check.next_step = "timedatectl";
  }
  checks.push_back(std::move(check));
}

bool is_slow(std::string_view source) {
  constexpr std::array<std::string_view, 5> kSlow = {"hpet", "acpi_pm", "jiffies",
                                                     "refined-jiffies", "pit"};
  return std::ranges::find(kSlow, source) != kSlow.end();
}

void check_source(const host::Timekeeping& time, Checks& checks) {
  Check check{.id = "time.source",
              .subject = "host",
              .found = time.source.value_or(""),
              .wanted = "tsc, or the hypervisor's",
              .why = "every packet and every pacing decision reads the clock"};
  if (!time.source) {
    check.status = Status::Unknown;
    check.next_step = "cat /sys/devices/system/clocksource/clocksource0/current_clocksource";
  } else if (is_slow(*time.source)) {
    check.status = Status::Warning;
    check.why =
        "reading this clock takes a system call and about a microsecond; the kernel gave "
        "up the tsc, dmesg says why";
    check.next_step = "dmesg | grep -i -e clocksource -e tsc";
  }
  checks.push_back(std::move(check));
}

}  // namespace

void check_time(const host::Timekeeping& time, Checks& checks) {
  check_synchronised(time, checks);
  check_source(time, checks);
}

}  // namespace chokepoint::probe
