#include "probe/commands/paths_page.h"

#include <gtest/gtest.h>

#include "tests/fakes/golden.h"
#include "tests/fakes/page.h"
#include "tests/fakes/page_rows.h"

namespace chokepoint::probe {
namespace {

using documents::FlowFault;
using documents::PathsFinding;
using documents::ProbePaths;

net::Address paths_router(int number) {
  return *net::Address::parse("10.0.1." + std::to_string(number));
}

// Eight flows over four routers; those of the last lose packets there and come later back.
ProbePaths one_bad_member() {
  ProbePaths shown{
      .peer = {.host = "hubble"},
      .packets_per_flow = 1000,
      .expected = documents::PathsExpected(),
      .duration_s = 12.5,
      .verdict = documents::FlowsVerdict::Found,
      .send =
          documents::PathsDirection{
              .sent = 8000, .lost = 100, .loss_percent = 1.25, .detectable_loss_percent = 0.8},
      .receive = documents::PathsDirection{.sent = 7900, .lost = 0, .dropped_by_sockets = 7},
      .paths = {.at_least = 2, .by_hops = 4, .traced_flows = 8}};
  for (std::uint16_t i = 0; i < 8; ++i) {
    shown.flows.push_back({.source_port = static_cast<std::uint16_t>(40000 + i),
                           .sent = 1000,
                           .hops = documents::FlowHops{paths_router(i % 4)}});
  }
  shown.findings = {{.kind = FlowFault::Loss,
                     .direction = documents::Direction::Send,
                     .flows = 2,
                     .share_percent = {.likely = 25, .low = 7, .high = 55},
                     .one_of_members = 4,
                     .loss_percent = 5,
                     .others_loss_percent = 0.01,
                     .source_ports = {40003, 40007},
                     .unclear_source_ports = {40001},
                     .hop = documents::PathsRouter{.ttl = 1, .address = paths_router(3)}},
                    {.kind = FlowFault::Delay,
                     .direction = documents::Direction::Receive,
                     .flows = 2,
                     .share_percent = {.likely = 25, .low = 7, .high = 55},
                     .one_of_members = 4,
                     .later_ms = 1.5,
                     .source_ports = {40003, 40007}}};
  return shown;
}

// Over TCP, each flow alone.
ProbePaths one_slow_member() {
  ProbePaths shown{.peer = {.host = "hubble"},
                   .protocol = documents::ProbeProtocol::Tcp,
                   .duration_s = 64,
                   .verdict = documents::FlowsVerdict::Found};
  for (std::uint16_t i = 0; i < 20; ++i) {
    shown.flows.push_back({.source_port = static_cast<std::uint16_t>(40000 + i),
                           .rate_mbps = i < 17 ? 100 : 900,
                           .retransmits = 1});
  }
  PathsFinding finding{.kind = FlowFault::Rate,
                       .flows = 17,
                       .share_percent = {.likely = 85, .low = 62, .high = 97},
                       .rate_mbps = 100,
                       .others_rate_mbps = 900};
  for (std::uint16_t i = 0; i < 17; ++i) {
    finding.source_ports.push_back(static_cast<std::uint16_t>(40000 + i));
  }
  shown.findings = {finding};
  return shown;
}

std::string page_of_paths(const ProbePaths& shown) {
  return fakes::page_of([&](const cli::Context& context) { print_page(context, shown); });
}

TEST(PathsPage, PictureOfEachProtocol) {
  EXPECT_GOLDEN("probe_paths", page_of_paths(one_bad_member()));
  EXPECT_GOLDEN("probe_paths_tcp", page_of_paths(one_slow_member()));
}

TEST(PathsPage, TooFewPacketsAreNotFlowsThatAreAlike) {
  ProbePaths shown = one_bad_member();
  shown.findings.clear();
  shown.verdict = documents::FlowsVerdict::Unknown;
  shown.unknown_because = "300 packets were too few";
  EXPECT_EQ(fakes::row(page_of_paths(shown), "Unknown:"),
            "300 packets were too few; give more --packets or --flows.");
  shown.verdict = documents::FlowsVerdict::Alike;
  EXPECT_TRUE(fakes::row(page_of_paths(shown), "All 8 flows"));
}

TEST(PathsPage, WithoutRoutersTheShareOfFlowsNamesTheMembers) {
  ProbePaths shown = one_bad_member();
  shown.paths.by_hops.reset();
  shown.findings.front().hop.reset();
  const std::string page = page_of_paths(shown);
  EXPECT_TRUE(fakes::row(page, "to hubble: about 1 of 4 members"));
  EXPECT_TRUE(fakes::row(page, "At least 2 paths;"));
}

TEST(PathsPage, AnInterruptedSweepSaysSo) {
  ProbePaths shown = one_bad_member();
  shown.interrupted = true;
  EXPECT_EQ(fakes::labels_of(page_of_paths(shown)).back(), "Interrupted:");
}

}  // namespace
}  // namespace chokepoint::probe
