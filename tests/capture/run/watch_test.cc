#include "capture/run/watch.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/record/names.h"
#include "base/sys/descriptor.h"
#include "capture/step/marks.h"
#include "tests/base/record/record_folder.h"
#include "tests/capture/job/job_host.h"

namespace chokepoint::capture::run {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::Pair;
using testing::StartsWith;

constexpr std::int64_t kSecondNs = 1'000'000'000;

// Of a host that is made up, without packets: its processes, no connection and no GPU.
class WatchTest : public record::RecordFolder {
 protected:
  void SetUp() override {
    job_.put({.pid = 4711, .environment = std::string("RANK=3\0WORLD_SIZE=8", 19)});
    job_.tree().write("/proc/sys/kernel/hostname", "alpha\n");
    job_.tree().write("/proc/sys/kernel/osrelease", "6.1.0\n");
    job_.tree().write("/proc/sys/kernel/random/boot_id", "boot-1\n");
    std::filesystem::create_directory(folder_.path() / "runtime");
  }
  Options made() const {
    return {.place = {.folder = folder()},
            .node = "n1",
            .labels = {{"model", "gpt"}},
            .command = {"train.py"},
            .program = "chokepoint 9.8",
            .packets = false,
            .tap_program = CHOKEPOINT_CAPTURE,
            .runtime_folder = folder_.path() / "runtime",
            .nccl = false};
  }
  Result<std::unique_ptr<Watch>> open(const Options& options) {
    return Watch::open(options, root_, clock_);
  }
  std::unique_ptr<Watch> opened(const Options& options) {
    auto watch = open(options);
    EXPECT_TRUE(watch) << describe(watch.error());
    return watch ? std::move(*watch) : nullptr;
  }

