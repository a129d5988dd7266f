#include "probe/commands/path_page.h"

#include <gtest/gtest.h>

#include "base/json/codec.h"
#include "tests/fakes/golden.h"
#include "tests/fakes/page.h"
#include "tests/fakes/page_rows.h"

namespace chokepoint::probe {
namespace {

net::Address path_address(const std::string& text) { return *net::Address::parse(text); }

path::Hop path_hop(int ttl, const std::vector<std::string>& addresses, int answered = 3) {
  path::Hop hop{.ttl = ttl, .sent = 3, .answered = answered};
  for (const std::string& each : addresses) {
    hop.addresses.push_back(path_address(each));
  }
  hop.rtt_ms.assign(static_cast<std::size_t>(answered), ttl * 0.5);
  return hop;
}

// Three hops there and back, the second silent; packets above 1400 bytes vanish.
path::FamilyOutcome surveyed_family() {
  path::FamilyOutcome outcome{.facts = {.family = net::Family::Ipv4,
                                        .addresses = {path_address("192.0.2.9")},
                                        .source = path_address("10.0.0.1"),
                                        .connection = path::Connection::Connected,
                                        .connect_ms = 1.5}};
  path::Survey& there = outcome.forward.emplace();
  there.trace = {.source = {.address = path_address("10.0.0.1")},
                 .target = {.address = path_address("192.0.2.9"), .port = 33434},
                 .hops = {path_hop(1, {"10.0.0.2"}), path_hop(2, {}, 0),
                          path_hop(3, {"192.0.2.9", "192.0.2.10"})},
                 .reached = true,
                 .probed_to = 3};
  there.mtu = path::MtuFinding{.path_mtu_bytes = 1400,
                               .interface_mtu_bytes = 1500,
                               .black_hole_from_bytes = 1401,
                               .confirmed = true};
  there.black_hole = path::BlackHole{.packet_bytes = 1401,
                                     .last_before = path_hop(1, {"10.0.0.2"}),
                                     .first_behind = path_hop(3, {"192.0.2.9"})};
  path::Survey& back = outcome.reverse.emplace();
  back.trace = {.source = {.address = path_address("192.0.2.9")},
                .target = {.address = path_address("10.0.0.1"), .port = 33434},
                .hops = {path_hop(1, {"192.0.2.1"}), path_hop(2, {"10.0.9.2"}, 2)},
                .reached = false,
                .probed_to = 30};
  back.mtu = path::MtuFinding{.path_mtu_bytes = 1400,
                              .interface_mtu_bytes = 1500,
                              .limited_by = path_address("10.0.9.2"),
                              .announced_bytes = 1400,
                              .confirmed = true};
  outcome.symmetry = {.symmetric = false,
                      .why = "hop 1 is another router",
                      .routers = {{.ttl = 1,
                                   .forward = path_address("10.0.0.2"),
                                   .reverse = path_address("10.0.9.2"),
                                   .match = path::Match::Differs}}};
  return outcome;
}

PathFindings findings_of_both_families() {
  return {
      .host = {.name = "hubble",
               .port = 5201,
               .in_order = {path_address("2001:db8::9"), path_address("192.0.2.9")}},
      .ipv4 = surveyed_family(),
      .ipv6 = {.facts = {.family = net::Family::Ipv6, .addresses = {path_address("2001:db8::9")}},
               .no_forward = "this host has no route to 2001:db8::9"},
      .dual_stack_finding = "only IPv4 works"};
}

std::string page_of_path(const PathFindings& found) {
  return fakes::page_of([&](const cli::Context& context) { print_page(context, found); });
}

TEST(PathPage, Picture) { EXPECT_GOLDEN("probe_path", page_of_path(findings_of_both_families())); }

TEST(PathPage, WithoutAPeerTheWayBackHasNoColumnsAndAReason) {
  PathFindings found = findings_of_both_families();
  found.ipv4.reverse.reset();
  found.ipv4.no_reverse = "connection refused";
  const std::string page = page_of_path(found);
  EXPECT_FALSE(fakes::row(page, "0")) << "only the way back shows this host";
  EXPECT_FALSE(fakes::row(page, "path MTU back:"));
  EXPECT_EQ(fakes::row(page, "the reverse path is not known:"), "connection refused");
}

TEST(PathPage, AFamilyThatWasNotAskedForIsLeftOut) {
  PathFindings found = findings_of_both_families();
  found.host.only = net::Family::Ipv4;
  found.ipv6 = {.facts = {.family = net::Family::Ipv6}};
  EXPECT_FALSE(fakes::row(page_of_path(found), "IPv6"));
}

TEST(PathPage, AnMtuThatWasNotConfirmedIsNotKnown) {
  PathFindings found = findings_of_both_families();
  found.ipv4.forward->mtu = path::MtuFinding{.announced_bytes = 1300};
  EXPECT_TRUE(
      fakes::row(page_of_path(found), "path MTU there:")->starts_with("not known, at most 1300"));
  found.ipv4.forward->mtu = path::MtuFinding{.confirmed = true};
  EXPECT_TRUE(fakes::row(page_of_path(found), "path MTU there:")->starts_with("not known"));
  found.ipv4.forward->mtu = path::MtuFinding{.path_mtu_bytes = 1500, .confirmed = true};
  EXPECT_TRUE(fakes::row(page_of_path(found), "path MTU there:")->starts_with("1500 bytes"));
}

TEST(PathPage, WhetherTheWayBackIsTheSameMayBeUnknown) {
  PathFindings found = findings_of_both_families();
  found.ipv4.symmetry.symmetric.reset();
  EXPECT_TRUE(fakes::row(page_of_path(found), "same path back:")->starts_with("unknown: "));
}

TEST(PathPage, PathHasTheRoutersOfBothWays) {
  PathFindings found;
  found.ipv4.symmetry = {.why = "no reason",
                         .routers = {{.ttl = 1, .forward = *net::Address::parse("10.0.0.1")}}};
  const json::Json document = json::to_json(document_of(found));
  EXPECT_EQ(document["families"]["ipv4"]["symmetry"].dump(),
            R"({"why":"no reason","routers":[{"ttl":1,"forward":"10.0.0.1","reverse":null,)"
            R"("match":"unknown","why":""}]})");
}

}  // namespace
}  // namespace chokepoint::probe
