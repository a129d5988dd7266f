#include "analysis/confirm/judge.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/documents/collective.h"
#include "base/documents/probe_processor.h"
#include "base/documents/probe_storage.h"
#include "tests/analysis/made_probe.h"
#include "tests/fakes/printed.h"

namespace chokepoint::analysis::confirm {
namespace {

using State = Confirmation::State;
using testing::AllOf;
using testing::HasSubstr;

struct Tcp {
  std::uint64_t retransmits = 0;
  double loaded_ms = 0.25;  // of 0.2 at rest: no queue
  double by_window = 0;
  double by_buffer = 0;
};

std::string tcp(double mbps, const Tcp& with = {}) {
  return fakes::printed_text(documents::ProbeTcp{
      .by_direction = {
          .only = documents::TcpFigures{
              .mss_bytes = 1000,
              .throughput_mbps = mbps,
              .bytes = 10'000'000,
              .retransmits = with.retransmits,
              .rtt_ms = math::Distribution{.min = 0.2, .median = with.loaded_ms, .count = 9},
              .limited_by = documents::TcpShares{.application = 0.01,
                                                 .receive_window = with.by_window,
                                                 .send_buffer = with.by_buffer}}}});
}

constexpr Tcp kQueue{.loaded_ms = 12};

std::string udp(std::uint64_t sent, std::uint64_t lost, std::uint64_t in_socket = 0) {
  return fakes::printed_text(documents::ProbeUdp{
      .direction = documents::Direction::Both,
      .by_direction = {.send = documents::UdpFigures{.packets_sent = sent,
                                                     .lost = lost,
                                                     .lost_in_receiver_queue = in_socket},
                       .receive = documents::UdpFigures{.packets_sent = sent}}});
}

// Of a host with two: one thread alone, and one on each.
std::string processor(double alone, double together) {
  const documents::ProcessorPace each{.million_steps_per_s = together};
  return fakes::printed_text(documents::ProbeProcessor{.alone = {.million_steps_per_s = alone},
                                                       .processors = {each, each}});
}

std::string processor(double steps) { return processor(steps, steps); }

std::string collective(double ms) {
  return fakes::printed_text(documents::Collective{
      .sizes = {{.bytes = 1, .time_us = math::Distribution{.median = ms * 1e3}}}});
}

std::string storage(double read_mb_per_s) {
  return fakes::printed_text(
      documents::ProbeStorage{.read_mb_per_s = read_mb_per_s, .read_cold = true});
}

// Tests of a verdict, each with what it measured.
class Tests {
 public:
  explicit Tests(VerdictClass verdict, double confidence = 0.9) {
    diagnosis_.verdict = {
        .verdict = verdict, .where = {.from = "a", .to = "b"}, .confidence = confidence};
  }
  Tests& add(TestKind kind, TestRule rule, std::optional<double> job_value,
             const std::string& document, const std::string& on = "a", double pace_mbps = 0) {
    plan_.push_back({.kind = kind,
                     .rule = rule,
                     .on = on,
                     .to = "b",
                     .to_address = fmt::format("10.0.0.{}", plan_.size()),
                     .pace_mbps = pace_mbps,
                     .bytes = 1'000'000,
                     .job_value = job_value});
    results_.push_back({.kind = kind, .on = on, .to = "b", .document = document});
    results_.back().address = plan_.back().to_address;
    return *this;
  }
  // Between a and b nothing is lost.
  Tests& lossless() { return add(TestKind::Loss, TestRule::LosesNothing, 0.0, udp(5000, 0)); }
  Tests& of_cause(Cause cause) {
    diagnosis_.verdict.cause = cause;
    return *this;
  }
  Tests& beside_job() {
    for (TestResult& each : results_) {
      each.beside_job = true;
    }
    return *this;
  }
  Confirmation judged() const { return judge(diagnosis_.verdict, plan_, results_, false); }
  Diagnosis applied() const {
    Diagnosis diagnosis = diagnosis_;
    apply(judged(), diagnosis);
    return diagnosis;
  }

