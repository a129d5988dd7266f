// One connection and the thread that fills or drains it.
//
//   Send:     data until its time or bytes are over ─ shutdown ─ waits for the peer's close
//   Receive:  data until the peer's shutdown ─ close
//
// So whoever sends knows when all of it has arrived, and both ends count the same bytes. The thread
// writes the counters, anybody reads them; start, stop and join belong to the owner's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/sys/descriptor.h"
#include "probe/tcp/payload.h"

namespace chokepoint::probe::tcp {

enum class Role { Send, Receive };

struct StreamPlan {
  Role role = Role::Send;
  int index = 0;
  std::int64_t time_ns = 0;                 // how long to send
  std::optional<std::uint64_t> bytes = {};  // how much to send, if that ends it sooner
  bool zero_copy = true;
  std::vector<int> cpus = {};  // to run on; empty: any
};

// Monotonic nanoseconds; 0: not yet.
struct alignas(64) StreamCounters {
  std::atomic<std::uint64_t> bytes = 0;
  std::atomic<std::int64_t> first_ns = 0;  // of the data
  std::atomic<std::int64_t> last_ns = 0;
  std::atomic<std::int64_t> data_done_ns =
      0;                                 // the last of it was given to, or taken from, the kernel
  std::atomic<std::int64_t> cpu_ns = 0;  // the thread's, until then
  std::atomic<bool> done = false;        // the thread has ended
  std::atomic<int> error = 0;            // errno
};

class Stream {
 public:
  Stream(sys::Descriptor fd, StreamPlan plan, const Payload& payload)
      : fd_(std::move(fd)), plan_(std::move(plan)), payload_(payload) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();

  void start();
  // A sender sends no more; what it has sent still arrives.
  void stop() { stopping_ = true; }
  // Ends it at once, whatever is in flight.
  void abort();

  int descriptor() const { return fd_.get(); }
  const StreamPlan& plan() const { return plan_; }
  const StreamCounters& counters() const { return counters_; }

 private:
  void run();

  sys::Descriptor fd_;
  StreamPlan plan_;
  const Payload& payload_;
  StreamCounters counters_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace chokepoint::probe::tcp
