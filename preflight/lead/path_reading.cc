#include <string>

#include "preflight/lead/answer.h"
#include "preflight/lead/bounds.h"
#include "preflight/lead/readings.h"

namespace chokepoint::preflight::lead {
namespace {

using control::Json;

FamilyState state_of(Answer& in, const std::string& family) {
  const std::optional<bool> resolves = in.boolean("families." + family + ".resolves");
  const std::string connection = in.text("families." + family + ".connection", kLongestName);
  if (!resolves || connection.empty()) {
    return FamilyState::Unknown;
  }
  if (!*resolves) {
    return FamilyState::Absent;
  }
  if (connection == "connected") {
    return FamilyState::Works;
  }
  return connection == "untried" ? FamilyState::Unknown : FamilyState::Fails;
}

void add_way(Answer& in, const std::string& place, WayResult& way) {
  if (!in.has(place)) {
    return;
  }
  way.hops = in.figure(place + ".length", 0, kMostHops);
  way.mtu_bytes = in.figure(place + ".mtu.path_mtu_bytes", 0, kLargestPacket);
  way.black_hole_bytes = in.figure(place + ".mtu.black_hole_from_bytes", 0, kLargestPacket);
}

}  // namespace

Result<> read_path(const Json& document, PairResult& pair) {
  Answer in(document, "chokepoint.probe.path/1");
  PairResult read = pair;
  const std::string family = in.text("peer.family", kLongestName);
  if (family == "ipv4" || family == "ipv6") {
    add_way(in, "families." + family + ".forward", read.there);
    add_way(in, "families." + family + ".reverse", read.back);
  } else {
    in.wrong("peer.family", "ipv4 or ipv6");
  }
  read.ipv4 = state_of(in, "ipv4");
  read.ipv6 = state_of(in, "ipv6");
  if (const Result<> fine = in.finish(); !fine) {
    return fine;
  }
  pair = read;
  return {};
}

}  // namespace chokepoint::preflight::lead
