#include "capture/tap/job_flows.h"

#include <gmock/gmock.h>

#include "base/record/names.h"
#include "capture/observer/observer.h"
#include "capture/observer/recorder.h"
#include "capture/packet/address_text.h"
#include "tests/base/record/record_folder.h"
#include "tests/capture/observer/frames.h"

namespace chokepoint::capture::tap {
namespace {

using observer::Datagram;

constexpr std::uint64_t kFrames = 300'000;  // a third of a second
constexpr std::size_t kBatch = 1'000;
constexpr std::uint64_t kFrameBytes = 50;

packet::Address address_of(std::string_view text) {
  return packet::as_in_packets(*net::Address::parse(text));
}

// 10.0.0.1:7 is the job's; 10.0.0.3 a stranger's, with a tenth of the packets.
Datagram exchanged(std::uint64_t number) {
  if (number % 10 == 0) {
    return {.from = 3, .to = 2, .from_port = 50, .to_port = 60};
  }
  return number % 2 == 0 ? Datagram{.from = 1, .to = 2, .from_port = 7, .to_port = 9}
                         : Datagram{.from = 2, .to = 1, .from_port = 9, .to_port = 7};
}

// What the sockets say of 10.0.0.1:7, from some moment on.
class KnownMembership final : public observer::Membership {
 public:
  std::optional<bool> sends(const packet::Ends& ends) override {
    const packet::Address job = address_of("10.0.0.1");
    const bool is_jobs = ends.source == job || ends.destination == job;
    return is_known_ && is_jobs ? std::optional(ends.source == job) : std::nullopt;
  }
  std::uint64_t version() const override { return is_known_ ? 1 : 0; }
  void forget(const packet::Ends& /*ends*/) override { ++forgotten_; }

  void know() { is_known_ = true; }
  int forgotten() const { return forgotten_; }

 private:
  bool is_known_ = false;
  int forgotten_ = 0;
};

// As the reader of a tap does it, of a source that plays.
class Watching final : public observer::FlowListener {
 public:
  Watching(observer::Membership& membership, record::Sink& sink)
      : volume_(membership, sink, "scripted"), recorder_(sink, {.job = &membership}) {}

  void on_drop(observer::Analyser&, const source::Drop&) override {}
  void on_fold(observer::Analyser& analyser, std::uint32_t slot,
               const flow::FlowFacts& facts) override {
    volume_.fold(analyser, slot, facts);
    recorder_.on_fold(analyser, slot, facts);
  }
  void on_gloo(observer::Analyser&, std::uint32_t,
               const observer::GlooLedger::Connection&) override {}
  void on_content(observer::Analyser& analyser, std::uint32_t slot,
                  traffic::Content content) override {
    recorder_.on_content(analyser, slot, content);
  }
  void after_batch(observer::Analyser& analyser) override {
    volume_.measure(analyser, analyser.time_ns());
    recorder_.after_batch(analyser);
  }
  void finish(observer::Analyser& analyser) {
    volume_.measure(analyser, analyser.time_ns());
    recorder_.finish(analyser);
  }

  JobVolume& volume() { return volume_; }

 private:
  JobVolume volume_;
  observer::Recorder recorder_;
};

class JobRowsTest : public record::RecordFolder {
 protected:
  // The sockets tell whose it is when so many frames have passed; the packets themselves then have
  // been seen for long.
  record::Reader recorded(std::uint64_t known_after, const flow::Limits& limits = {}) {
    const std::unique_ptr<record::Writer> writer = open_writer();
    Watching watching(membership_, *writer);
    auto play = observer::playing(frames_, kBatch, exchanged);
    const auto next = [&, played = std::uint64_t{0}](source::Batch& batch) mutable {
      if (played == known_after) {
        membership_.know();
      }
      played += kBatch;
      return play(batch);
    };
    const auto observer =
        observer::Observer::make(std::make_unique<observer::ScriptedSource>(next),
                                 {.limits = limits}, [&](std::size_t) { return &watching; });
    (*observer)->start();
    EXPECT_TRUE((*observer)->join());
    watching.finish(*(*observer)->analysers().front());
    counts_ = watching.volume().counts();
    EXPECT_EQ(writer->close().dropped, 0U);
    return open_reader();
  }

  std::int64_t packets(record::Reader& reader) {
    std::int64_t sum = 0;
    for (const record::FlowSample& sample : rows<record::FlowSample>(reader)) {
      sum += sample.packets.value();
    }
    return sum;
  }

  std::uint64_t frames_ = kFrames;
  KnownMembership membership_;
  VolumeCounts counts_;
};

TEST_F(JobRowsTest, WhatIsKnownLateIsKeptWholeAllTheSame) {
  for (const std::uint64_t known_after : {std::uint64_t{0}, std::uint64_t{200'000}}) {
    record::Reader reader = recorded(known_after);
    const auto flows = *reader.all<record::Flow>();
    // Of the job alone, in each of the sessions.
    ASSERT_EQ(flows.size(), known_after == 0 ? 1U : 2U);
    EXPECT_EQ(flows.back().b_port.value(), 7);
    EXPECT_GT(packets(reader), static_cast<std::int64_t>(kFrames) * 8 / 10);
  }
}

TEST_F(JobRowsTest, TheJobsVolumeIsItsOwn) {
  for (const std::uint64_t known_after : {std::uint64_t{0}, std::uint64_t{290'000}}) {
    recorded(known_after);
    EXPECT_EQ(counts_.sent_bytes, kFrames * 4 / 10 * kFrameBytes);
    EXPECT_EQ(counts_.received_bytes, kFrames * 5 / 10 * kFrameBytes);
    EXPECT_EQ(counts_.sent_packets, kFrames * 4 / 10);
  }
}

TEST_F(JobRowsTest, WhatNobodyKnowsIsNotTheJobs) {
  record::Reader reader = recorded(UINT64_MAX);
  EXPECT_EQ(counts_.sent_bytes + counts_.received_bytes, 0U);
  // It is large enough to matter to whoever the job is.
  EXPECT_EQ(reader.all<record::Flow>()->size(), 1U);
}

TEST_F(JobRowsTest, ConnectionsThatMadeRoomStayCounted) {
  frames_ = 10 * kBatch;
  recorded(0, {.flows = 1});
  EXPECT_GT(membership_.forgotten(), 0);
  EXPECT_EQ(counts_.sent_bytes, frames_ * 4 / 10 * kFrameBytes);
  EXPECT_EQ(counts_.received_bytes, frames_ * 5 / 10 * kFrameBytes);
}

TEST_F(JobRowsTest, VolumeIsACounterOfTheInterface) {
  record::Reader reader = recorded(0);
  double last = -1;
  const auto all = *reader.all<record::Series>();
  for (const record::Series& series : all) {
    EXPECT_EQ(series.subject, "scripted");
    if (series.name != record::kJobSentBytes) {
      continue;
    }
    for (const record::CounterSample& sample : rows<record::CounterSample>(reader)) {
      if (sample.series == series.id) {
        EXPECT_GT(sample.value, last);
        last = sample.value;
      }
    }
  }
  EXPECT_EQ(last, static_cast<double>(counts_.sent_bytes));
}

}  // namespace
}  // namespace chokepoint::capture::tap
