#include "probe/latency/outcome.h"

#include <gtest/gtest.h>

#include "probe/latency/load.h"
#include "tests/fakes/golden.h"

namespace chokepoint::probe::latency {
namespace {

using documents::Bloat;

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
}

TEST(Judge, PictureOfEachSentence) {
  fakes::Sentences sentences;
  const auto add = [&](const char* what, std::uint64_t loaded_ms, const LoadResult& result) {
    sentences.add(what, sentence_of(idle(1), loaded(*phase(loaded_ms, loaded_ms), result, idle(1)),
                                    "sending"));
  };
  add("no queue", 1, load());
  add("a queue, some", 20, load());
  add("a queue, much", 101, load());
  LoadResult one = load();
  one.connections = 1;
  add("a queue that one connection fills", 101, one);
  LoadResult both = load();
  both.receive_mbps = 30;
  add("loaded both ways", 101, both);
  add("no load", 101, {});
  sentences.add("nothing measured",
                sentence_of(idle(10), loaded(Phase(), load(), idle(10)), "sending"));
  documents::Responsiveness is =
      responsiveness_of({.foreign = {{20, 20, 20}}, .self = {{.took_ms = 600, .path_ms = 200}}});
  sentences.add("most of a request's time in the sender's buffer",
                responsiveness_sentence(is, "sending"));
  std::swap(*is.self_path_ms, *is.self_buffer_ms);
  sentences.add("most of it on the way", responsiveness_sentence(is, "sending"));
  sentences.add("no probe within the load", responsiveness_sentence({}, "sending"));
  EXPECT_GOLDEN("sentences_latency", sentences.text());
}

}  // namespace
}  // namespace chokepoint::probe::latency
