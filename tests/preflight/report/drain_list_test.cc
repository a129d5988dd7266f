// The list for a scheduler: a part of document.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "preflight/report/document.h"
#include "tests/preflight/report/made_cluster.h"

namespace chokepoint::preflight {
namespace {

using testing::IsEmpty;
using testing::StartsWith;

std::string list_of(const MadeCluster& cluster) {
  return drain_list(cluster.measured, cluster.judgement);
}

MadeCluster with_finding(Place place, checks::Status status, std::vector<HostIndex> hosts) {
  MadeCluster cluster = made_cluster(4);
  add_finding(cluster, {.check = {.id = "port.throughput",
                                  .status = status,
                                  .subject = "eth0",
                                  .found = "94 Mb/s",
                                  .wanted = "9400 Mb/s"},
                        .place = place,
                        .hosts = std::move(hosts)});
  return cluster;
}

TEST(DrainList, AClusterThatIsWellHasNone) { EXPECT_THAT(list_of(made_cluster(4)), IsEmpty()); }

TEST(DrainList, HasWhoIsAtFaultAndWhy) {
  const MadeCluster cluster = with_finding(Place::Port, checks::Status::Critical, {2});
  EXPECT_EQ(list_of(cluster),
            cluster.measured.hosts[2].name + " port.throughput eth0: 94 Mb/s, wanted 9400 Mb/s\n");
}

TEST(DrainList, SaysOfAHostAllOnOneLine) {
  MadeCluster cluster = with_finding(Place::Port, checks::Status::Critical, {2});
  add_finding(cluster, {.check = {.id = "names.own", .status = checks::Status::Critical},
                        .place = Place::Name,
                        .hosts = {2}});
  EXPECT_EQ(std::ranges::count(list_of(cluster), '\n'), 1);
}

TEST(DrainList, WhatIsBetweenHostsOrNoMoreThanAWarningDrainsNobody) {
  for (const Place place : {Place::Pair, Place::DirectedPath, Place::Uplink, Place::Cluster}) {
    EXPECT_THAT(list_of(with_finding(place, checks::Status::Critical, {1, 2})), IsEmpty());
  }
  EXPECT_THAT(list_of(with_finding(Place::Port, checks::Status::Warning, {2})), IsEmpty());
}

TEST(DrainList, AMissingAgentSaysNothingOfItsHost) {
  for (const auto& [presence, is_listed] : {std::pair{Presence::NoAgent, false},
                                            {Presence::Refused, false},
                                            {Presence::Strange, false},
                                            {Presence::Unreachable, true},
                                            {Presence::Lost, true}}) {
    MadeCluster cluster = made_cluster(4);
    absent_host(cluster, 3, presence);
    EXPECT_EQ(!list_of(cluster).empty(), is_listed) << static_cast<int>(presence);
  }
}

TEST(DrainList, WhereNothingCouldBeTestedTheFaultMayBeHere) {
  MadeCluster cluster = made_cluster(4);
  absent_host(cluster, 3, Presence::Unreachable);
  cluster.measured.pairs.clear();
  EXPECT_THAT(list_of(cluster), IsEmpty());
}

TEST(DrainList, AReasonIsOneLineWhateverItSays) {
  MadeCluster cluster = with_finding(Place::Port, checks::Status::Critical, {2});
  cluster.judgement.findings.front().check.found = kHostileText;
  EXPECT_EQ(std::ranges::count(list_of(cluster), '\n'), 1);
  EXPECT_THAT(list_of(cluster), StartsWith(cluster.measured.hosts[2].name + " "));
}

}  // namespace
}  // namespace chokepoint::preflight
