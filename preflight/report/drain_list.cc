#include "preflight/report/drain_list.h"

#include <fmt/format.h>

#include <map>

#include "base/checks/check.h"

namespace chokepoint::preflight {
namespace {

bool is_of_hosts(Place place) {
  return place == Place::Host || place == Place::Port || place == Place::Slot ||
         place == Place::Name;
}

bool is_without_agent(Presence presence) {
  return presence == Presence::NoAgent || presence == Presence::Refused ||
         presence == Presence::Strange;
}

}  // namespace

std::string drain_list(const Measured& measured, const Judgement& judgement) {
  std::map<HostIndex, checks::Checks> faults;
  for (const Finding& finding : judgement.findings) {
    if (finding.check.status != checks::Status::Critical || !is_of_hosts(finding.place)) {
      continue;
    }
    for (const HostIndex host : finding.hosts) {
      if (!is_without_agent(measured.hosts[host].presence)) {
        faults[host].push_back(finding.check);
      }
    }
  }
  std::string list;
  for (const auto& [host, checks] : faults) {
    list += fmt::format("{} {}\n", measured.hosts[host].name,
                        checks::summary(checks, checks::Status::Critical));
  }
  return measured.pairs.empty() ? "" : list;
}

}  // namespace chokepoint::preflight
