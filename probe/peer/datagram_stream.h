// A UDP socket of a foreign protocol and the thread that fills or drains it. Start, stop and the
// destructor belong to the owner's thread; the counters are anybody's to read.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "probe/peer/datagram_counters.h"
#include "probe/peer/datagram_receive.h"
#include "probe/peer/datagram_send.h"

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

}  // namespace chokepoint::probe::peer
