// One live interface: its packet socket (Tap), and reading it to the end (TapReading), which a
// StopFlag ends. Each tap is used by one thread at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "capture/source/network_interfaces.h"
#include "capture/source/source.h"

struct pcap;

namespace chokepoint::capture::source {

// When the kernel hands over a block of packets that is not full.
inline constexpr std::chrono::milliseconds kBlockTimeout{20};

// The clock of a tap's frames: the wall clock, with which the kernel stamps them, or the monotonic
// one, which is never set. If the wall clock is set meanwhile, the few frames that were stamped
// before and read after are shifted.
enum class TimeScale { Wall, Monotonic };

class Stamps {
 public:
  explicit Stamps(TimeScale scale) : is_monotonic_(scale == TimeScale::Monotonic) { look(); }

  // Call it before frames are read: measures the difference of the clocks.
  void look() {
    if (is_monotonic_) {
      const std::int64_t apart = clock_.monotonic_ns() - clock_.wall_ns();
      // The clocks are not read at the same moment: a smaller change is noise.
      shift_ns_ = std::llabs(apart - shift_ns_) > kNoiseNs ? apart : shift_ns_;
    }
  }
  // To be added to the kernel's stamps.
  std::int64_t shift_ns() const { return shift_ns_; }
  std::int64_t now() const { return is_monotonic_ ? clock_.monotonic_ns() : clock_.wall_ns(); }

 private:
  static constexpr std::int64_t kNoiseNs = 20'000;
  sys::SystemClock clock_;
  bool is_monotonic_;
  std::int64_t shift_ns_ = 0;
};

struct TapOptions {
  std::uint32_t snapshot_bytes = 0;
  std::uint64_t ring_bytes = 0;
  std::string filter = {};
  bool promiscuous = false;
  TimeScale time_scale = TimeScale::Wall;
};

// A packet socket with a ring (TPACKET_V3) opened by libpcap. Never blocks: wait on descriptor(),
// which is readable when the kernel hands over a block of packets, full or kBlockTimeout old. So
// there are few wake-ups, and no system call per packet.
class Tap {
 public:
  static Result<Tap> open(const std::string& interface, const TapOptions& options,
                          InterfaceDrops drops);
  Tap(Tap&&) noexcept;
  Tap& operator=(Tap&&) = delete;
  ~Tap();

  int descriptor() const;
  packet::LinkType link_type() const { return link_type_; }
  std::uint32_t snapshot_bytes() const { return snapshot_bytes_; }
  std::int64_t now() const { return stamps_.now(); }  // by the clock that frames have

  // Changes the filter while collect() goes on: any thread. Packets in the ring stay, and none is
  // lost in between. An error leaves the old filter.
  Result<> narrow(const std::string& filter) const;

  // Adds the packets that are ready and fit into the batch. An error, such as the interface going
  // down, does not lose those in the ring: call again.
  Result<> collect(Batch& batch, std::uint32_t interface);
  // What was lost since the last call; nullopt if nothing was.
  std::optional<Drop> newly_dropped();

 private:
  Tap(std::string name, pcap* handle, InterfaceDrops drops, TimeScale time_scale);
  Result<> activate(const TapOptions& options);
  Result<> set_filter(const std::string& filter);
  Error error_of(int status) const;

  std::string name_;
  std::unique_ptr<pcap, void (*)(pcap*)> handle_;
  InterfaceDrops interface_drops_;
  Stamps stamps_;
  std::uint32_t kernel_drops_ = 0;
  packet::LinkType link_type_ = packet::LinkType::Ethernet;
  std::uint32_t snapshot_bytes_ = 0;
};

// Asks readers of live interfaces to stop, and wakes those that wait. ask() may be called from any
// thread and from a signal handler.
class StopFlag {
 public:
  StopFlag();

  void ask() noexcept;
  bool asked() const { return asked_.load(std::memory_order_acquire); }
  // Readable once asked.
  int descriptor() const { return descriptor_.get(); }

 private:
  sys::Descriptor descriptor_;
  std::atomic<bool> asked_ = false;
};

// Reads one tap to its end, a batch at a time: waits for the ring, reads the drop counters ten
// times a second, and after a stop or the interface's end still returns what is in the ring.
//
//   listening ──stop()──▶ draining ──a packet later than that, or two block timeouts──▶ End, or
//       └──interface gone────┘                                                          the error
class TapReading {
 public:
  TapReading(Tap tap, std::uint32_t interface, const StopFlag& stop,
             std::chrono::milliseconds deadline)
      : tap_(std::move(tap)), interface_(interface), stop_(stop), patience_(deadline) {}

  // Waits no longer than `deadline` for something to come.
  Result<Progress> read(Batch& batch);

  const Tap& tap() const { return tap_; }

  // Packets that are still to come are later than this time.
  std::int64_t complete_until() const { return complete_until_; }

 private:
  using Instant = std::chrono::steady_clock::time_point;

  void wait(Instant until) const;
  void collect(Batch& batch, Instant now);
  void look_at_drops(Batch& batch);
  bool is_drained(const Batch& batch, Instant now) const;
  bool drop_frames_after_stop(Batch& batch) const;
  Result<Progress> end(const Batch& batch) const;

  Tap tap_;
  std::uint32_t interface_;
  const StopFlag& stop_;
  std::chrono::milliseconds patience_;
  Instant next_look_ = {};
  std::int64_t complete_until_ = 0;
  std::optional<Instant> drained_at_;
  std::int64_t stopped_ns_ = INT64_MAX;
  std::optional<Error> error_;
};

}  // namespace chokepoint::capture::source