 private:
  Diagnosis diagnosis_;
  std::vector<PlannedTest> plan_;
  std::vector<TestResult> results_;
};

State of_full_link(double job_mbps, double alone_mbps, double pace_mbps = 0,
                   const Tcp& with = kQueue) {
  return Tests(VerdictClass::LanBandwidth)
      .add(TestKind::Throughput, TestRule::IsFull, job_mbps, tcp(alone_mbps, with), "a", pace_mbps)
      .lossless()
      .judged()
      .state;
}

TEST(Judge, AFullLinkCarriesNoMoreAlone) {
  const Diagnosis found = Tests(VerdictClass::LanBandwidth)
                              .add(TestKind::Throughput, TestRule::IsFull, 690, tcp(710, kQueue))
                              .lossless()
                              .applied();
  ASSERT_TRUE(found.confirmation);
  EXPECT_EQ(found.confirmation->sentence,
            "confirmed: probe tcp carries 710 Mb/s alone from a to b, the job 690 Mb/s; probe udp "
            "loses none of 10000 packets between a and b");
  EXPECT_GT(found.verdict.confidence, 0.9);
  EXPECT_EQ(found.confirmation->confidence_before, 0.9);
  ASSERT_EQ(found.verdict.evidence.size(), 2U);
  EXPECT_EQ(found.verdict.evidence[0].value, 710);
}

TEST(Judge, ALinkThatWasFullOnlyDuringTheJobIsNotConfirmed) {
  const Diagnosis found = Tests(VerdictClass::LanBandwidth)
                              .add(TestKind::Throughput, TestRule::IsFull, 200, tcp(9400))
                              .lossless()
                              .applied();
  EXPECT_EQ(found.confirmation->state, State::NotConfirmed);
  EXPECT_THAT(found.confirmation->sentence,
              HasSubstr("not confirmed: probe tcp carries 9.40 Gb/s"));
  EXPECT_LT(found.verdict.confidence, 0.9);
  EXPECT_EQ(found.verdict.verdict, VerdictClass::LanBandwidth);
}

TEST(Judge, BetweenBothNothingIsDecided) {
  EXPECT_EQ(of_full_link(100, 133), State::Confirmed);
  EXPECT_EQ(of_full_link(100, 150), State::Open);
  EXPECT_EQ(of_full_link(100, 200), State::NotConfirmed);
}

// A slow host, a small buffer or a loss holds the probe back, too.
TEST(Judge, AProbeThatIsAsSlowConfirmsNoFullLinkWithoutItsQueue) {
  EXPECT_EQ(of_full_link(100, 105, 0, {}), State::Open);
  EXPECT_EQ(of_full_link(100, 105, 0, {.loaded_ms = 12, .by_window = 0.8}), State::Open);
  EXPECT_EQ(of_full_link(100, 60), State::Open) << "something else held the probe back";
}

TEST(Judge, WithoutTheTestThatExcludesAnotherExplanationNothingIsDecided) {
  const Confirmation found = Tests(VerdictClass::LanBandwidth)
                                 .add(TestKind::Throughput, TestRule::IsFull, 100, tcp(105, kQueue))
                                 .judged();
  EXPECT_EQ(found.state, State::Open);
  EXPECT_EQ(found.sentence,
            "not decided: probe tcp carries 105 Mb/s alone from a to b, the job 100 Mb/s; other "
            "explanations are not excluded: loss");
}

TEST(Judge, WhatWasHeldToAPaceShowsOnlyThatThePathCarriesThat) {
  EXPECT_EQ(of_full_link(100, 100, 100), State::Open);
  EXPECT_EQ(of_full_link(100, 250, 250), State::NotConfirmed);
  EXPECT_EQ(of_full_link(100, 110, 250), State::Confirmed);
}

TEST(Judge, ALossIsConfirmedByOneTestThatFindsIt) {
  const auto judged = [](std::uint64_t lost, std::uint64_t retransmits) {
    return Tests(VerdictClass::LanLoss)
        .add(TestKind::Loss, TestRule::Loses, 0.5, udp(10'000, lost))
        .add(TestKind::Throughput, TestRule::LosesUnderLoad, 0.5,
             tcp(100, {.retransmits = retransmits}))
        .judged()
        .state;
  };
  EXPECT_EQ(judged(40, 0), State::Confirmed);
  EXPECT_EQ(judged(0, 100), State::Confirmed);
  EXPECT_EQ(judged(0, 0), State::NotConfirmed);
  EXPECT_EQ(judged(1, 0), State::Open);
}

TEST(Judge, WhatTheReceiversSocketDropsIsNoLossOfThePath) {
  const auto judged = [](std::uint64_t in_socket) {
    return Tests(VerdictClass::LanLoss)
        .add(TestKind::Loss, TestRule::Loses, 0.01, udp(10'000, 40, in_socket))
        .judged()
        .state;
  };
  EXPECT_EQ(judged(0), State::Confirmed);
  EXPECT_EQ(judged(40), State::Open);
}

TEST(Judge, WhatIsRetransmittedBehindAQueueIsAFullLinks) {
  const auto judged = [](double loaded_ms) {
    return Tests(VerdictClass::LanLoss)
        .add(TestKind::Throughput, TestRule::LosesUnderLoad, 0.5,
             tcp(100, {.retransmits = 100, .loaded_ms = loaded_ms}))
        .judged()
        .state;
  };
  EXPECT_EQ(judged(0.3), State::Confirmed);
  EXPECT_EQ(judged(12), State::Open);
}

TEST(Judge, TooFewPacketsToLoseAnyDecideNothing) {
  EXPECT_EQ(Tests(VerdictClass::LanLoss)
                .add(TestKind::Loss, TestRule::Loses, 0.01, udp(10'000, 0))
                .judged()
                .state,
            State::Open);
}

TEST(Judge, TestsThatContradictEachOtherDecideNothing) {
  const Confirmation found =
      Tests(VerdictClass::WanLatency)
          .add(TestKind::Latency, TestRule::IsFar, 15.0, made_latency("10.0.0.2", 15))
          .add(TestKind::Throughput, TestRule::HasRoom, 100, tcp(101))
          .judged();
  EXPECT_EQ(found.state, State::Open);
  EXPECT_THAT(found.sentence,
              AllOf(HasSubstr("not decided: probe tcp carries"), HasSubstr("; but a round trip")));
}

TEST(Judge, ASmallBufferIsConfirmedByAProbeThatItHoldsBack) {
  const auto of_small_buffer = [](double mbps, double by_window) {
    return Tests(VerdictClass::ReceiverHost)
        .of_cause(Cause::ReceiveWindow)
        .add(TestKind::Throughput, TestRule::WindowHolds, 188, tcp(mbps, {.by_window = by_window}))
        .lossless()
        .judged()
        .state;
  };
  EXPECT_EQ(of_small_buffer(124, 0.9), State::Confirmed);
  EXPECT_EQ(of_small_buffer(400, 0), State::Open) << "the job may have set it itself";
}

// The path has room, and the host computes as others do: so does one that the job alone keeps busy.
TEST(Judge, AHostIsSlowOnlyWhereItsProcessorsAre) {
  const auto judged = [](double alone, double together) {
    return Tests(VerdictClass::SenderHost)
        .of_cause(Cause::ProcessCpu)
        .add(TestKind::Processor, TestRule::IsSlow, {}, processor(alone, together))
        .add(TestKind::OtherProcessor, TestRule::Beside, {}, processor(200, 100), "b")
        .add(TestKind::OtherProcessor, TestRule::Beside, {}, processor(300, 120), "c")
        .add(TestKind::Throughput, TestRule::IsNotFull, 105, tcp(259))
        .lossless()
        .judged()
        .state;
  };
  EXPECT_EQ(judged(90, 40), State::Confirmed);
  EXPECT_EQ(judged(272, 53), State::Open) << "slow only beside others";
  EXPECT_EQ(judged(90, 95), State::Open) << "slow only alone";
  EXPECT_EQ(judged(200, 80), State::Open) << "slower than one of two";
}

// Other programs come and go.
TEST(Judge, TheBestOfTwoRoundsIsAHostsPace) {
  EXPECT_EQ(Tests(VerdictClass::SenderHost)
                .add(TestKind::Processor, TestRule::IsSlow, {}, processor(20))
                .add(TestKind::OtherProcessor, TestRule::Beside, {}, processor(100), "b")
                .add(TestKind::Processor, TestRule::IsSlow, {}, processor(100))
                .add(TestKind::Throughput, TestRule::IsNotFull, 105, tcp(259))
                .lossless()
                .judged()
                .state,
            State::Open);
}

TEST(Judge, HostsThatDifferInOneRoundOnlyAreNeitherAlikeNorNot) {
  const auto judged = [](double second) {
    return Tests(VerdictClass::Compute)
        .add(TestKind::Processor, TestRule::IsSimilar, {}, processor(760, 334))
        .add(TestKind::OtherProcessor, TestRule::Beside, {}, processor(345, 153), "b")
        .add(TestKind::Processor, TestRule::IsSimilar, {}, processor(second))
        .judged()
        .tests.front()
        .support;
  };
  EXPECT_EQ(judged(161), Support::Nothing);
  EXPECT_EQ(judged(700), Support::Against);
}

TEST(Judge, AFullLinkIsNoSlowHost) {
  const auto judged = [](const Tcp& with) {
    return Tests(VerdictClass::SenderHost)
        .of_cause(Cause::ProcessCpu)
        .add(TestKind::Throughput, TestRule::IsNotFull, 93.7, tcp(89.3, with))
        .judged()
        .state;
  };
  EXPECT_EQ(judged(kQueue), State::NotConfirmed);
  EXPECT_EQ(judged({}), State::Open);
}

TEST(Judge, LatencyThatIsGoneIsNotConfirmedByRoom) {
  const auto of_far_path = [](double ms) {
    return Tests(VerdictClass::WanLatency)
        .add(TestKind::Latency, TestRule::IsFar, 10.4, made_latency("10.0.0.2", ms))
        .add(TestKind::Throughput, TestRule::HasRoom, 284, tcp(705))
        .lossless()
        .judged();
  };
  EXPECT_EQ(of_far_path(10.2).state, State::Confirmed);
  EXPECT_EQ(of_far_path(0.3).state, State::NotConfirmed);
  EXPECT_THAT(of_far_path(0.3).sentence, HasSubstr("not confirmed: a round trip from a to b"));
}

TEST(Judge, ALateRankIsLateOnlyInTheJob) {
  const auto judged = [](double alone_ms, double steps) {
    return Tests(VerdictClass::Straggler)
        .add(TestKind::Collective, TestRule::IsQuick, 120, collective(alone_ms))
        .lossless()
        .add(TestKind::Processor, TestRule::IsSlow, {}, processor(steps), "b")
        .add(TestKind::OtherProcessor, TestRule::Beside, {}, processor(1000))
        .judged();
  };
  EXPECT_EQ(judged(12, 990).state, State::Confirmed);
  EXPECT_EQ(judged(119, 990).state, State::NotConfirmed);
  EXPECT_EQ(judged(90, 990).state, State::Open);
  EXPECT_THAT(judged(90, 400).sentence,
              HasSubstr("a processor of b computes 400 million steps/s beside the others, 400 "
                        "alone, of another host 1000 and 1000"));
}

// Nobody shows that computing fills a step: all that would hold it back has to be excluded.
TEST(Judge, AHealthyJobHasHostsThatAreAlikeAndPathsThatLoseNothing) {
  const auto judged = [](double steps, int lost, double mbps, double alone_ms = 8) {
    return Tests(VerdictClass::Compute)
        .add(TestKind::Loss, TestRule::LosesNothing, 0.0, udp(5000, lost))
        .add(TestKind::Throughput, TestRule::IsFree, 100, tcp(mbps))
        .add(TestKind::Collective, TestRule::IsAsLong, 10, collective(alone_ms))
        .add(TestKind::Processor, TestRule::IsSimilar, {}, processor(steps), "b")
        .add(TestKind::OtherProcessor, TestRule::Beside, {}, processor(900))
        .judged()
        .state;
  };
  EXPECT_EQ(judged(890, 0, 250), State::Confirmed);
  EXPECT_EQ(judged(890, 0, 105), State::Open);
  EXPECT_EQ(judged(890, 0, 250, 2), State::Open) << "a rank may be late";
  EXPECT_EQ(judged(500, 0, 250), State::NotConfirmed);
  EXPECT_EQ(judged(890, 50, 250), State::NotConfirmed);
}

TEST(Judge, SlowStorageIsAsSlowAlone) {
  const auto judged = [](double read, TestRule rule) {
    return Tests(VerdictClass::Input)
        .add(TestKind::Storage, rule, 10, storage(read))
        .judged()
        .state;
  };
  EXPECT_EQ(judged(11, TestRule::ReadsSlowly), State::Confirmed);
  EXPECT_EQ(judged(200, TestRule::ReadsSlowly), State::NotConfirmed);
}

// Storage that is fast shows that loaders are slow no more than that the ranks are.
TEST(Judge, FastStorageDoesNotConfirmThatLoadersAreSlow) {
  const auto judged = [](double read) {
    return Tests(VerdictClass::Input)
        .of_cause(Cause::LoaderCount)
        .add(TestKind::Storage, TestRule::ReadsFast, 10, storage(read))
        .judged()
        .state;
  };
  EXPECT_EQ(judged(200), State::Open);
  EXPECT_EQ(judged(10), State::NotConfirmed);
}

TEST(Judge, AnotherWayIsBetterThanTheOneThatWasTested) {
  const auto judged = [](double other) {
    return Tests(VerdictClass::WrongPath)
        .add(TestKind::Throughput, TestRule::Beside, 100, tcp(100))
        .add(TestKind::OtherRoute, TestRule::IsBetter, 100, tcp(other))
        .judged()
        .state;
  };
  EXPECT_EQ(judged(900), State::Confirmed);
  EXPECT_EQ(judged(100), State::NotConfirmed);
  EXPECT_EQ(judged(130), State::Open);
}

TEST(Judge, AnUnknownVerdictIsLedToACause) {
  const auto judged = [](double alone_mbps, int lost, double alone_ms) {
    return Tests(VerdictClass::Unknown, 0)
        .add(TestKind::Collective, TestRule::IsQuick, 100, collective(alone_ms))
        .add(TestKind::Loss, TestRule::LosesNothing, 0.0, udp(5000, lost))
        .add(TestKind::Throughput, TestRule::IsFull, 100, tcp(alone_mbps, kQueue))
        .judged();
  };
  EXPECT_EQ(judged(1000, 20, 10).leads_to, "lan-loss");
  EXPECT_EQ(judged(101, 0, 10).leads_to, "lan-bandwidth");
  EXPECT_EQ(judged(1000, 0, 99).leads_to, "lan-latency");
  EXPECT_EQ(judged(1000, 0, 10).leads_to, "straggler");
  EXPECT_EQ(judged(1000, 0, 80).leads_to, "");
  EXPECT_THAT(judged(101, 0, 80).sentence, HasSubstr("the tests lead to lan-bandwidth: probe tcp"));
}

TEST(Judge, AnUnknownVerdictIsLedToBuffersAndFarPaths) {
  const auto judged = [](double ms, const Tcp& with) {
    return Tests(VerdictClass::Unknown, 0)
        .add(TestKind::Buffers, TestRule::BuffersHold, {}, tcp(100, with))
        .add(TestKind::Buffers, TestRule::BuffersHold, 40, tcp(6400, {.by_window = 0.9}))
        .add(TestKind::Latency, TestRule::IsWide, {}, made_latency("10.0.0.2", ms))
        .judged()
        .leads_to;
  };
  EXPECT_EQ(judged(0.2, {.by_window = 0.8}), "receiver-host");
  EXPECT_EQ(judged(0.2, {.by_buffer = 0.8}), "sender-host");
  EXPECT_EQ(judged(10, {.by_buffer = 0.8}), "wan-latency");
  EXPECT_EQ(judged(10, {}), "wan-latency");
  EXPECT_EQ(judged(0.2, {}), "");
}

// The job itself fills the path, and makes the rest slow.
TEST(Judge, BesideARunningJobOnlyWhatIsGoodSaysSomething) {
  const auto of_full_link = [](double mbps) {
    return Tests(VerdictClass::LanBandwidth)
        .add(TestKind::Throughput, TestRule::IsFull, 100, tcp(mbps))
        .beside_job()
        .judged();
  };
  EXPECT_EQ(of_full_link(60).state, State::Open);
  EXPECT_EQ(
      of_full_link(60).sentence,
      "not decided: probe tcp carries 60.0 Mb/s beside the job from a to b, the job 100 Mb/s; "
      "other explanations are not excluded: loss");
  EXPECT_EQ(of_full_link(240).state, State::NotConfirmed);
  const auto of_late_rank = [](double ms) {
    return Tests(VerdictClass::Straggler)
        .add(TestKind::Collective, TestRule::IsQuick, 100, collective(ms))
        .lossless()
        .beside_job()
        .applied();
  };
  EXPECT_EQ(of_late_rank(95).confirmation->state, State::Open);
  EXPECT_EQ(of_late_rank(30).confirmation->state, State::Confirmed);
  ASSERT_FALSE(of_late_rank(30).verdict.evidence.empty());
  EXPECT_EQ(of_late_rank(30).verdict.evidence[0].from, "collective beside the job");
}

TEST(Judge, WhatDidNotRunSaysWhy) {
  Diagnosis diagnosis{.verdict = {.verdict = VerdictClass::LanBandwidth, .confidence = 0.8}};
  const std::vector<PlannedTest> plan{{.kind = TestKind::Throughput, .rule = TestRule::IsFull}};
  const Confirmation found =
      judge(diagnosis.verdict, plan, {{.kind = TestKind::Throughput, .failure = "refused"}}, false);
  EXPECT_EQ(found.sentence, "not decided: no test could be run: refused");
  EXPECT_EQ(found.state, State::Open);
  EXPECT_EQ(confidence_after(found.state, 0.8), 0.8);
}

TEST(Judge, ATestOfAnotherPathSaysNothing) {
  const std::vector<PlannedTest> plan{{.kind = TestKind::Throughput,
                                       .rule = TestRule::IsFull,
                                       .on = "a",
                                       .to = "b",
                                       .job_value = 100}};
  const Confirmation found =
      judge({.verdict = VerdictClass::LanBandwidth}, plan,
            {{.kind = TestKind::Throughput, .on = "a", .to = "c", .document = tcp(100)}}, false);
  EXPECT_EQ(found.state, State::Open);
}

TEST(Judge, ADocumentThatIsNoneSaysNothing) {
  for (const char* document : {"", "[]", "{}", "x", R"({"sizes":[1],"send":3,"processors":[[]]})",
                               R"({"direction":"send","throughput_mbps":"fast"})"}) {
    Tests tests(VerdictClass::Unknown);
    tests.add(TestKind::Collective, TestRule::IsQuick, 100, document)
        .add(TestKind::Loss, TestRule::LosesNothing, 1.0, document)
        .add(TestKind::Throughput, TestRule::IsFull, 100, document)
        .add(TestKind::Processor, TestRule::IsSimilar, {}, document)
        .add(TestKind::OtherProcessor, TestRule::Beside, {}, document)
        .add(TestKind::Latency, TestRule::IsWide, {}, document)
        .add(TestKind::Buffers, TestRule::BuffersHold, {}, document)
        .add(TestKind::Storage, TestRule::ReadsSlowly, 1.0, document);
    EXPECT_EQ(tests.judged().leads_to, "") << document;
  }
}

TEST(Confidence, NeverLeavesItsBounds) {
  EXPECT_EQ(confidence_after(State::Confirmed, 0), 0);
  EXPECT_EQ(confidence_after(State::Confirmed, 0.5), 0.75);
  EXPECT_EQ(confidence_after(State::Confirmed, 0.99), 0.99);
  EXPECT_EQ(confidence_after(State::Confirmed, 1), 1);
  EXPECT_EQ(confidence_after(State::NotConfirmed, 0.95), 0.83);
  EXPECT_EQ(confidence_after(State::NotConfirmed, 1), 1);
}

}  // namespace
}  // namespace chokepoint::analysis::confirm
