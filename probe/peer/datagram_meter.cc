#include "probe/peer/datagram_meter.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/net/socket.h"
#include "base/sys/thread.h"
#include "probe/tcp/stream.h"
#include "probe/udp/data_socket.h"

namespace chokepoint::probe::peer {
namespace {

// How soon a blocked thread notices that it shall stop.
constexpr std::chrono::milliseconds kBlocked{100};
constexpr int kBufferBytes = 4 << 20;

constexpr std::int64_t kIntervalNs = 1'000'000'000;
constexpr std::int64_t kMaxThreadEndNs = 2'000'000'000;
constexpr std::chrono::milliseconds kLookForEnd{5};

double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

// 0 where `before` is larger: a receiver's missing packets may have arrived since.
std::uint64_t less(std::uint64_t all, std::uint64_t before) {
  return all > before ? all - before : 0;
}

DatagramMeasure total_of(const DatagramStream& stream, int index) {
  const DatagramCounters& counters = stream.counters();
  DatagramMeasure measure{.role = stream.role(), .index = index};
  measure.bytes = counters.bytes;
  measure.packets = counters.packets;
  measure.highest = counters.highest;
  measure.missing = counters.missing;
  measure.out_of_order = counters.out_of_order;
  measure.duplicates = counters.duplicates;
  measure.error = counters.error;
  if (const double jitter = counters.jitter_ms; jitter >= 0) {
    measure.jitter_ms = jitter;
  }
  return measure;
}

}  // namespace

DatagramStream::~DatagramStream() {
  stop();
  if (thread_.joinable()) {
    thread_.join();
  }
}

Result<> DatagramStream::start() {
  udp::ask_for_room(fd_.get(), kBufferBytes);
  TRY(net::set_blocking(fd_.get(), kBlocked, kBlocked));
  if (role_ == Role::Receive) {
    TRY(udp::prepare_receiving(fd_.get()));
  }
  TRY(thread_, sys::start_thread("datagrams", [this] {
        loop_(fd_.get(), counters_, stopping_);
        counters_.done = true;
      }));
  return {};
}

void DatagramMeter::add(DatagramSocket socket, DatagramStream::Loop loop) {
  streams_.push_back(
      std::make_unique<DatagramStream>(std::move(socket.fd), socket.role, std::move(loop)));
}

Result<> DatagramMeter::begin() {
  begun_ns_ = tcp::monotonic_ns();
  interval_began_ns_ = begun_ns_;
  for (const auto& stream : streams_) {
    TRY(stream->start());
  }
  if (omit_ns_ == 0) {
    begin_measuring(begun_ns_);
  }
  return {};
}

void DatagramMeter::begin_measuring(std::int64_t now_ns) {
  measuring_ = true;
  measured_from_ns_ = now_ns;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    omitted_.push_back(now_ns == begun_ns_ ? DatagramMeasure{}
                                           : total_of(*streams_[i], static_cast<int>(i)));
  }
}

void DatagramMeter::tick() {
  const std::int64_t now = tcp::monotonic_ns();
  if (!measuring_ && now >= begun_ns_ + omit_ns_) {
    begin_measuring(now);
  }
  if (now - interval_began_ns_ >= kIntervalNs) {
    end_interval(now);
  }
}

void DatagramMeter::end_interval(std::int64_t now_ns) {
  for (const Role role : {Role::Send, Role::Receive}) {
    const DatagramMeasure sum = sum_of(measures(), role);
    const auto place = static_cast<std::size_t>(role);
    if (sum.packets == 0) {
      continue;
    }
    const DatagramInterval interval{.role = role,
                                    .start_s = seconds(interval_began_ns_ - begun_ns_),
                                    .end_s = seconds(now_ns - begun_ns_),
                                    .bytes = less(sum.bytes, reported_bytes_[place]),
                                    .packets = less(sum.packets, reported_packets_[place])};
    reported_bytes_[place] = sum.bytes;
    reported_packets_[place] = sum.packets;
    if (on_interval_) {
      on_interval_(interval);
    }
  }
  interval_began_ns_ = now_ns;
}

bool DatagramMeter::all_done(Role role) const {
  return std::ranges::all_of(streams_, [role](const auto& stream) {
    return stream->role() != role || stream->counters().done;
  });
}

bool DatagramMeter::sent() const { return all_done(Role::Send); }
bool DatagramMeter::ended() const { return all_done(Role::Receive); }

std::uint64_t DatagramMeter::bytes(Role role) const {
  std::uint64_t sum = 0;
  for (const auto& stream : streams_) {
    sum += stream->role() == role ? stream->counters().bytes.load() : 0;
  }
  return sum;
}

void DatagramMeter::stop(Role role) {
  for (const auto& stream : streams_) {
    if (stream->role() == role) {
      stream->stop();
    }
  }
}

void DatagramMeter::end() {
  stop(Role::Send);
  stop(Role::Receive);
  const std::int64_t until = tcp::monotonic_ns() + kMaxThreadEndNs;
  while (!(sent() && ended()) && tcp::monotonic_ns() < until) {
    std::this_thread::sleep_for(kLookForEnd);
  }
  if (!over_) {
    over_ = true;
    end_interval(tcp::monotonic_ns());
  }
}

std::vector<DatagramMeasure> DatagramMeter::measures() const {
  std::vector<DatagramMeasure> all;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    DatagramMeasure measure = total_of(*streams_[i], static_cast<int>(i));
    const DatagramMeasure before = measuring_ ? omitted_[i] : measure;
    measure.bytes = less(measure.bytes, before.bytes);
    measure.packets = less(measure.packets, before.packets);
    measure.highest = less(measure.highest, before.highest);
    measure.missing = less(measure.missing, before.missing);
    measure.out_of_order = less(measure.out_of_order, before.out_of_order);
    measure.duplicates = less(measure.duplicates, before.duplicates);
    measure.omitted_packets = measure.role == Role::Send ? before.packets : before.highest;
    measure.omitted_missing = before.missing;
    const DatagramCounters& counters = streams_[i]->counters();
    const std::int64_t first = std::max(counters.first_ns.load(), measured_from_ns_);
    measure.seconds = seconds(std::max(counters.last_ns.load() - first, std::int64_t{0}));
    all.push_back(measure);
  }
  return all;
}

DatagramMeasure sum_of(const std::vector<DatagramMeasure>& measures, Role role) {
  DatagramMeasure sum{.role = role};
  double jitter_sum = 0;
  int jitters = 0;
  for (const DatagramMeasure& measure : measures) {
    if (measure.role != role) {
      continue;
    }
    sum.bytes += measure.bytes;
    sum.packets += measure.packets;
    sum.highest += measure.highest;
    sum.missing += measure.missing;
    sum.out_of_order += measure.out_of_order;
    sum.duplicates += measure.duplicates;
    sum.seconds = std::max(sum.seconds, measure.seconds);
    sum.error = sum.error != 0 ? sum.error : measure.error;
    jitter_sum += measure.jitter_ms.value_or(0);
    jitters += measure.jitter_ms ? 1 : 0;
  }
  if (jitters > 0) {
    sum.jitter_ms = jitter_sum / jitters;
  }
  return sum;
}

}  // namespace chokepoint::probe::peer
