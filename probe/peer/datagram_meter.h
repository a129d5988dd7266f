// The UDP streams of one end of a test with a foreign peer, and what they moved: in all without
// what was omitted at the start, and by the interval. Owns the streams. One thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "probe/peer/datagram_stream.h"

namespace chokepoint::probe::peer {

struct DatagramSocket {
  sys::Descriptor fd;
  Role role = Role::Send;
};

struct DatagramMeasure {
  Role role = Role::Send;
  int index = 0;
  std::uint64_t bytes = 0;
  std::uint64_t packets = 0;
  std::uint64_t highest = 0;  // at a receiver: at least so many were sent
  std::uint64_t missing = 0;
  std::uint64_t out_of_order = 0;
  std::uint64_t duplicates = 0;
  std::optional<double> jitter_ms = {};
  double seconds = 0;  // from the first datagram to the last
  int error = 0;       // errno
};

struct DatagramInterval {
  Role role = Role::Send;
  double start_s = 0;
  double end_s = 0;
  std::uint64_t bytes = 0;
  std::uint64_t packets = 0;
};

class DatagramMeter {
 public:
  using OnInterval = std::function<void(const DatagramInterval& interval)>;

  DatagramMeter(std::int64_t omit_ns, OnInterval on_interval)
      : omit_ns_(omit_ns), on_interval_(std::move(on_interval)) {}

  void add(DatagramSocket socket, DatagramStream::Loop loop);

  Result<> begin();
  void tick();
  // Every sender has come to its end.
  bool sent() const;
  // Every receiver has, by a mark in the data.
  bool ended() const;
  std::uint64_t bytes(Role role) const;
  void stop(Role role);
  // Stops all and closes the last interval.
  void end();

  std::vector<DatagramMeasure> measures() const;
  const std::vector<DatagramInterval>& intervals() const { return intervals_; }

 private:
  bool all_done(Role role) const;
  void begin_measuring(std::int64_t now_ns);
  void end_interval(std::int64_t now_ns);

  std::int64_t omit_ns_;
  OnInterval on_interval_;
  std::vector<std::unique_ptr<DatagramStream>> streams_;
  std::vector<DatagramMeasure> omitted_;  // what each had moved by then
  std::vector<DatagramInterval> intervals_;
  std::int64_t begun_ns_ = 0;
  std::int64_t measured_from_ns_ = 0;
  std::int64_t interval_began_ns_ = 0;
  std::uint64_t reported_bytes_[2] = {};
  std::uint64_t reported_packets_[2] = {};
  bool measuring_ = false;
  bool over_ = false;
};

// The sum over the streams of one role.
DatagramMeasure sum_of(const std::vector<DatagramMeasure>& measures, Role role);

}  // namespace chokepoint::probe::peer
