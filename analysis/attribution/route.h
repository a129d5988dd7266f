// The route of one direction of a connection: from which interface to which, how wide these are,
// how fast data passed, and whether there was a better route. Pure.
#pragma once

#include <optional>
#include <string>

#include "analysis/attribution/findings.h"

namespace chokepoint::analysis {

struct Card {
  std::string node = {};
  std::string interface = {};
  std::optional<double> speed_mbps = {};
  std::optional<double> slot_mbps = {};  // what its PCIe path carries
  bool is_slot_slow = false;             // for its speed, rather than for its few lanes
  double others_mbps = 0;                // traffic that is not the job's, in this direction
  double beside_mbps = 0;                // of the job's own data, checkpoints and weights
  double nfs_mbps = 0;                   // of the node's busiest mount of NFS, in this direction
  std::string nfs_mount = {};
};

// What a node records of one of its interfaces; nothing of its traffic.
Card card_of(const NodeData& node, const std::string& interface);

struct Route {
  std::string from = {};  // node's name, or the address of one without a record
  std::string to = {};
  Card sender = {};
  Card receiver = {};
  double rtt_ms = 0;  // unloaded; 0: unknown
  bool is_wan = false;
  double rate_mbps = 0;  // of payload, while it had something under way

  double others_mbps() const;
  double beside_mbps() const;
  // What passes the line beside the exchange; its share of all, and whether it is a good part.
  double shared_mbps() const;
  double shared_share() const;
  bool is_shared() const;
  // Whether most of it is the job's own.
  bool is_shared_with_job() const;
  // Whose mount of NFS most of the others' traffic is; nullptr of none.
  const Card* storage() const;
  // What the narrower card's line carries.
  std::optional<double> line_mbps() const;
  // The card whose slot is narrower than its line, and no wider than what passed.
  const Card* narrow_slot() const;
};

Route route_of(const DiagnosisInput& input, const DirectionLimits& direction);

// The one between these nodes that was held back longest; nullptr of none.
const DirectionLimits* main_direction_of(const DiagnosisInput& input, const Where& where);

// Another route between the same two nodes that would have carried more: a wider interface, or the
// other address family if a probe before the job measured that it is faster.
struct BetterRoute {
  Cause cause = Cause::None;   // "management-interface", "address-family"
  std::string interface = {};  // at the sender, to be used instead
  std::string address = {};    // of the receiver there
  double mbps = 0;             // of its line, or as measured
  std::string from = {};       // the rows of the record that show it
};

std::optional<BetterRoute> better_route(const DiagnosisInput& input,
                                        const DirectionLimits& direction, const Route& route);

// Of a job that failed on every node, whether it met over one address family and offered its peers
// addresses of the other, over which no data passed.
void explain_failure(const RunData& run, Verdict& verdict);
// Adds to the evidence of a job whose data do go over the other family.
void remark_family(const RunData& run, Verdict& verdict);

}  // namespace chokepoint::analysis
