#include "probe/tcp/endpoint.h"

#include <algorithm>

#include "probe/tcp/monotonic.h"
#include "probe/tcp/placement.h"

namespace chokepoint::probe::tcp {
namespace {

StreamPlan plan_of(const Parameters& parameters, Role role, int index,
                   const std::vector<int>& cpus) {
  StreamPlan plan{.role = role,
                  .index = index,
                  .time_ns = (parameters.time + parameters.omit).count(),
                  .zero_copy = parameters.zero_copy,
                  .cpus = cpus};
  if (parameters.bytes) {
    // The first streams take what does not divide.
    const auto streams = static_cast<std::uint64_t>(parameters.streams);
    const std::uint64_t place = static_cast<std::uint64_t>(index) % streams;
    plan.bytes = *parameters.bytes / streams + (place < *parameters.bytes % streams ? 1 : 0);
  }
  return plan;
}

// Kept of a test that lasts longer than anybody thought: the rest is in the sums all the same.
constexpr std::size_t kMostIntervalsKept = 80'000;

double in_seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

}  // namespace

Result<std::unique_ptr<Endpoint>> Endpoint::make(std::vector<Connection> connections,
                                                 const Parameters& parameters,
                                                 const sys::Root& root) {
  TRY(Payload payload, Payload::make());
  std::unique_ptr<Endpoint> endpoint(new Endpoint(parameters, std::move(payload), root));
  const std::vector<int> cpus =
      connections.empty() ? std::vector<int>() : cpus_near(connections.front().fd.get(), root);
  for (Connection& connection : connections) {
    const auto index = static_cast<int>(endpoint->streams_.size());
    endpoint->streams_.push_back(std::make_unique<Stream>(
        std::move(connection.fd), plan_of(parameters, connection.role, index, cpus),
        endpoint->payload_));
  }
  return endpoint;
}

Endpoint::~Endpoint() { abort(); }

void Endpoint::begin() {
  if (Result<host::CoreTimes> cores = host::read_core_times(root_)) {
    cores_before_ = std::move(*cores);
  }
  begun_ns_ = monotonic_ns();
  interval_began_ns_ = begun_ns_;
  next_interval_ns_ = begun_ns_ + parameters_.interval.count();
  for (const auto& stream : streams_) {
    watches_.push_back(std::make_unique<StreamWatch>(*stream, begun_ns_, parameters_.omit.count()));
    stream->start();
  }
}

void Endpoint::tick(const OnInterval& on_interval) {
  const std::int64_t now = monotonic_ns();
  for (const auto& watch : watches_) {
    watch->tick(now);
  }
  const bool last = done();
  if (last && !cores_after_) {
    if (Result<host::CoreTimes> cores = host::read_core_times(root_)) {
      cores_after_ = std::move(*cores);
    }
  }
  if (now >= next_interval_ns_ || last) {
    end_interval(now, on_interval);
    while (next_interval_ns_ <= now) {
      next_interval_ns_ += parameters_.interval.count();
    }
  }
}

void Endpoint::end_interval(std::int64_t now_ns, const OnInterval& on_interval) {
  for (const Role role : {Role::Send, Role::Receive}) {
    if (const std::optional<IntervalMeasure> measured = interval(role, now_ns)) {
      if (intervals_.size() < kMostIntervalsKept) {
        intervals_.push_back(*measured);
      }
      on_interval(*measured);
    }
  }
  interval_began_ns_ = now_ns;
}

std::optional<IntervalMeasure> Endpoint::interval(Role role, std::int64_t now_ns) {
  std::optional<IntervalMeasure> sum;
  double rtt_sum = 0;
  int rtt_count = 0;
  std::int64_t end_ns = interval_began_ns_;
  for (const auto& watch : watches_) {
    if (watch->stream().plan().role != role) {
      continue;
    }
    sum = sum ? sum : IntervalMeasure{.role = role};
    const StreamWatch::Change change = watch->change();
    sum->bytes += change.bytes;
    if (change.retransmits) {
      sum->retransmits = sum->retransmits.value_or(0) + *change.retransmits;
      sum->cwnd_bytes = sum->cwnd_bytes.value_or(0) + change.cwnd_bytes.value_or(0);
    }
    if (change.rtt_ms) {
      rtt_sum += *change.rtt_ms;
      ++rtt_count;
    }
    const std::int64_t over = watch->stream().counters().data_done_ns;
    end_ns = std::max(end_ns, over == 0 ? now_ns : over);
  }
  if (!sum || (sum->bytes == 0 && end_ns <= interval_began_ns_)) {
    return std::nullopt;
  }
  sum->start_s = in_seconds(interval_began_ns_ - begun_ns_);
  sum->end_s = in_seconds(std::min(end_ns, now_ns) - begun_ns_);
  if (rtt_count > 0) {
    sum->rtt_ms = rtt_sum / rtt_count;
  }
  return sum;
}

bool Endpoint::done() const {
  return std::ranges::all_of(watches_, [](const auto& watch) { return watch->done(); });
}

void Endpoint::stop() {
  for (const auto& stream : streams_) {
    stream->stop();
  }
}

void Endpoint::abort() {
  for (const auto& stream : streams_) {
    stream->abort();
  }
}

HostMeasure Endpoint::host() const {
  HostMeasure host;
  if (!cores_before_ || !cores_after_) {
    return host;
  }
  if (const auto cores = host::busiest(*cores_before_, *cores_after_)) {
    host.softirq_core = cores->softirq_core;
    host.softirq_percent = cores->softirq_percent;
    host.busiest_core_percent = cores->busy_percent;
  }
  return host;
}

Half Endpoint::half() const {
  Half half{.intervals = intervals_, .host = host()};
  for (const auto& watch : watches_) {
    half.streams.push_back(watch->measure());
    half.host.cpu_percent += half.streams.back().cpu_percent;
  }
  return half;
}

}  // namespace chokepoint::probe::tcp
