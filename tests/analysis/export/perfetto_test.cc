#include "analysis/export/perfetto/perfetto.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "tests/analysis/export/made_export.h"

namespace chokepoint::analysis {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Key;
using testing::Pair;

class Perfetto : public testing::Test {
 protected:
  void SetUp() override {
    make_full_run(run_);
    trace_ = exported_trace(run_.folder());
  }
  std::set<std::string> paths() const {
    std::set<std::string> paths;
    for (const auto& [uuid, track] : trace_.tracks) {
      paths.insert(trace_.path_of(uuid));
    }
    return paths;
  }

  RunMaker run_;
  TraceContent trace_;
};

TEST_F(Perfetto, IsWithoutFaults) {
  EXPECT_THAT(trace_.faults, IsEmpty());
  EXPECT_GT(trace_.events.size(), 500U);
}

TEST_F(Perfetto, HasAProcessForEachRankAndNode) {
  std::set<std::string> processes;
  for (const auto& [uuid, track] : trace_.tracks) {
    if (track.is_process) {
      processes.insert(track.name);
    }
  }
  EXPECT_THAT(processes, ElementsAre("node a", "node b", "rank 0 on a", "rank 1 on b"));
}

TEST_F(Perfetto, HasARowForEverything) {
  const std::string flow = "rank 0 on a/connections/10.0.0.1:4000 > 10.0.0.2:5000 (rank 1 on b)";
  const std::vector<std::string> wanted{"rank 0 on a/steps from marks",
                                        "rank 0 on a/collectives",
                                        "rank 0 on a/waiting",
                                        flow,
                                        flow + "/throughput out",
                                        flow + "/throughput in",
                                        flow + "/data out",
                                        flow + "/congestion window out",
                                        flow + "/retransmitted out",
                                        "node a/nic/nic.sent_bytes eth0",
                                        "node a/cpu/cpu.busy_ns cpu3",
                                        "node a/gpu/gpu.utilization_percent 0000:3b:00.0",
                                        "node a/events",
                                        "node a/watched"};
  EXPECT_THAT(paths(), IsSupersetOf(wanted));
}

TEST_F(Perfetto, BringsNodesToOneClock) {
  // b's clock is a second ahead, and its steps begin when a's do.
  const auto a = trace_.on("rank 0 on a/steps from marks");
  const auto b = trace_.on("rank 1 on b/steps from marks");
  ASSERT_EQ(a.size(), 40U);
  ASSERT_EQ(b.size(), 40U);
  for (std::size_t place = 0; place < a.size(); ++place) {
    EXPECT_NEAR(static_cast<double>(a[place].time_ns), static_cast<double>(b[place].time_ns), 1e6);
  }
  EXPECT_EQ(a[0].name, "step 0");
  EXPECT_EQ(a[1].time_ns - a[0].time_ns, 100'000'000U);
  EXPECT_NEAR(static_cast<double>(a[0].time_ns), static_cast<double>(NodePlan().wall_ns), 1e6);
}

TEST_F(Perfetto, PutsCollectivesThatOverlapOnTracksOfOneName) {
  std::map<std::uint64_t, int> begun;
  for (const TraceEvent& event : trace_.on("rank 0 on a/collectives")) {
    begun[event.track] += event.type == 1 ? 1 : 0;
  }
  EXPECT_THAT(begun, ElementsAre(Pair(testing::_, 20), Pair(testing::_, 20)));
}

TEST_F(Perfetto, TellsOfEachCollectiveWhoWaitedForWhom) {
  const auto events = trace_.on("rank 0 on a/collectives");
  const TraceEvent& first = events.front();
  EXPECT_EQ(first.name, "all-reduce");
  EXPECT_THAT(first.notes, IsSupersetOf({Pair("bytes", "1000000"), Pair("waited_ms", "3"),
                                         Pair("last_to_come", "rank 1 on b"), Pair("number", "0"),
                                         Pair("source", "gloo")}));
  const auto waiting = trace_.on("rank 0 on a/waiting");
  ASSERT_EQ(waiting.size(), 80U);
  EXPECT_EQ(waiting[0].name, "waiting for rank 1 on b");
  EXPECT_EQ(waiting[1].time_ns - waiting[0].time_ns, 3'000'000U);
  EXPECT_THAT(trace_.on("rank 1 on b/waiting"), IsEmpty());
}

TEST_F(Perfetto, LinksThePartsOfACollective) {
  std::map<std::uint64_t, std::set<std::string>> parts;
  for (const char* path : {"rank 0 on a/collectives", "rank 1 on b/collectives"}) {
    for (const TraceEvent& event : trace_.on(path)) {
      for (const std::uint64_t link : event.links) {
        parts[link].insert(path + event.notes.at("number"));
      }
    }
  }
  EXPECT_EQ(parts.size(), 40U);
  for (const auto& [link, of_link] : parts) {
    EXPECT_EQ(of_link.size(), 2U);
  }
}

TEST_F(Perfetto, CountsThroughputAndItsPauses) {
  const std::string flow = "rank 0 on a/connections/10.0.0.1:4000 > 10.0.0.2:5000 (rank 1 on b)";
  const auto events = trace_.on(flow + "/throughput out");
  ASSERT_EQ(events.size(), 40U);  // up and down again, each step
  EXPECT_GT(events[0].value, 800);
  EXPECT_LT(events[0].value, 880);
  EXPECT_EQ(events[1].value, 0);
  EXPECT_EQ(events[1].time_ns - events[0].time_ns, 20'000'000U);
  const auto bursts = trace_.on(flow + "/data out");
  ASSERT_EQ(bursts.size(), 40U);
  EXPECT_EQ(bursts[0].notes.at("payload_bytes"), "2000000");
}

TEST_F(Perfetto, CountsGrowthAsARate) {
  const auto sent = trace_.on("node a/nic/nic.sent_bytes eth0");
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_DOUBLE_EQ(sent[0].value, 1000);  // 125 MB in a second
  EXPECT_EQ(sent[1].value, 0);
  const auto busy = trace_.on("node a/cpu/cpu.busy_ns cpu3");
  EXPECT_DOUBLE_EQ(busy.at(0).value, 25);
  const auto gpu = trace_.on("node a/gpu/gpu.utilization_percent 0000:3b:00.0");
  ASSERT_EQ(gpu.size(), 1U);
  EXPECT_DOUBLE_EQ(gpu[0].value, 33.25);
}

TEST_F(Perfetto, EveryCounterSaysItsUnit) {
  std::map<std::string, std::string> units;
  for (const auto& [uuid, track] : trace_.tracks) {
    if (track.is_counter) {
      units.emplace(track.name, track.unit);
    }
  }
  EXPECT_EQ(units["throughput out"], "Mbit/s");
  EXPECT_EQ(units["round trip by packets out"], "us");
  EXPECT_EQ(units["congestion window out"], "packets");
  EXPECT_EQ(units["cpu.busy_ns cpu3"], "%");
  EXPECT_EQ(units["gpu.utilization_percent 0000:3b:00.0"], "percent");
}

TEST_F(Perfetto, TellsWhatHappened) {
  const auto events = trace_.on("node a/events");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].name, "interface-down");
  EXPECT_THAT(events[0].notes, Contains(Pair("subject", "eth0")));
  const auto probes = trace_.on("node a/probes");
  ASSERT_EQ(probes.size(), 1U);
  EXPECT_EQ(probes[0].name, "probe tcp");
}

