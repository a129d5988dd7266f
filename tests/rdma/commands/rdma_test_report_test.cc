#include "rdma/commands/rdma_test_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>

#include "base/documents/document.h"
#include "tests/fakes/golden.h"
#include "tests/fakes/manual_clock.h"

namespace chokepoint::rdma {
namespace {

using session::Round;
using session::Trial;

Round round_of(verbs::Transport transport, bool both_ways) {
  Round round;
  round.plan.transport = transport;
  round.plan.both_ways = both_ways;
  round.client = {.messages = 100, .duration_s = 2, .average_mbps = 800, .messages_per_s = 50};
  round.server = {.messages = 90, .duration_s = 3, .average_mbps = 700, .messages_per_s = 45};
  return round;
}

TEST(RdmaFiguresTest, OneWayIsWhatTheActiveSideSaw) {
  const documents::RdmaFigures figures = figures_of(round_of(verbs::Transport::Rc, false));
  EXPECT_EQ(figures.iterations, 100U);
  EXPECT_EQ(figures.average_mbps, 800);
  EXPECT_EQ(figures.lost, std::nullopt);
}

TEST(RdmaFiguresTest, BothWaysIsTheSum) {
  const documents::RdmaFigures figures = figures_of(round_of(verbs::Transport::Rc, true));
  EXPECT_EQ(figures.iterations, 190U);
  EXPECT_EQ(figures.average_mbps, 1500);
  EXPECT_EQ(figures.duration_s, 3);
}

TEST(RdmaFiguresTest, WhereMessagesMayGetLostThoseThatArriveCount) {
  Round round = round_of(verbs::Transport::Uc, false);
  round.plan.operation = verbs::Operation::Send;
  EXPECT_EQ(figures_of(round).average_mbps, 700);
  EXPECT_EQ(figures_of(round).lost, 10U);
  round.plan.operation = verbs::Operation::Write;
  round.server = {};
  EXPECT_EQ(figures_of(round).average_mbps, 800) << "who is written to counts nothing";
  EXPECT_EQ(figures_of(round).lost, std::nullopt);
}

TEST(RdmaFiguresTest, WhereNothingArrivesAllIsLost) {
  Round round = round_of(verbs::Transport::Ud, false);
  round.plan.operation = verbs::Operation::Send;
  round.server = {};
  EXPECT_EQ(figures_of(round).average_mbps, std::nullopt);
  EXPECT_EQ(figures_of(round).iterations, 0U);
  EXPECT_EQ(figures_of(round).lost, 100U);
}

TEST(RdmaFiguresTest, LatencyIsWhatTheActiveSideSaw) {
  Round round = round_of(verbs::Transport::Ud, false);
  round.plan.operation = verbs::Operation::Send;
  round.plan.metric = perf::Metric::Latency;
  EXPECT_EQ(figures_of(round).iterations, 100U);
  EXPECT_EQ(figures_of(round).lost, std::nullopt);
}

TEST(RdmaFiguresTest, MismatchesOfBothSidesAreOneFigure) {
  Round round = round_of(verbs::Transport::Rc, true);
  EXPECT_EQ(figures_of(round).mismatches, std::nullopt);
  round.server.mismatches = 2;
  EXPECT_EQ(figures_of(round).mismatches, 2U);
  round.client.mismatches = 1;
  EXPECT_EQ(figures_of(round).mismatches, 3U);
}

Trial trial_over(const std::string& gid, int mtu) {
  Trial trial;
  trial.client.ethernet = trial.server.ethernet = true;
  trial.client.rate = trial.server.rate = "100 Gb/sec (4X EDR)";
  trial.client.gid = session::gid_of(net::Address::parse(gid).value());
  trial.agreement.mtu_bytes = mtu;
  return trial;
}

TEST(RdmaFiguresTest, TheCeilingIsTheLineLessTheHeadersOfEachPacket) {
  EXPECT_NEAR(ceiling_mbps(trial_over("10.0.0.1", 4096), 65536).value(), 98'037, 1);
  EXPECT_NEAR(ceiling_mbps(trial_over("10.0.0.1", 1024), 65536).value(), 92'586, 1);
  EXPECT_NEAR(ceiling_mbps(trial_over("2001:db8::1", 4096), 65536).value(), 97'570, 1);
  EXPECT_NEAR(ceiling_mbps(trial_over("10.0.0.1", 4096), 82).value(), 50'000, 1);
}

TEST(RdmaFiguresTest, TheSlowerPortCounts) {
  Trial trial = trial_over("10.0.0.1", 4096);
  trial.server.rate = "25 Gb/sec (1X EDR)";
  EXPECT_NEAR(ceiling_mbps(trial, 65536).value(), 24'509, 1);
  trial.parameters.both_ways = true;
  EXPECT_NEAR(ceiling_mbps(trial, 65536).value(), 49'018, 1);
  trial.server.rate.clear();
  EXPECT_EQ(ceiling_mbps(trial, 65536), std::nullopt);
}

using cli::Json;
using session::Round;
using session::Trial;
using testing::HasSubstr;
using testing::Not;

session::SideFacts side(const std::string& device, const std::string& gid) {
  return {.device = device,
          .netdev = "eth0",
          .rate = "100 Gb/sec (4X EDR)",
          .ethernet = true,
          .gid_index = 3,
          .gid = session::gid_of(net::Address::parse(gid).value()),
          .gid_type = verbs::GidType::RoceV2,
          .active_mtu_bytes = 4096};
}

Trial trial_of(perf::Metric metric, const std::vector<std::uint32_t>& sizes) {
  Trial trial;
  trial.parameters = {.metric = metric, .sizes = sizes};
  trial.client = side("mlx5_0", "10.0.0.1");
  trial.server = side("mlx5_1", "10.0.0.2");
  trial.agreement.mtu_bytes = 4096;
  for (const std::uint32_t size : sizes) {
    Round round;
    round.plan = {.metric = metric, .message_bytes = size, .iterations = 1000};
    round.client = {.messages = 1000, .duration_s = 0.5};
    if (metric == perf::Metric::Bandwidth) {
      round.client.average_mbps = 49'000;
    } else {
      round.client.latency_ns.emplace();
      round.client.latency_ns->add(1500, 998);
      round.client.latency_ns->add(9000, 2);
    }
    trial.agreement.rounds.push_back(round.plan);
    trial.rounds.push_back(std::move(round));
  }
  trial.client_counters.grown["sent_packets"] = 77;
  return trial;
}

Json json_of(const Trial& trial) {
  return json::to_json(document_of(trial, {.sentence = "the fabric was clean"}));
}

const documents::Peer kPeer{.host = "voyager",
                            .address = "10.0.0.2",
                            .port = 5210,
                            .name = "voyager",
                            .software = "chokepoint"};

template <documents::Document T>
Json with_head(const T& measured) {
  Json document = {{"schema", Fields<T>::kSchema},
                   {"host", "hubble"},
                   {"started_at", "2026-11-26T20:00:00.000Z"}};
  document.update(json::to_json(measured));
  document["host_facts"] = {{"own", {{"kernel", {{"release", "6.1.0"}}}}}, {"peer", nullptr}};
  return document;
}

Json whole_document_of(const Trial& trial) {
  documents::Rdma measured =
      document_of(trial, {.status = fabric::Status::Clean, .sentence = "the fabric was clean"});
  measured.peer = kPeer;
  return with_head(measured);
}

std::string kept_document(const std::string& name) {
  std::ifstream file(std::string(CHOKEPOINT_FIXTURES) + "/../rdma/commands/documents/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// tests/reference holds these against docs/reference/schemas/rdma.schema.json.
TEST(RdmaReportTest, DocumentsAreTheKeptOnes) {
  EXPECT_EQ(whole_document_of(trial_of(perf::Metric::Bandwidth, {65536})).dump(2) + "\n",
            kept_document("bandwidth.json"));
  EXPECT_EQ(whole_document_of(trial_of(perf::Metric::Latency, {2, 4})).dump(2) + "\n",
            kept_document("latency_sweep.json"));
}

documents::RdmaFlows slow_flows() {
  session::FlowSweep sweep{.trial = trial_of(perf::Metric::Bandwidth, {65536})};
  sweep.trial.parameters.time = std::chrono::milliseconds(250);
  for (std::uint32_t label = 1; label <= 16; ++label) {
    const double mbps = label % 2 == 0 ? 900 : 9000;
    sweep.flows.push_back({.label = label, .first_mbps = mbps, .second_mbps = mbps});
  }
  sweep.flows[3].second_mbps = 0;
  sweep.flows[3].failure = "hubble: no acknowledgement in time";
  documents::RdmaFlows flows = session::judged(sweep);
  flows.peer = kPeer;
  return flows;
}

TEST(RdmaReportTest, TheDocumentOfFlowsIsTheKeptOne) {
  EXPECT_EQ(with_head(slow_flows()).dump(2) + "\n", kept_document("flows.json"));
}

std::string printed(const std::function<void(const cli::Context&)>& print) {
  std::ostringstream out;
  std::ostringstream err;
  const fakes::ManualClock clock;
  print({.out = out,
         .err = err,
         .clock = clock,
         .root = sys::Root("/nowhere"),
         .environment = [](const std::string&) { return std::nullopt; },
         .out_terminal = {},
         .err_terminal = {}});
  return out.str();
}

std::string page_of(const Trial& trial) {
  return printed([&](const cli::Context& context) {
    print_page(context, trial, {.sentence = "the fabric was clean"}, "hubble");
  });
}

TEST(RdmaReportTest, PictureOfFlows) {
  EXPECT_GOLDEN("rdma_flows",
                printed([](const cli::Context& context) { print_page(context, slow_flows()); }));
}

TEST(RdmaReportTest, BandwidthHasFiguresAndNoLatency) {
  const Json told = json_of(trial_of(perf::Metric::Bandwidth, {65536}));
  EXPECT_EQ(told["average_mbps"], 49'000);
  EXPECT_EQ(told["peak_mbps"], nullptr) << "not measured is not 0";
  EXPECT_EQ(told["latency_us"], nullptr);
  EXPECT_EQ(told["iterations"], 1000);
  EXPECT_NEAR(told["ceiling_percent"].get<double>(), 49.98, 0.01);
  EXPECT_EQ(told["counters"]["sent_packets"], 77);
  EXPECT_EQ(told["sides"]["there"]["gid"], "10.0.0.2");
  EXPECT_EQ(told["sizes"].size(), 1U);
}

TEST(RdmaReportTest, WhoIsWrittenToCountsNothing) {
  Trial trial = trial_of(perf::Metric::Bandwidth, {65536});
  trial.rounds.front().server = {.cpu_percent = 5};
  EXPECT_EQ(json_of(trial)["here"]["messages"], 1000);
  EXPECT_EQ(json_of(trial)["there"]["messages"], nullptr);
  EXPECT_EQ(json_of(trial)["there"]["duration_s"], nullptr);
  EXPECT_EQ(json_of(trial)["there"]["cpu_percent"], 5);
  trial.rounds.front().plan.operation = verbs::Operation::Send;
  EXPECT_EQ(json_of(trial)["there"]["messages"], 0) << "nothing came";
}

TEST(RdmaReportTest, LatencyIsADistributionInMicroseconds) {
  const Json told = json_of(trial_of(perf::Metric::Latency, {2}));
  EXPECT_EQ(told["latency_us"]["min"], 1.5);
  EXPECT_EQ(told["latency_us"]["max"], 9.0);
  EXPECT_NEAR(told["latency_us"]["median"].get<double>(), 1.5, 0.02);
  EXPECT_NEAR(told["latency_us"]["p999"].get<double>(), 9.0, 0.1);
  EXPECT_EQ(told["latency_us"]["count"], 1000);
  EXPECT_EQ(told["ceiling_mbps"], nullptr);
}

TEST(RdmaReportTest, ASweepHasFiguresOfEachSizeAndNoneOfItsOwn) {
  const Json told = json_of(trial_of(perf::Metric::Bandwidth, {2, 4}));
  EXPECT_EQ(told["average_mbps"], nullptr);
  EXPECT_EQ(told.at("message_bytes"), nullptr);
  EXPECT_EQ(told.at("there"), nullptr);
  EXPECT_EQ(told["sizes"][1]["message_bytes"], 4);
  EXPECT_EQ(told["sizes"][1]["average_mbps"], 49'000);
}

TEST(RdmaReportTest, PictureOfEachMetric) {
  EXPECT_GOLDEN("rdma_bandwidth", page_of(trial_of(perf::Metric::Bandwidth, {65536})));
  EXPECT_GOLDEN("rdma_latency", page_of(trial_of(perf::Metric::Latency, {2})));
  EXPECT_GOLDEN("rdma_latency_sweep", page_of(trial_of(perf::Metric::Latency, {2, 4})));
}

TEST(RdmaReportTest, AnInterruptedTestWithoutARoundIsStillAPage) {
  Trial trial = trial_of(perf::Metric::Bandwidth, {65536});
  trial.rounds.clear();
  trial.interrupted = true;
  EXPECT_THAT(page_of(trial), HasSubstr("Interrupted"));
  EXPECT_EQ(json_of(trial)["average_mbps"], nullptr);
}

TEST(RdmaReportTest, HostileNamesOfAPeerDoNotMoveTheCursor) {
  Trial trial = trial_of(perf::Metric::Bandwidth, {65536});
  trial.server.device = "rxe\x1b[2J";
  trial.server.netdev = "a\nb";
  trial.agreement.lowered = {"MTU of \x1b[2J"};
  EXPECT_THAT(page_of(trial), Not(HasSubstr("\x1b[2J")));
}

}  // namespace

}  // namespace chokepoint::rdma
