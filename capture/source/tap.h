// One live interface: a packet socket with a ring (TPACKET_V3) opened by libpcap. Never blocks: who
// waits does so on descriptor(), which is readable when the kernel hands over a block of packets,
// full or kBlockTimeout old. So there are few wake-ups, and no system call a packet. One thread at
// a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "capture/source/interface_drops.h"
#include "capture/source/source.h"
#include "capture/source/stamps.h"

struct pcap;

namespace chokepoint::capture::source {

inline constexpr std::chrono::milliseconds kBlockTimeout{20};

struct TapOptions {
  std::uint32_t snapshot_bytes = 0;
  std::uint64_t ring_bytes = 0;
  std::string filter = {};
  bool promiscuous = false;
  TimeScale time_scale = TimeScale::Wall;
};

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

  // Another filter from now on, while collect() goes on: any thread. What the ring holds by then
  // stays in it, and nothing is lost in between. An error leaves the old one.
  Result<> narrow(const std::string& filter) const;

  // Adds what lies ready and still has a place in the batch. An error, the interface gone down for
  // one, does not lose what is in the ring: call again.
  Result<> collect(Batch& batch, std::uint32_t interface);
  // What was lost since the last call; nothing where nothing was.
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

}  // namespace chokepoint::capture::source
