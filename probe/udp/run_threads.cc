#include "probe/udp/run_threads.h"

#include <algorithm>

namespace chokepoint::probe::udp {
namespace {

std::size_t senders_of(const Flows& flows) {
  return static_cast<std::size_t>(std::ranges::count(flows.flows, true, &Flow::sends));
}

math::Distribution in_milliseconds(const math::Histogram& delays, std::int64_t bias_ns) {
  if (delays.count() == 0) {
    return {};
  }
  const auto ms = [&](double ns) { return (ns - static_cast<double>(bias_ns)) / 1e6; };
  const math::Distribution raw = delays.distribution();
  return {.min = ms(raw.min),
          .median = ms(raw.median),
          .p99 = ms(raw.p99),
          .max = ms(raw.max),
          .mean = ms(raw.mean),
          .count = raw.count};
}

}  // namespace

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

void RunThreads::listen() {
  for (const auto& each : receiving_) {
    each->thread = std::thread([&receiving = *each] {
      std::ignore =
          receive_stream(receiving.fd, receiving.meter, receiving.end, receiving.progress);
      receiving.done = true;
    });
  }
}

void RunThreads::send() {
  for (const auto& each : sending_) {
    each->thread = std::thread([this, &sending = *each] {
      sending.outcome = send_stream(sending.fd, sending.plan, stop_sending_, sending.progress);
      sending.done = true;
    });
  }
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
  return in_milliseconds(*all, receiving_.front()->meter.delay_bias_ns());
}

SideReport RunThreads::report() {
  join();
  SideReport report{.delay_ms = delays(), .room_bytes = room_bytes_};
  for (const auto& each : sending_) {
    report.sent.push_back(sent_flow(each->outcome));
  }
  for (const auto& each : receiving_) {
    const std::int64_t expected = each->end.expected;
    // A sender that never told how much it sent sent what came, as far as anybody knows.
    const std::uint64_t sent = expected < 0 ? each->meter.sequence().next_expected()
                                            : static_cast<std::uint64_t>(expected);
    report.received.push_back(received_flow(each->meter, sent));
  }
  return report;
}

}  // namespace chokepoint::probe::udp
