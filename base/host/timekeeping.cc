#include "base/host/timekeeping.h"

#include <sys/timex.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/host/fact_list.h"
#include "base/host/words.h"

namespace chokepoint::host {
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
}

bool is_keeper(const std::string& command) {
  // The kernel cuts a command's name at 15 characters.
  constexpr std::array<std::string_view, 8> kKeepers = {
      "chronyd", "ntpd", "openntpd", "ntpsec", "systemd-timesyn", "ptp4l", "phc2sys", "sfptpd"};
  return std::ranges::find(kKeepers, command) != kKeepers.end();
}

std::vector<std::string> find_keepers(const sys::Root& root) {
  std::vector<std::string> keepers;
  for (const std::string& process : root.list("/proc")) {
    if (!number_of(process)) {
      continue;
    }
    const std::optional<std::string> command = root.text("/proc/" + process + "/comm");
    if (command && is_keeper(*command) && std::ranges::find(keepers, *command) == keepers.end()) {
      keepers.push_back(*command);
    }
  }
  return keepers;
}

}  // namespace

Timekeeping read_timekeeping(const sys::Root& root) {
  Timekeeping time;
  if (root.is_live()) {
    ask_kernel(time);
  } else if (root.exists(kTimesyncd)) {
    time.synchronised = true;
  }
  time.keepers = find_keepers(root);
  time.source = root.text(kSource);
  time.sources = words_of(root.text(kSources).value_or(""));
  return time;
}

void append_facts(const Timekeeping& time, Facts& facts) {
  FactList list(facts, "time");
  list.add("synchronised", time.synchronised, kKernel);
  list.add("largest_error_us", time.largest_error_us, kKernel);
  for (const std::string& keeper : time.keepers) {
    list.add_text("keeper", keeper, "/proc/*/comm");
  }
  list.add("source", time.source, kSource);
}

}  // namespace chokepoint::host
