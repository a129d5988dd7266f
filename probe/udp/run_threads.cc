#include "probe/udp/run_threads.h"

#include <algorithm>

#include "base/control/bodies.h"
#include "base/math/units.h"
#include "base/sys/thread.h"

namespace chokepoint {

template <>
struct Fields<probe::udp::Burst> {
  using B = probe::udp::Burst;
  static constexpr FieldList kList{field("batch_packets", &B::batch_packets),
                                   field("bucket_packets", &B::bucket_packets).between(0, 1e18),
                                   field("hurried_ns", &B::hurried_ns).at_least(0)};
};

template <>
struct Fields<probe::udp::SentFlow> {
  using F = probe::udp::SentFlow;
  static constexpr FieldList kList{
      field("packets", &F::packets).at_most(kMaxCount),
      field("bytes", &F::bytes).at_most(kMaxCount),
      field("duration_s", &F::duration_s).between(0, 1e18),
      field("skipped", &F::skipped).at_most(kMaxCount),
      field("dropped_here", &F::dropped_here).at_most(kMaxCount),
      field("blocked_s", &F::blocked_s, "while the interface's queue was full").between(0, 1e18),
      field("segmented", &F::segmented),
      field("burst", &F::burst),
      field("error", &F::error).up_to_bytes(256)};
};

template <>
struct Fields<probe::udp::FlowInterval> {
  using I = probe::udp::FlowInterval;
  static constexpr FieldList kList{field("packets", &I::packets).at_most(kMaxCount),
                                   field("bytes", &I::bytes).at_most(kMaxCount),
                                   field("missing", &I::missing).at_most(kMaxCount),
                                   field("jitter_ms", &I::jitter_ms).between(0, 1e18)};
};

template <>
struct Fields<probe::udp::ReceivedFlow> {
  using F = probe::udp::ReceivedFlow;
  using C = probe::udp::SequenceCounts;
  static constexpr FieldList kList{
      within(&F::counts, field("received", &C::received).at_most(kMaxCount)),
      within(&F::counts, field("duplicates", &C::duplicates).at_most(kMaxCount)),
      within(&F::counts, field("out_of_order", &C::out_of_order).at_most(kMaxCount)),
      within(&F::counts, field("ancient", &C::ancient).at_most(kMaxCount)),
      field("bytes", &F::bytes).at_most(kMaxCount),
      field("lost", &F::lost).at_most(kMaxCount),
      field("lost_in_queue", &F::lost_in_queue).at_most(kMaxCount),
      field("ignored", &F::ignored, "of an earlier run or another sender").at_most(kMaxCount),
      field("bytes_per_s", &F::bytes_per_s).between(0, 1e18),
      field("jitter_ms", &F::jitter_ms).between(0, 1e18),
      field("intervals", &F::intervals)};
};

template <>
struct Fields<probe::udp::SideReport> {
  using R = probe::udp::SideReport;
  static constexpr FieldList kList{
      field("sent", &R::sent), field("received", &R::received),
      // A delay may be negative by the clocks' uncertainty.
      field("delay_ms", &R::delay_ms, "one-way").between(-1e18, 1e18),
      field("room_bytes", &R::room_bytes, "a receiving socket's buffer").at_least(0)};
};

}  // namespace chokepoint