  job::JobHost job_;
  sys::Root root_ = job_.root();
};

TEST_F(WatchTest, LeavesNoRecordOfWhatTheUserAskedForInVain) {
  Options metrics = made();
  metrics.metrics_address = "nonsense";
  EXPECT_EQ(open(metrics).error().kind, ErrorKind::Usage);
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(WatchTest, ReportsAnExpressionThatIsNone) {
  Options steps = made();
  steps.step_expression = "now (";
  EXPECT_EQ(open(steps).error().kind, ErrorKind::Usage);
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(WatchTest, GoesOnWithoutWhatCannotBeHad) {
  const sys::Descriptor taken(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(taken.get(), generic, size), 0);
  ASSERT_EQ(listen(taken.get(), 1), 0);
  ASSERT_EQ(getsockname(taken.get(), generic, &size), 0);
  Options options = made();
  options.packets = true;
  options.interfaces = {"eth7"};
  options.metrics_address = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  const auto watch = opened(options);
  ASSERT_TRUE(watch);
  EXPECT_THAT(watch->warnings(), ElementsAre(StartsWith("no metrics: "),
                                             AllOf(StartsWith("no packets: "), HasSubstr("eth7"))));
  watch->begin({.pid = 4711});
  watch->poll();
  EXPECT_THAT(watch->figures().remarks, IsSupersetOf(watch->warnings()));
  watch->end(0);
  options.is_strict = true;
  options.node = "n2";
  EXPECT_EQ(open(options).error().kind, ErrorKind::Busy);
  EXPECT_FALSE(std::filesystem::exists(folder() / "n2.db"));
}

TEST_F(WatchTest, SaysAtWhichPortItServesIfItChoseIt) {
  Options options = made();
  options.metrics_address = "127.0.0.1:0";
  const auto watch = opened(options);
  ASSERT_TRUE(watch);
  ASSERT_THAT(watch->notes(), ElementsAre(StartsWith("metrics at 127.0.0.1:")));
  EXPECT_THAT(watch->warnings(), testing::IsEmpty());
  watch->begin({.pid = 4711});
  watch->end(0);
  const auto events = *open_reader().all<record::Event>();
  const auto served = std::ranges::find(events, record::kMetricsServed, &record::Event::kind);
  ASSERT_NE(served, events.end());
  EXPECT_EQ("metrics at " + served->subject, watch->notes().front());
}

TEST_F(WatchTest, ReportsAnInterfaceThatIsNotThereIfItIsStrict) {
  Options packets = made();
  packets.is_strict = true;
  packets.packets = true;
  packets.interfaces = {"eth7"};
  const auto watch = open(packets);
  ASSERT_FALSE(watch);
  EXPECT_EQ(watch.error().kind, ErrorKind::NotFound);
  EXPECT_THAT(describe(watch.error()), HasSubstr("eth7"));
  // Nobody has looked for it where packets are not wanted.
  packets.packets = false;
  packets.node = "n2";
  EXPECT_TRUE(open(packets));
}

TEST_F(WatchTest, TellsTheJobWhereMarksAreTaken) {
  const auto watch = opened(made());
  const auto variables = watch->environment();
  ASSERT_EQ(variables.size(), 2U);
  EXPECT_EQ(variables[0].first, step::kMarksVariable);
  watch->begin({.pid = 4711});
  for (int i = 0; i < 3; ++i) {
    clock_.advance(kSecondNs / 4);
    ASSERT_TRUE(step::send_mark(variables[0].second, {.name = "step"}));
    watch->poll();
  }
  EXPECT_EQ(watch->figures().steps.count, 2);
  EXPECT_DOUBLE_EQ(watch->figures().steps.last_ms.value(), 250);
  watch->end(0);
}

TEST_F(WatchTest, SaysWhoseJobItIsAndHowLongItRuns) {
  const auto watch = opened(made());
  clock_.advance(kSecondNs);  // the job is being started
  watch->begin({.pid = 4711});
  clock_.advance(3 * kSecondNs);
  watch->poll();
  const live::Figures& figures = watch->figures();
  EXPECT_DOUBLE_EQ(figures.elapsed_s, 3);
  EXPECT_EQ(figures.node, "n1");
  EXPECT_EQ(figures.program_version, "chokepoint 9.8");
  EXPECT_THAT(figures.labels, ElementsAre(Pair("model", "gpt")));
  EXPECT_EQ(figures.processes, 1U);
  ASSERT_EQ(watch->processes()->size(), 1U);
  EXPECT_EQ(watch->processes()->front().rank.rank, 3);
  watch->end(0);
}

TEST_F(WatchTest, KeepsWhatItIsToldAndHowTheJobEnded) {
  const auto watch = opened(made());
  watch->begin({.pid = 4711});
  EXPECT_EQ(watch->end(42).dropped, 0U);
  record::Reader reader = open_reader();
  const auto labels = *reader.all<record::Label>();
  ASSERT_EQ(labels.size(), 1U);
  EXPECT_EQ(labels[0].key, "model");
  EXPECT_EQ(labels[0].value, "gpt");
  const auto processes = *reader.all<record::Process>();
  ASSERT_EQ(processes.size(), 1U);
  EXPECT_EQ(processes[0].pid, 4711);
  EXPECT_EQ(processes[0].exit_status, 42);
  EXPECT_EQ((*reader.all<record::Session>())[0].exit_status, 42);
}

TEST_F(WatchTest, OfAnAbandonedJobNothingIsLeft) {
  opened(made())->abandon(127);
  EXPECT_FALSE(std::filesystem::exists(folder()));
}

TEST_F(WatchTest, WhatWasThereBeforeAnAbandonedJobStays) {
  std::filesystem::create_directory(folder());
  std::ofstream(folder() / "notes");
  opened(made())->abandon(127);
  EXPECT_TRUE(std::filesystem::exists(folder() / "notes"));
  EXPECT_FALSE(std::filesystem::exists(file()));
  const auto first = opened(made());
  first->begin({.pid = 4711});
  first->end(0);
  Options again = made();
  again.place.may_append = true;
  opened(again)->abandon(127);
  EXPECT_EQ(open_reader().sessions().size(), 2U);
}

TEST_F(WatchTest, ANodeWhoseNameIsTakenGetsANumber) {
  const auto first = opened(made());
  const auto second = opened(made());
  EXPECT_EQ(std::filesystem::path(second->record_path()).filename(), "n1-2.db");
  EXPECT_THAT(second->warnings(), Contains(HasSubstr("another node is called n1, too")));
  EXPECT_THAT(second->figures().remarks, Not(Contains(HasSubstr("another node"))));
}

TEST_F(WatchTest, SaysWhatItDoesNotSeeAndTheRecordSaysSoOnce) {
  Options options = made();
  options.nccl = true;
  options.starts_job = false;
  const auto watch = opened(options);
  watch->begin({.pid = 4711});
  watch->poll();
  watch->poll();
  EXPECT_THAT(watch->figures().remarks, Contains(HasSubstr("started already")));
  watch->end(0);
  record::Reader reader = open_reader();
  std::vector<record::Fact> unseen;
  const auto facts = *reader.all<record::Fact>();
  for (const record::Fact& fact : facts) {
    if (fact.category == record::kNotSeen) {
      unseen.push_back(fact);
    }
  }
  EXPECT_EQ(unseen.size(), watch->figures().remarks.size());
  EXPECT_THAT(unseen, Contains(AllOf(Field(&record::Fact::subject, "NCCL"),
                                     Field(&record::Fact::key, "reason"),
                                     Field(&record::Fact::value, StartsWith("the job had")))));
}

TEST_F(WatchTest, EstimatesTheVolumeByTheSocketsWhereNoPacketsAreCaptured) {
  const auto watch = opened(made());
  watch->begin({.pid = 4711});
  watch->poll();
  EXPECT_EQ(watch->figures().volume_source, "sockets");
  EXPECT_EQ(watch->figures().volumes.size(), 1U);
  watch->end(0);
}

}  // namespace
}  // namespace chokepoint::capture::run
