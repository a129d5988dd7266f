// Which settings differ between the hosts of two rows, as those that changed between a measurement
// before and one after. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/compared_run.h"
#include "base/record/entities.h"

namespace chokepoint::analysis {

// Several hosts where all of them changed alike.
struct FactChange {
  std::vector<std::string> hosts = {};
  std::string subject = {};                // "nic eth0", "sysctl"
  std::string key = {};                    // empty: the subject itself came or went
  std::optional<std::string> before = {};  // "1500", "1500 or 9000"; nullopt: not there
  std::optional<std::string> after = {};
};

// Of what a record holds, the facts of one session.
host::Settings settings_of(const std::vector<record::Fact>& facts,
                           std::optional<std::int64_t> session = {});

// Hosts are the same by name; where names differ and as many are left on both sides, by their
// order.
std::vector<FactChange> changes_between(const std::vector<const ComparedRun*>& before,
                                        const std::vector<const ComparedRun*>& after);

// "a, b: sysctl net.ipv4.tcp_congestion_control bbr instead of cubic"
std::string text_of(const FactChange& change);

// Fills ComparedRun::facts where some runs agree in all facts and differ in some from others that
// agree as well; else leaves it empty.
void tell_apart_by_facts(std::vector<ComparedRun>& runs);

}  // namespace chokepoint::analysis
