#include "analysis/attribution/ceilings.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "analysis/attribution/diagnose.h"
#include "analysis/load/given_probes.h"
#include "base/documents/collective.h"
#include "base/documents/pcie.h"
#include "base/documents/rdma.h"
#include "base/record/names.h"
#include "tests/analysis/made_probe.h"
#include "tests/analysis/made_run.h"
#include "tests/fakes/printed.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;
using testing::AllOf;
using testing::Contains;
using testing::DoubleNear;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::SizeIs;

constexpr std::int64_t kHourNs = 3'600'000'000'000;

// a sends to b at 900 Mb/s over a link that is full.
class Ceilings : public testing::Test {
 protected:
  Ceilings() {
    made_.host("a");
    made_.host("b");
    made_.add_traffic(made_.connect("a", "b"), Direction::AToB, full_link());
    made_.data.nodes[0].host = "host-a";
    made_.data.nodes[1].host = "host-b";
  }
  void probe(double mbps, const char* address = "10.0.0.2") {
    NodeData& node = made_.node("a");
    node.probes.push_back({.id = 1,
                           .t_ns = node.span.start_ns - 21 * kHourNs,
                           .kind = "tcp",
                           .document = made_tcp(documents::Direction::Send, address, mbps)});
  }
  Diagnosis diagnosis() const { return diagnose(made_.data); }

  MadeRun made_{{.step_ms = 100, .steps = 20}};
};

TEST_F(Ceilings, AreWhatAProbeCarriedOverTheJobsPath) {
  probe(1800);
  const Diagnosis found = diagnosis();
  ASSERT_THAT(found.ceilings, SizeIs(1));
  const Ceiling& ceiling = found.ceilings[0];
  EXPECT_EQ(ceiling.from + ceiling.to + ceiling.probe, "abtcp");
  EXPECT_EQ(ceiling.probe_value, 1800);
  EXPECT_THAT(ceiling.share_percent(), Optional(DoubleNear(50, 4)));
  EXPECT_THAT(sentence_of(ceiling),
              HasSubstr("of what probe tcp carried 21 h before (1.80 Gb/s), the job reached"));
  EXPECT_THAT(found.verdict.evidence,
              Contains(AllOf(Field(&Evidence::what, HasSubstr("21 h before")),
                             Field(&Evidence::from, "probe 1 tcp of a"))));
}

TEST_F(Ceilings, OfAnotherPathSayNothing) {
  probe(1800, "10.9.9.9");
  EXPECT_THAT(diagnosis().ceilings, IsEmpty());
}

TEST_F(Ceilings, FarAboveAFullLinkLowerTheConfidenceAndNothingElse) {
  const Diagnosis without = diagnosis();
  ASSERT_EQ(without.verdict.verdict, VerdictClass::LanBandwidth);
  probe(9000);
  const Diagnosis with = diagnosis();
  EXPECT_EQ(with.verdict.verdict, without.verdict.verdict);
  EXPECT_EQ(with.verdict.cause, without.verdict.cause);
  EXPECT_EQ(with.verdict.lost_ms_per_step, without.verdict.lost_ms_per_step);
  EXPECT_NEAR(with.verdict.confidence, 0.6 * without.verdict.confidence, 0.006);
  EXPECT_THAT(with.verdict.against, HasSubstr("the job reached 10 %"));
  EXPECT_EQ(with.ceilings[0].support, Support::Against);
}

TEST_F(Ceilings, ThatTheJobReachedGoWithAFullLink) {
  const double confidence = diagnosis().verdict.confidence;
  probe(920);
  const Diagnosis with = diagnosis();
  EXPECT_EQ(with.ceilings[0].support, Support::For);
  EXPECT_EQ(with.verdict.confidence, confidence);
  EXPECT_EQ(with.verdict.against, "");
}

TEST_F(Ceilings, ThatTheJobReachedDoNotGoWithAWindow) {
  MadeRun made{{.step_ms = 100, .steps = 20}};
  made.host("a");
  made.host("b");
  MadeTraffic window{.mbps = 90, .min_rtt_us = 20'000, .rtt_us = 20'100, .receive_window = 0.95};
  made.add_traffic(made.connect("a", "b"), Direction::AToB, window);
  const Diagnosis without = diagnose(made.data);
  ASSERT_EQ(without.verdict.verdict, VerdictClass::WanLatency);
  const auto with = [&](double mbps) {
    NodeData& node = made.node("a");
    node.probes = {
        {.kind = "tcp", .document = made_tcp(documents::Direction::Send, "10.0.0.2", mbps)}};
    return diagnose(made.data);
  };
  EXPECT_EQ(with(1000).ceilings.at(0).support, Support::For);
  const Diagnosis full = with(90);
  EXPECT_EQ(full.ceilings.at(0).support, Support::Against);
  EXPECT_LT(full.verdict.confidence, without.verdict.confidence);
}