TEST_F(Perfetto, CutsToAPartOfTheRun) {
  const Span half{500'000'000, 1'000'000'000};
  const TraceContent part = exported_trace(run_.folder(), half);
  EXPECT_THAT(part.faults, IsEmpty());
  EXPECT_EQ(part.on("rank 0 on a/steps from marks").size(), 12U);  // six end within
  EXPECT_EQ(part.on("rank 1 on b/steps from marks").size(), 12U);
  EXPECT_EQ(part.on("node a/events").size(), 1U);
  EXPECT_THAT(part.on("node a/probes"), IsEmpty());  // before the job
  for (const TraceEvent& event : part.events) {
    EXPECT_GE(event.time_ns, trace_.on("node a/watched").front().time_ns + 300'000'000);
  }
}

TEST(PerfettoOfALongRun, HasAMillionEvents) {
  constexpr int kSeries = 10;
  constexpr int kReadings = 100'000;
  RunMaker made;
  NodeMaker& node = made.node({.length_ms = kReadings});
  std::vector<std::int64_t> series;
  for (int number = 0; number < kSeries; ++number) {
    series.push_back(node.add(record::Series{.name = fmt::format("made.{}", number),
                                             .unit = "bytes",
                                             .kind = record::SeriesKind::Gauge}));
  }
  for (int reading = 0; reading < kReadings; ++reading) {
    for (const std::int64_t id : series) {
      node.push(record::GaugeSample{
          .t_ns = node.at_ms(reading), .series = id, .value = static_cast<double>(reading)});
    }
  }
  made.finish();
  const TraceContent trace = exported_trace(made.folder());
  EXPECT_THAT(trace.faults, IsEmpty());
  EXPECT_GE(trace.events.size(), 1'000'000U);
}

// Another program reads it by a description of its own, and meets no field that is not in there.
TEST_F(Perfetto, IsWhatProtocReads) {
  if (std::system("command -v protoc >/dev/null") != 0) {
    GTEST_SKIP() << "needs protoc: scripts/setup test";
  }
  const std::filesystem::path& folder = run_.folder();
  std::ofstream(folder / "trace.pftrace", std::ios::binary) << exported_text(
      folder, [](ExportedRun& run, cli::Output& out) { write_perfetto(run, out); });
  const std::string schema = CHOKEPOINT_FIXTURES "/../analysis/export";
  const std::string command = "protoc --decode=chokepoint.Trace --proto_path=" + schema +
                              " trace.proto < " + (folder / "trace.pftrace").string() + " > " +
                              (folder / "trace.txt").string();
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::ifstream text(folder / "trace.txt");
  std::size_t events = 0;
  for (std::string line; std::getline(text, line);) {
    const std::size_t word = line.find_first_not_of(' ');
    ASSERT_TRUE(word == std::string::npos ||
                std::isdigit(static_cast<unsigned char>(line[word])) == 0)
        << "not in trace.proto: " << line;
    events += line.find("track_event {") != std::string::npos ? 1U : 0U;
  }
  EXPECT_EQ(events, trace_.events.size());
}

}  // namespace
}  // namespace chokepoint::analysis
