#include "analysis/attribution/job_paths.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/limits/direction.h"
#include "analysis/load/connections.h"

namespace chokepoint::analysis {
namespace {

void add_ends(const RunData& run, std::optional<std::size_t> node, const FlowData* flow,
              const std::string& own, std::vector<std::string>& addresses) {
  addresses.push_back(plain_address(own));
  const Interface* interface = node ? run.nodes[*node].interface(flow->row.interface) : nullptr;
  for (std::size_t at = 0; interface != nullptr && at < interface->addresses.size(); ++at) {
    addresses.push_back(plain_address(interface->addresses[at]));
  }
}

}  // namespace

std::vector<JobPath> job_paths(const RunData& run, const Clocks& clocks) {
  std::map<std::tuple<std::string, std::string, std::string>, JobPath> paths;
  for (const DirectionView& view : directions_of(run)) {
    const Connection& connection = run.connections[view.connection];
    const std::size_t from = side_of(view);
    const std::string& own = from == 0 ? connection.row.a_address : connection.row.b_address;
    const std::string& theirs = from == 0 ? connection.row.b_address : connection.row.a_address;
    const std::string& sender = connection.names.at(from);
    const std::string& receiver = connection.names.at(1 - from);
    if (sender == receiver) {
      continue;
    }
    // Paths of other interfaces and families are others.
    const std::string at_receiver =
        view.at_receiver != nullptr ? view.at_receiver->row.interface : plain_address(theirs);
    const std::string family = own.find(':') == std::string::npos ? "4" : "6";
    JobPath& path = paths[{sender, receiver, at_receiver + " " + family}];
    path.from = sender;
    path.to = receiver;
    add_ends(run, view.sender, view.at_sender, own, path.addresses[0]);
    add_ends(run, view.receiver, view.at_receiver, theirs, path.addresses[1]);
    path.pace.add(view, clocks);
    const DirectionFacts facts = facts_of(run, view);
    if (facts.min_rtt_us > 0) {
      const double rtt_ms = facts.min_rtt_us / 1e3;
      path.rtt_ms = std::min(path.rtt_ms.value_or(rtt_ms), rtt_ms);
    }
    path.bytes += facts.bytes;
    path.packets += facts.packets;
    path.retransmitted += facts.retransmitted;
  }
  std::vector<JobPath> list;
  for (auto& [key, path] : paths) {
    list.push_back(std::move(path));
  }
  return list;
}

}  // namespace chokepoint::analysis
