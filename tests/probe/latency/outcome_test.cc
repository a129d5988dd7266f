#include "probe/latency/outcome.h"

#include <gmock/gmock.h>

#include "probe/latency/load.h"

namespace chokepoint::probe::latency {
namespace {

using documents::Bloat;
using testing::HasSubstr;

constexpr std::uint64_t kMillisecond = 1'000'000;

// A hundred round trips, the slowest five of them `tail_ms`.
std::unique_ptr<Phase> phase(std::uint64_t usual_ms, std::uint64_t tail_ms) {
  auto made = std::make_unique<Phase>();
  made->tcp.histogram.add(usual_ms * kMillisecond, 95);
  made->tcp.histogram.add(tail_ms * kMillisecond, 5);
  made->tcp.sent = 102;
  return made;
}

Idle idle(std::uint64_t ms) { return {.tcp = spread_of(phase(ms, ms)->tcp)}; }

LoadResult load() { return {.connections = 3, .send_mbps = 90}; }

TEST(Spread, IsInMilliseconds) {
  const Spread spread = spread_of(phase(10, 30)->tcp);
  EXPECT_NEAR(spread.trips->median, 10, 0.1);
  EXPECT_NEAR(spread.trips->p90, 10, 0.1);
  EXPECT_NEAR(spread.trips->p99, 30, 0.3);
  EXPECT_EQ(spread.trips->max, 30);
  EXPECT_EQ(spread.lost(), 2U);
  EXPECT_FALSE(spread_of({}).trips);
}

TEST(Loaded, BloatIsTheDifference) {
  EXPECT_NEAR(*loaded(*phase(50, 60), load(), idle(10)).figures.bufferbloat_ms, 40, 0.5);
}

TEST(Loaded, OfNothingIsUnknown) {
  const Phase nothing;
  const Loaded result = loaded(nothing, load(), idle(10));
  EXPECT_FALSE(result.figures.bufferbloat_ms);
  EXPECT_EQ(result.figures.bloat, Bloat::Unknown);
  EXPECT_THAT(sentence_of(idle(10), result, "sending"), HasSubstr("not measured"));
}

TEST(Loaded, ALoadThatNeverCameTellsNothing) {
  EXPECT_EQ(loaded(*phase(50, 60), {}, idle(1)).figures.bloat, Bloat::Unknown);
}

TEST(Judge, WhatTheQueueAdds) {
  const auto judged = [](std::uint64_t idle_ms, std::uint64_t loaded_ms) {
    return loaded(*phase(loaded_ms, loaded_ms), load(), idle(idle_ms)).figures.bloat;
  };
  EXPECT_EQ(judged(1, 2), Bloat::None);
  EXPECT_EQ(judged(100, 110), Bloat::None) << "a tenth of a long way";
  EXPECT_EQ(judged(1, 20), Bloat::Some);
  EXPECT_EQ(judged(10, 100), Bloat::Much);
  const Loaded bloated = loaded(*phase(101, 101), load(), idle(1));
  EXPECT_THAT(sentence_of(idle(1), bloated, "sending"), HasSubstr("sending 90.0 Mb/s adds"));
}

TEST(Judge, BbrIsAdvisedOnlyWhereOneConnectionFillsThePath) {
  LoadResult result = load();
  const auto sentence = [&] {
    return sentence_of(idle(1), loaded(*phase(101, 101), result, idle(1)), "sending");
  };
  EXPECT_THAT(sentence(), HasSubstr("where the line narrows would shorten it"));
  result.connections = 1;
  EXPECT_THAT(sentence(), HasSubstr("narrows, or BBR at the sender, would shorten it"));
}

TEST(Responsiveness, TheSentenceSaysWhereTheTimeGoes) {
  EXPECT_THAT(responsiveness_sentence({}, "sending"), HasSubstr("no RPM"));
  documents::Responsiveness is =
      responsiveness_of({.foreign = {{20, 20, 20}}, .self = {{.took_ms = 600, .path_ms = 200}}});
  EXPECT_EQ(responsiveness_sentence(is, "sending"),
            "sending: 1550 RPM (good, low confidence); a request within the load takes 600 ms, of "
            "it 200 ms on the way and 400 ms in the sender's buffer, which the sysctl "
            "net.ipv4.tcp_notsent_lowat there bounds");
  is.self_path_ms = 400;
  is.self_buffer_ms = 200;
  EXPECT_THAT(responsiveness_sentence(is, "sending"), HasSubstr("200 ms in the sender's buffer"));
  EXPECT_THAT(responsiveness_sentence(is, "sending"), testing::Not(HasSubstr("sysctl")));
}

TEST(Loaded, BothWaysTellBothRates) {
  LoadResult result = load();
  result.receive_mbps = 30;
  EXPECT_THAT(sentence_of(idle(1), loaded(*phase(101, 101), result, idle(1)), "both"),
              HasSubstr("both 90.0 Mb/s and 30.0 Mb/s adds"));
}

}  // namespace
}  // namespace chokepoint::probe::latency
