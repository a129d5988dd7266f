// What a job's bytes were for: those of each of its connections by its purpose (base/traffic), and
// as unknown what no connection in the record accounts for, so that the sum is what the job sent.
// Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/json/fields.h"
#include "base/record/entities.h"
#include "base/traffic/purpose.h"

namespace chokepoint::analysis {

struct RunData;

struct Volume {
  std::optional<double> sent_bytes = {};
  std::optional<double> received_bytes = {};
};

struct PurposeVolume {
  traffic::Purpose purpose = traffic::Purpose::Unknown;
  Volume volume = {};
  std::int64_t connections = 0;
};

// A flow in a node's record, and what it carried from a to b and from b to a.
struct FlowTraffic {
  record::Flow row = {};
  std::array<double, 2> bytes = {};
};

// Where a job's ranks are, as far as its nodes' records show it.
class RankPlaces {
 public:
  // Of the node itself, and of peers that speak to it as ranks do.
  void add(const record::Flow& flow);
  // Where they meet: MASTER_PORT of the ranks' environment.
  void add(const record::Fact& fact);

  traffic::Purpose purpose_of(const record::Flow& flow) const;

 private:
  std::set<std::string> addresses_;
  std::set<std::int64_t> meeting_ports_;
};

// By its sockets; records before schema 4 name its process alone.
bool is_of_job(const record::Flow& flow);

// Of a node, in the order of the purposes; none where no flow was counted or none is known, as in a
// record of an earlier version.
std::vector<PurposeVolume> purposes_of(std::span<const FlowTraffic> flows, const RankPlaces& ranks,
                                       const Volume& job);

// Of all its nodes.
std::vector<PurposeVolume> purposes_of(const RunData& run);

// Of the bytes in both directions.
double share_of(const PurposeVolume& one, std::span<const PurposeVolume> all);

// Sums of both, purpose by purpose.
void add_purposes(std::vector<PurposeVolume>& sums, const std::vector<PurposeVolume>& more);

}  // namespace chokepoint::analysis