namespace chokepoint::probe::udp {
namespace {

SentFlow sent_flow(const SendOutcome& outcome) {
  const SendTally& tally = outcome.tally;
  const double rate = bytes_per_second(tally).value_or(0);
  return {.packets = tally.packets,
          .bytes = tally.bytes,
          .duration_s = rate > 0 ? static_cast<double>(tally.bytes) / rate : 0,
          .skipped = tally.skipped,
          .dropped_here = tally.dropped_here,
          .blocked_s = static_cast<double>(tally.blocked_ns) / 1e9,
          .segmented = tally.segmented,
          .burst = tally.burst,
          .error = outcome.error ? outcome.error->reason : ""};
}

ReceivedFlow received_flow(const FlowMeter& meter, std::uint64_t sent) {
  return {.counts = meter.sequence().counts(),
          .bytes = meter.bytes(),
          .lost = meter.sequence().lost(sent),
          .lost_in_queue = meter.lost_in_queue(sent),
          .ignored = meter.foreign(),
          .bytes_per_s = meter.bytes_per_second(),
          .jitter_ms = meter.jitter_ms(),
          .intervals = meter.intervals()};
}

std::size_t senders_of(const Flows& flows) {
  return static_cast<std::size_t>(std::ranges::count(flows.flows, true, &Flow::sends));
}

}  // namespace

control::Json body_of(const SideReport& report) { return json::to_json(report); }

Result<SideReport> side_report_in(const control::Json& body) {
  return json::from_json<SideReport>(body, "udp report");
}

RunThreads::RunThreads(const Flows& flows, const RunPlan& plan)
    : room_bytes_(flows.room_bytes), packet_bytes_(plan.packet_bytes) {
  const double senders = static_cast<double>(std::max<std::size_t>(senders_of(flows), 1));
  for (const Flow& flow : flows.flows) {
    const FlowIdentity identity{.test = flows.test, .run = plan.run, .stream = flow.stream};
    if (flow.sends) {
      auto sending = std::make_unique<Sending>();
      sending->fd = flow.fd.get();
      sending->plan = {.identity = identity,
                       .packet_bytes = plan.packet_bytes,
                       .bits_per_second = plan.bits_per_s / senders,
                       .duration = plan.time};
      sending_.push_back(std::move(sending));
    } else {
      receiving_.push_back(std::make_unique<Receiving>(flow.fd.get(), identity, plan));
    }
  }
}

RunThreads::~RunThreads() {
  stop();
  join();
}

Result<> RunThreads::listen() {
  for (const auto& each : receiving_) {
    TRY(each->thread, sys::start_thread("udp receive", [&receiving = *each] {
          std::ignore =
              receive_stream(receiving.inbox, receiving.meter, receiving.end, receiving.progress);
          receiving.done = true;
        }));
  }
  return {};
}

Result<> RunThreads::send() {
  for (const auto& each : sending_) {
    TRY(each->thread, sys::start_thread("udp send", [this, &sending = *each] {
          sending.outcome = send_stream(sending.fd, sending.plan, stop_sending_, sending.progress);
          sending.done = true;
        }));
  }
  return {};
}

void RunThreads::stop() {
  stop_sending();
  for (const auto& each : receiving_) {
    each->end.stop = true;
  }
}

bool RunThreads::sent_all() const {
  return std::ranges::all_of(sending_, [](const auto& each) { return each->done.load(); });
}

std::vector<std::uint64_t> RunThreads::sent() const {
  std::vector<std::uint64_t> numbers;
  for (const auto& each : sending_) {
    numbers.push_back(each->progress.packets);
  }
  return numbers;
}

bool RunThreads::expect(const std::vector<std::uint64_t>& sent) {
  if (sent.size() != receiving_.size()) {
    return false;
  }
  for (std::size_t i = 0; i < sent.size(); ++i) {
    receiving_[i]->end.expected =
        static_cast<std::int64_t>(std::min<std::uint64_t>(sent[i], INT64_MAX));
  }
  return true;
}

bool RunThreads::received_all() const {
  return std::ranges::all_of(receiving_, [](const auto& each) { return each->done.load(); });
}

LiveCounts RunThreads::received_so_far() const {
  LiveCounts counts;
  for (const auto& each : receiving_) {
    counts.packets += each->progress.packets;
    counts.bytes += each->progress.bytes;
    counts.missing += each->progress.missing;
  }
  return counts;
}

LiveCounts RunThreads::sent_so_far() const {
  LiveCounts counts;
  for (const auto& each : sending_) {
    counts.packets += each->progress.packets;
  }
  counts.bytes = counts.packets * packet_bytes_;
  return counts;
}

void RunThreads::join() {
  for (const auto& each : sending_) {
    if (each->thread.joinable()) {
      each->thread.join();
    }
  }
  for (const auto& each : receiving_) {
    if (each->thread.joinable()) {
      each->thread.join();
    }
  }
}

math::Distribution RunThreads::delays() const {
  if (receiving_.empty()) {
    return {};
  }
  const auto all = std::make_unique<math::Histogram>();
  for (const auto& each : receiving_) {
    all->merge(each->meter.delays());
  }
  const auto bias_ns = static_cast<double>(receiving_.front()->meter.delay_bias_ns());
  math::Distribution delays = all->distribution();
  if (delays.count > 0) {
    for (double* each : {&delays.min, &delays.median, &delays.p99, &delays.max, &delays.mean}) {
      *each = (*each - bias_ns) / math::kNsPerMs;
    }
  }
  return delays;
}

SideReport RunThreads::report() {
  join();
  SideReport report{.delay_ms = delays(), .room_bytes = room_bytes_};
  for (const auto& each : sending_) {
    report.sent.push_back(sent_flow(each->outcome));
  }
  for (const auto& each : receiving_) {
    const std::int64_t expected = each->end.expected;
    // Without the sender's count nothing is known to be lost after the last arrival.
    const std::uint64_t sent = expected < 0 ? each->meter.sequence().next_expected()
                                            : static_cast<std::uint64_t>(expected);
    report.received.push_back(received_flow(each->meter, sent));
  }
  return report;
}

}  // namespace chokepoint::probe::udp
