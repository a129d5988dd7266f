#include "preflight/report/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "preflight/report/finding_text.h"
#include "tests/preflight/report/made_cluster.h"
#include "tests/preflight/report/quiet_context.h"

namespace chokepoint::preflight {
namespace {

using cli::Json;
using testing::ElementsAre;
using testing::HasSubstr;

Json document_named(std::string_view kind) {
  const MadeCluster cluster = made_cluster_named(kind);
  const QuietContext quiet;
  return document_of(quiet.context, cluster.measured, cluster.judgement);
}

TEST(PreflightDocument, BeginsAsAllDocumentsDoAndTellsTheVerdict) {
  const Json document = document_named("four");
  EXPECT_EQ(document["schema"], "chokepoint.preflight/1");
  EXPECT_TRUE(document["host"].is_string());
  EXPECT_EQ(document["started_at"], "2026-11-18T11:06:40.000Z");
  EXPECT_EQ(document["verdict"], "CRITICAL");
  EXPECT_EQ(document["plan"], "default");
  EXPECT_EQ(document["sampled"], false);
  EXPECT_EQ(document["interrupted"], false);
}

TEST(PreflightDocument, AFindingSaysWhereItIsToBeLookedFor) {
  const Json check = document_named("four")["checks"][0];
  EXPECT_EQ(check["id"], "throughput.way");
  EXPECT_EQ(check["status"], "CRITICAL");
  EXPECT_EQ(check["subject"], "gpu2 to gpu0");
  EXPECT_EQ(check["place"], "way");
  EXPECT_EQ(check["hosts"], Json({2, 0}));
  EXPECT_EQ(check["ways"], Json::array({Json({2, 0})}));
  EXPECT_EQ(check["evidence"][0]["value"], 943.7);
  EXPECT_EQ(check["evidence"][0]["unit"], "Mb/s");
}

TEST(PreflightDocument, PairsAreListsOfTheSameLength) {
  const Json pairs = document_named("four")["pairs"];
  EXPECT_EQ(pairs["count"], 6);
  EXPECT_EQ(pairs["a"], Json({0, 0, 0, 1, 1, 2}));
  EXPECT_EQ(pairs["b"], Json({1, 2, 3, 2, 3, 3}));
  EXPECT_EQ(pairs["there"]["tcp_mbps"].size(), 6U);
  EXPECT_EQ(pairs["back"]["alone_mbps"],
            Json({nullptr, 943.7, nullptr, nullptr, nullptr, nullptr}));
  EXPECT_EQ(pairs["back"]["expected_share"][1], 0.094);
  EXPECT_EQ(pairs["back"]["tcp_limit"][1], "network");
}

TEST(PreflightDocument, WhatWasMeasuredNowhereIsNull) {
  const Json pairs = document_named("clean")["pairs"];
  EXPECT_TRUE(pairs["there"].contains("rdma_mbps"));
  EXPECT_TRUE(pairs["there"]["rdma_mbps"].is_null());
  EXPECT_TRUE(pairs["rdma_latency_us"].is_null());
  EXPECT_EQ(pairs["there"]["loss_percent"], Json({0, 0, 0, 0, 0, 0}));
}

TEST(PreflightDocument, EachAnswerToANameStandsThereOnce) {
  const Json names = document_named("eight")["names"];
  ASSERT_EQ(names.size(), 9U);
  const Json own = names[1];
  EXPECT_EQ(own["asked"], 1);
  EXPECT_EQ(own["addresses"], Json::array({"10.0.0.2"}));
  EXPECT_EQ(own["by"], Json({0, 2, 3, 4, 5, 7}));
  EXPECT_EQ(names[2]["addresses"], Json::array({"127.0.1.1"}));
  EXPECT_EQ(names[2]["by"], Json::array({1}));
}

TEST(PreflightDocument, AnAbsentHostSaysWhy) {
  const Json host = document_named("eight")["hosts"][6];
  EXPECT_EQ(host["presence"], "unreachable");
  EXPECT_EQ(host["error"]["reason"], "no route to host");
  EXPECT_TRUE(host["facts"].is_null());
  EXPECT_TRUE(host["link_mbps"].is_null());
}

TEST(PreflightDocument, FewDigitsTellAFigure) {
  EXPECT_THAT(document_named("four").dump(), HasSubstr(",943.7,"));
}

TEST(Sentence, NamesTheWorstAndCountsTheRest) {
  const MadeCluster cluster = made_cluster_named("four");
  EXPECT_EQ(sentence_of(cluster.measured, cluster.judgement),
            "4 hosts, 6 pairs: gpu2 to gpu0: 944 Mb/s, alone as beside the others; 9.41 Gb/s back "
            "(wanted: 10 Gb/s of both links); 1 more finding");
}

TEST(Sentence, SaysWhenNothingIsWrongAndWhenNotAllWasMeasured) {
  MadeCluster cluster = made_cluster(4);
  EXPECT_EQ(sentence_of(cluster.measured, cluster.judgement),
            "4 hosts, 6 pairs: nothing wrong was found");
  cluster.measured.was_interrupted = cluster.measured.is_sampled = true;
  cluster.measured.hosts[0].presence = Presence::Lost;
  EXPECT_EQ(sentence_of(cluster.measured, cluster.judgement),
            "3 of 4 hosts, 6 pairs of a sample: nothing wrong was found; interrupted, so not all "
            "was measured");
}

TEST(Sentence, CountsWhatNobodyLookedAt) {
  MadeCluster cluster = made_cluster(4);
  cluster.measured.pairs[2] = {.a = 0, .b = 3};
  EXPECT_EQ(sentence_of(cluster.measured, cluster.judgement),
            "4 hosts, 6 pairs: nothing wrong was found; 1 pair not tested");
  for (PairResult& pair : cluster.measured.pairs) {
    pair = {.a = pair.a, .b = pair.b};
  }
  EXPECT_EQ(sentence_of(cluster.measured, cluster.judgement),
            "4 hosts, 6 pairs: nothing wrong was found; none of the pairs was tested");
}

TEST(ExpectedRates, IsTheSlowerOfBothLinksAndSlots) {
  MadeCluster cluster = made_cluster(3);
  auto& slot = cluster.measured.hosts[1].facts->interfaces[1];
  slot.pci_mbps = 4000;
  const ExpectedRates expected(cluster.measured);
  EXPECT_TRUE(expected.is_by_links());
  EXPECT_EQ(expected.mbps(0, 1), 4000);
}

TEST(ExpectedRates, OneKnownLinkIsABoundAlone) {
  MadeCluster cluster = made_cluster(3);
  cluster.measured.hosts[2].facts.reset();
  path_of(cluster, 0, 1).tcp_mbps = 20000;
  EXPECT_EQ(ExpectedRates(cluster.measured).mbps(2, 0), 10000);
  path_of(cluster, 0, 1).tcp_mbps = 9600;
  EXPECT_EQ(ExpectedRates(cluster.measured).mbps(2, 0), 9600);
}

TEST(ExpectedRates, WithoutLinksIsTheFastestWay) {
  MadeCluster cluster = made_cluster(3);
  for (HostResult& host : cluster.measured.hosts) {
    host.facts->interfaces[1].speed_mbps.reset();
    host.facts->interfaces[1].pci_mbps.reset();
  }
  path_of(cluster, 2, 0).tcp_mbps = 20000;
  path_of(cluster, 1, 0).tcp_mbps = 5000;
  const ExpectedRates expected(cluster.measured);
  EXPECT_FALSE(expected.is_by_links());
  EXPECT_EQ(expected.mbps(0, 1), 20000);
  EXPECT_EQ(expected.share(1, 0, path_of(cluster, 1, 0)), 0.25F);
}

TEST(ExpectedRates, KnowsNothingWhereNothingWasMeasured) {
  MadeCluster cluster = made_cluster(2);
  cluster.measured.hosts.front().facts.reset();
  cluster.measured.hosts.back().facts.reset();
  cluster.measured.pairs = {{.a = 0, .b = 1}};
  const ExpectedRates expected(cluster.measured);
  EXPECT_EQ(expected.mbps(0, 1), std::nullopt);
  EXPECT_EQ(expected.share(0, 1, {.tcp_mbps = 1}), std::nullopt);
}

}  // namespace
}  // namespace chokepoint::preflight
