// The UDP streams of one end of a test with a foreign peer, and what they moved: in total, without
// the omitted start, and per interval. The meter owns the streams, each of which owns its socket
// and the thread that fills or drains it. Everything is called from one thread.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "probe/peer/datagram_loop.h"

namespace chokepoint::probe::peer {

enum class Role { Send, Receive };

class DatagramStream {
 public:
  using Loop =
      std::function<void(int fd, DatagramCounters& counters, const std::atomic<bool>& stop)>;

  DatagramStream(sys::Descriptor fd, Role role, Loop loop)
      : fd_(std::move(fd)), role_(role), loop_(std::move(loop)) {}
  DatagramStream(const DatagramStream&) = delete;
  DatagramStream& operator=(const DatagramStream&) = delete;
  ~DatagramStream();

  Result<> start();
  void stop() { stopping_ = true; }

  Role role() const { return role_; }
  int descriptor() const { return fd_.get(); }
  const DatagramCounters& counters() const { return counters_; }

 private:
  sys::Descriptor fd_;
  Role role_;
  Loop loop_;
  DatagramCounters counters_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

template <class Format>
DatagramStream::Loop sending(DatagramPlan plan, Format format) {
  return [plan, format](int fd, DatagramCounters& counters, const std::atomic<bool>& stop) {
    DatagramSender<Format>(fd, plan, format, counters).run(stop);
  };
}

template <class Format>
DatagramStream::Loop receiving(Format format) {
  return [format](int fd, DatagramCounters& counters, const std::atomic<bool>& stop) {
    DatagramReceiver<Format>(fd, format, counters).run(stop);
  };
}

// Of a stream, at most: the packets of its loop, and a socket's buffers as far as the system
// usually lets them grow.
inline constexpr std::int64_t kMemoryOfStream = std::int64_t{3} << 20;

struct DatagramSocket {
  sys::Descriptor fd;
  Role role = Role::Send;
};

struct DatagramMeasure {
  Role role = Role::Send;
  int index = 0;
  std::uint64_t bytes = 0;
  std::uint64_t packets = 0;
  std::uint64_t highest = 0;  // at a receiver: at least this many were sent
  std::uint64_t missing = 0;
  std::uint64_t out_of_order = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t omitted_packets = 0;  // before the measured time; at a receiver, the highest
  std::uint64_t omitted_missing = 0;
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

  explicit DatagramMeter(std::int64_t omit_ns, OnInterval on_interval = {})
      : omit_ns_(omit_ns), on_interval_(std::move(on_interval)) {}

  void add(DatagramSocket socket, DatagramStream::Loop loop);

  Result<> begin();
  void tick();
  // Every sender is done.
  bool sent() const;
  // Every receiver is done, by the mark that ends its stream.
  bool ended() const;
  std::uint64_t bytes(Role role) const;
  void stop(Role role);
  // Stops all and closes the last interval.
  void end();

  std::vector<DatagramMeasure> measures() const;

 private:
  bool all_done(Role role) const;
  void begin_measuring(std::int64_t now_ns);
  void end_interval(std::int64_t now_ns);

  std::int64_t omit_ns_;
  OnInterval on_interval_;
  std::vector<std::unique_ptr<DatagramStream>> streams_;
  std::vector<DatagramMeasure> omitted_;  // what each had moved when measuring began
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
