// The readings of probe path and probe paths.
#include <cstdint>
#include <string>
#include <utility>

#include "base/documents/probe_path.h"
#include "base/documents/probe_paths.h"
#include "preflight/coordinator/readings.h"
#include "preflight/task/measured.h"

namespace chokepoint::preflight::coordinator {
namespace {

using control::Json;

FamilyState state_of(const documents::PathFamily& family) {
  using documents::Connection;
  return !family.resolves                             ? FamilyState::Absent
         : family.connection == Connection::Connected ? FamilyState::Works
         : family.connection == Connection::Untried   ? FamilyState::Unknown
                                                      : FamilyState::Fails;
}

void set_path(const documents::PathDirection& measured, PathResult& path) {
  const auto trace = or_empty(measured.trace);
  const auto mtu = or_empty(measured.mtu);
  path.hops = figure(trace.length);
  path.mtu_bytes = figure(mtu.path_mtu_bytes);
  path.black_hole_bytes = figure(mtu.black_hole_from_bytes);
}

}  // namespace

Result<> read_path(const Json& document, PairResult& pair) {
  TRY(const documents::ProbePath probed, read<documents::ProbePath>(document));
  const documents::PathFamily& tested = probed.families.of(probed.peer.family);
  set_path(tested.forward, pair.there);
  set_path(tested.reverse, pair.back);
  pair.ipv4 = state_of(probed.families.ipv4);
  pair.ipv6 = state_of(probed.families.ipv6);
  return {};
}

Result<> read_flows(const Json& document, BundleResult& bundle) {
  TRY(documents::ProbePaths read_in, read<documents::ProbePaths>(document));
  if (bundle.verdict.empty()) {
    bundle.verdict = name_of(read_in.verdict);
  }
  for (documents::PathsFinding& finding : read_in.findings) {
    const bool is_sent = finding.direction == documents::Direction::Send;
    bundle.bad.push_back({.fault = finding.kind,
                          .from = is_sent ? bundle.asked : bundle.peer,
                          .to = is_sent ? bundle.peer : bundle.asked,
                          .loss_percent = figure(finding.loss_percent),
                          .others_loss_percent = figure(finding.others_loss_percent),
                          .later_ms = figure(finding.later_ms),
                          .mbps = figure(finding.rate_mbps),
                          .others_mbps = figure(finding.others_rate_mbps),
                          .flows = static_cast<std::uint32_t>(finding.flows),
                          .of_flows = static_cast<std::uint32_t>(read_in.flows.size()),
                          .one_of = finding.one_of_members,
                          .ports = std::move(finding.source_ports),
                          .router = finding.hop ? finding.hop->address.text() : ""});
  }
  return {};
}

}  // namespace chokepoint::preflight::coordinator
