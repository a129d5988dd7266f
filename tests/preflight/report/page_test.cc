#include "preflight/report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/cli/text.h"
#include "tests/fakes/golden.h"
#include "tests/fakes/page_rows.h"
#include "tests/preflight/report/made_cluster.h"
#include "tests/preflight/report/quiet_context.h"

namespace chokepoint::preflight {
namespace {

using fakes::row;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;
using testing::Pair;
using testing::StartsWith;

std::string page(const MadeCluster& cluster, cli::Terminal terminal, bool all = false) {
  QuietContext quiet;
  quiet.context.out_terminal = terminal;
  print_page(quiet.context, cluster.measured, cluster.judgement, all);
  return quiet.out.str();
}

std::string page(std::string_view kind, int width = 100) {
  return page(made_cluster_named(kind), {.interactive = true, .width = width});
}

std::size_t widest(const std::string& text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    width = std::max(width, cli::width_of(std::string_view(text).substr(at, end - at)));
    at = end + 1;
  }
  return width;
}

TEST(PreflightPage, Picture) { EXPECT_GOLDEN("preflight", page("eight", 110)); }

TEST(PreflightPage, TheVerdictIsItsFirstLine) {
  EXPECT_THAT(page("two"), StartsWith("CRITICAL  2 hosts, 1 pair: "));
  EXPECT_THAT(page("clean"), StartsWith("PASS  4 hosts, 6 pairs: "));
}

TEST(PreflightPage, NumbersSayWithoutColourWhatIsSlow) {
  EXPECT_THAT(page("two"), HasSubstr("\ngpu0     -  0.94!\ngpu1  9.45     -\n"));
}

TEST(PreflightPage, LettersDoWhereThereIsNoRoom) {
  const std::string text = page("eight", 40);
  EXPECT_EQ(row(text, "4 gpu3"), "2 2 2 - 2 2 2");
}

TEST(PreflightPage, ColourOnlyWhereItIsWelcome) {
  const MadeCluster cluster = made_cluster_named("two");
  EXPECT_THAT(page(cluster, {.interactive = true, .color = true, .width = 100}),
              HasSubstr(" \033[31m0.94!\033[0m"));
  EXPECT_THAT(page(cluster, {.width = 400}), Not(HasSubstr("\033")));
}

TEST(PreflightPage, OfManyHostsThoseThatSufferAreShown) {
  const std::string text = page("racks");
  EXPECT_THAT(row(text, "gpu21"), Optional(StartsWith("2.10! 2.10! ")));
  EXPECT_THAT(row(text, "gpu40"), Optional(StartsWith("9.46 ")));
  EXPECT_THAT(row(text, "…"), Optional(StartsWith("and 51 hosts")));
  EXPECT_LE(widest(text.substr(text.find("Throughput"))), 100U);
}

TEST(PreflightPage, WhoIsNotThereIsNamedWithTheTestThatItLeft) {
  EXPECT_THAT(page("full", 120), HasSubstr("(during throughput to gpu4)"));
  EXPECT_THAT(page("clean"), Not(HasSubstr("not there")));
}

TEST(PreflightPage, WhatWasNotTestedIsSaid) {
  EXPECT_EQ(row(page("full"), "left out"), made_cluster_named("full").measured.left_out.front());
}

TEST(PreflightPage, WithoutAnyPairThereIsNoMap) {
  const std::string text = page("empty");
  EXPECT_THAT(text, AllOf(HasSubstr("unresolved"), HasSubstr("refused"),
                          Not(HasSubstr("Throughput")), Not(HasSubstr("round trip"))));
}

TEST(PreflightPage, HostileTextsMoveNoCursor) {
  const std::string text = page("hostile");
  EXPECT_THAT(text, AllOf(Not(HasSubstr("\033")), Not(HasSubstr("\xff")), Not(HasSubstr("\u202E")),
                          HasSubstr("</script>")));
}

TEST(HeatMap, TellsFailedFromUntested) {
  MadeCluster cluster = made_cluster(4);
  for (const auto& [from, to] : {std::pair(0U, 1U), std::pair(1U, 0U), std::pair(2U, 3U)}) {
    path_of(cluster, from, to).tcp_mbps.reset();
  }
  cluster.measured.troubles.push_back({.a = 0, .b = 1, .test = "tcp"});
  const HeatMap map = heat_map(cluster.measured, 10);
  EXPECT_EQ(map.at(0, 0).state, HeatState::Own);
  EXPECT_EQ(map.at(0, 1).state, HeatState::Failed);
  EXPECT_EQ(map.at(1, 0).state, HeatState::Failed);
  EXPECT_EQ(map.at(2, 3).state, HeatState::Untested);
  EXPECT_EQ(map.at(3, 2).state, HeatState::Measured);
}

TEST(HeatMap, WhatWasMeasuredAloneCounts) {
  MadeCluster cluster = made_cluster(3);
  path_of(cluster, 2, 1).tcp_mbps = 1000;
  path_of(cluster, 2, 1).alone_mbps = 9000;
  EXPECT_EQ(heat_map(cluster.measured, 10).at(2, 1).share, 0.9F);
}

TEST(HeatMap, KeepsTheOrderOfHosts) {
  const MadeCluster cluster = made_cluster_named("racks");
  const HeatMap map = heat_map(cluster.measured, 20);
  EXPECT_TRUE(std::ranges::is_sorted(map.hosts));
  EXPECT_THAT(map.hosts, testing::IsSupersetOf({7U, 12U, 21U, 40U, 55U}));
  EXPECT_EQ(map.hosts.size() + map.left_out, 63U);
}

TEST(Summary, SaysEachInALine) {
  MadeCluster cluster = made_cluster_named("eight");
  EXPECT_THAT(
      summary_of(cluster.measured),
      ElementsAre(
          Pair("round trip", "80.0 µs at the median of 21 pairs, 80.6 µs at most (gpu1 and gpu2)"),
          Pair("loss", "on 6 of 42 paths, 0.55 % at most (gpu3 to gpu0)"),
          Pair("packet", "9000 bytes on 42 paths"),
          Pair("clocks", "at most 3.40 µs apart (gpu1 and gpu5)"),
          Pair("cut",
               "gpu4 to gpu7 | gpu0 to gpu3: 20.3 Gb/s together, 37.6 Gb/s one by one "
               "(54 %)"),
          Pair("all-reduce", "gloo, 8 ranks, 64 MiB: 8.90 Gb/s in 118 ms")));
}

TEST(Summary, SaysNothingOfWhatWasNotMeasured) {
  EXPECT_THAT(summary_of(Measured{}), ElementsAre());
}

TEST(Summary, ACollectiveThatFailedSaysWhy) {
  Measured measured;
  measured.collective =
      CollectiveResult{.backend = "gloo",
                       .ranks = 3,
                       .error = Error{ErrorKind::Timeout, "collective", "gpu1", 0, "no answer"}};
  EXPECT_THAT(summary_of(measured),
              ElementsAre(Pair("all-reduce", "gloo, 3 ranks: collective: gpu1: no answer")));
}

TEST(Summary, NoFigureIsTooLargeToBeTold) {
  MadeCluster cluster = made_cluster(2);
  cluster.measured.pairs[0].rtt_ms = cluster.measured.pairs[0].clock_offset_ms = 1e15F;
  EXPECT_THAT(summary_of(cluster.measured)[0].second, Not(HasSubstr("-")));
}

TEST(Summary, HostsThatStandTogetherAreToldTogether) {
  const MadeCluster cluster = made_cluster(9);
  EXPECT_EQ(hosts_in_words(cluster.measured, {8, 0, 1, 2, 4, 5}), "gpu0 to gpu2, gpu4, gpu5, gpu8");
}

}  // namespace
}  // namespace chokepoint::preflight