TEST_F(Ceilings, ALaterProbeTakesTheEarlierOnesPlace) {
  probe(1800);
  probe(1200);
  const Diagnosis found = diagnosis();
  ASSERT_THAT(found.ceilings, SizeIs(1));
  EXPECT_EQ(found.ceilings[0].probe_value, 1200);
}

TEST_F(Ceilings, ThatTheJobWentBeyondSayNothing) {
  probe(300);
  const Diagnosis with = diagnosis();
  EXPECT_EQ(with.ceilings.at(0).support, Support::Nothing);
  EXPECT_EQ(with.verdict.against, "");
}

TEST_F(Ceilings, ARateThatWasAskedForIsNone) {
  const auto udp = [&](std::optional<documents::UdpSearch> search, double carried) {
    const documents::ProbeUdp measured{
        .peer = {.address = "10.0.0.2"},
        .asked_mbps = 2000,
        .search = search,
        .by_direction = {.only = documents::UdpFigures{.throughput_mbps = carried}}};
    made_.node("a").probes = {{.kind = "udp", .document = fakes::printed_text(measured)}};
    return diagnosis().ceilings.size();
  };
  EXPECT_EQ(udp({}, 1990), 0U);
  EXPECT_EQ(udp({}, 1200), 1U) << "the path did not carry it";
  EXPECT_EQ(udp(documents::UdpSearch{}, 1990), 1U) << "a search found it";
}

TEST_F(Ceilings, OfLatencyAreTheUnloadedRoundTrip) {
  made_.node("a").probes.push_back({.kind = "latency", .document = made_latency("10.0.0.2", 0.05)});
  const Diagnosis found = diagnosis();
  ASSERT_THAT(found.ceilings, SizeIs(2)) << "one each way";
  EXPECT_THAT(found.ceilings[0].job_value, Optional(DoubleNear(0.1, 0.001)));
  EXPECT_EQ(found.ceilings[0].share_percent(), std::nullopt);
  EXPECT_THAT(sentence_of(found.ceilings[0]), HasSubstr("unloaded round trip by probe latency"));
}

TEST_F(Ceilings, OfAGpusLinkAreItsCopies) {
  NodeData& node = made_.node("a");
  made_.gauge(node, record::kGpuPcieReceived, "0000:3b:00.0", 5e8);
  const documents::Pcie measured{
      .devices = {{.bus_id = "0000:3b:00.0", .copies = {.to_gpu_mbps = 40'000}}}};
  node.probes.push_back({.kind = "pcie", .document = fakes::printed_text(measured)});
  const Diagnosis found = diagnosis();
  ASSERT_THAT(found.ceilings, SizeIs(1));
  EXPECT_EQ(found.ceilings[0].what, "copies to the GPU");
  EXPECT_EQ(found.ceilings[0].device, "0000:3b:00.0");
  EXPECT_THAT(found.ceilings[0].share_percent(), Optional(DoubleNear(10, 0.1)));
}

TEST_F(Ceilings, OfAnRdmaPortAreItsFastestSecond) {
  NodeData& node = made_.node("a");
  made_.counter(node, record::kRdmaSentBytes, "mlx5_0/1", 1e9);
  const documents::Rdma measured{.device = "mlx5_0", .figures = {.average_mbps = 16'000}};
  node.probes.push_back({.kind = "rdma", .document = fakes::printed_text(measured)});
  const Diagnosis found = diagnosis();
  ASSERT_THAT(found.ceilings, SizeIs(1));
  EXPECT_EQ(found.ceilings[0].device, "mlx5_0/1");
  EXPECT_THAT(found.ceilings[0].share_percent(), Optional(DoubleNear(50, 0.1)));
}

TEST_F(Ceilings, OfCollectivesAreThoseOfTheSameSize) {
  made_.collectives(40, {0, 0});
  constexpr std::uint64_t kBytes = 1'000'000;
  for (NodeData& node : made_.data.nodes) {
    for (record::Collective& row : node.collectives) {
      row.bytes = kBytes;
    }
  }
  made_.node("a").probes.push_back(
      {.kind = "collective",
       .document = fakes::printed_text(
           documents::Collective{.collective = "all-reduce",
                                 .sizes = {{.bytes = kBytes, .algbw_mbps = kBytes * 8 / 20e3},
                                           {.bytes = kBytes * 100, .algbw_mbps = 1}}})});
  const Diagnosis found = diagnosis();
  ASSERT_THAT(found.ceilings, SizeIs(1));
  EXPECT_THAT(found.ceilings[0].what, HasSubstr("all-reduce of"));
  EXPECT_THAT(found.ceilings[0].share_percent(), Optional(DoubleNear(50, 2)));
}

// Of two kinds of which one's name begins as the other's does, neither takes the other's place.
TEST_F(Ceilings, OfEachKindOfCollectiveAreKept) {
  made_.collectives(40, {0, 0});
  constexpr std::int64_t kBytes = 1'000'000;
  for (NodeData& node : made_.data.nodes) {
    for (std::size_t at = 0; at < node.collectives.size(); ++at) {
      node.collectives[at].bytes = kBytes;
      node.collectives[at].kind =
          at % 2 == 0 ? record::CollectiveKind::ReduceScatter : record::CollectiveKind::Reduce;
    }
  }
  for (const auto kind : {record::CollectiveKind::ReduceScatter, record::CollectiveKind::Reduce}) {
    made_.node("a").probes.push_back({.kind = "collective",
                                      .document = fakes::printed_text(documents::Collective{
                                          .collective = std::string(word_of(kind)),
                                          .sizes = {{.bytes = kBytes, .algbw_mbps = 400}}})});
  }
  EXPECT_THAT(diagnosis().ceilings, SizeIs(2));
}

TEST_F(Ceilings, OfDocumentsThatMakeNoSenseAreNone) {
  for (const char* kind : {"tcp", "latency", "pcie", "rdma", "collective"}) {
    for (const char* text : {"", "[]", R"({"devices":7,"sizes":[[],{"bytes":-1}],"peer":[]})",
                             R"({"schema":"chokepoint.pcie/1","devices":7})",
                             R"({"schema":"chokepoint.collective/1","sizes":[[],{"bytes":-1}]})"}) {
      made_.node("a").probes.push_back({.kind = kind, .document = text});
    }
  }
  EXPECT_THAT(diagnosis().ceilings, IsEmpty());
}

TEST_F(Ceilings, AGivenDocumentIsAmongTheProbesOfItsHost) {
  const auto given =
      given_probe(made_tcp(documents::Direction::Send, "10.0.0.2", 1800), "before.json");
  ASSERT_TRUE(given);
  ASSERT_TRUE(add_to(made_.data, *given));
  const Diagnosis found = diagnosis();
  ASSERT_THAT(found.ceilings, SizeIs(1));
  EXPECT_EQ(found.ceilings[0].source, "before.json");
}

// As namespaces of one machine have it.
TEST_F(Ceilings, OfTwoNodesWithOneNameThePeerIsNotTheProber) {
  made_.data.nodes[0].host = made_.data.nodes[1].host = "vm";
  GivenProbe given{.file = "f.json", .host = "vm", .peer_address = "10.0.0.2"};
  ASSERT_TRUE(add_to(made_.data, given));
  EXPECT_THAT(made_.node("a").probes, SizeIs(1));
  given.peer_address.clear();
  EXPECT_THAT(describe(add_to(made_.data, given).error()), HasSubstr("several nodes"));
  given.host = "elsewhere";
  EXPECT_THAT(describe(add_to(made_.data, given).error()), HasSubstr("no node of this run"));
}

TEST(GivenProbes, AreRefusedInOneLine) {
  const auto reason = [](const std::string& text) {
    const auto given = given_probe(text, "x.json");
    return given ? std::string() : describe(given.error());
  };
  EXPECT_THAT(reason("x"), HasSubstr("x.json: it is no JSON object"));
  EXPECT_THAT(reason("{}"), HasSubstr("names no schema"));
  EXPECT_THAT(reason(R"({"schema":"chokepoint.doctor/1"})"), HasSubstr("measures no ceiling"));
  EXPECT_EQ(reason(R"({"schema":"chokepoint.pcie/1","peer":7,"started_at":"9999-99-99T"})"), "");
}

}  // namespace
}  // namespace chokepoint::analysis
