// Many simulated agents in one process, on one thread of its own: each on a loopback address
// (127.1.y.z), all on one port. They speak the protocol as 'chokepoint serve' does, find what the
// made-up network says, and some are hostile. start() and the destructor belong to one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/control/handshake.h"
#include "base/net/address.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "tests/preflight/crowd/guest.h"

namespace chokepoint::preflight::crowd {

struct CrowdOptions {
  HostIndex hosts = 4;
  std::uint16_t port = 0;  // 0: the kernel chooses
  std::optional<control::Secret> key = {};
  double time_factor = 0;  // of the time that a task asks for
  Network network = {};
  std::map<HostIndex, Behaviour> behaviours = {};  // good where nothing is said
};

class Crowd {
 public:
  static Result<std::unique_ptr<Crowd>> start(CrowdOptions options);
  ~Crowd();
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  std::uint16_t port() const { return port_; }
  // Their addresses, in order.
  std::vector<net::HostPort> hosts() const;
  // That are connected now.
  std::size_t guests() const { return count_; }
  // Its connection ends as if the host's power did not.
  void kill(HostIndex host) { victim_ = static_cast<std::int64_t>(host); }

 private:
  struct Place {
    sys::Descriptor fd;
    HostIndex host = 0;
    Guest guest;
    std::string outgoing = {};
    bool is_crossing = false;
    std::uint32_t watched = 0;  // epoll's events
  };
  using Clock = Guest::Clock;

  Crowd(CrowdOptions options, sys::Descriptor listener, sys::Descriptor epoll, sys::Descriptor stop,
        std::uint16_t port);

  void run();
  void take_in();
  void handle(int fd, std::uint32_t events);
  // Whether it stays.
  bool hear(Place& place);
  bool say(Place& place, std::string bytes);
  bool flush(Place& place);
  void tick(Clock::time_point now);
  void note(Place& place);
  void watch(Place& place) const;
  void remove(int fd);

  const CrowdOptions options_;
  const Guest::Setting setting_;
  sys::Descriptor listener_;
  sys::Descriptor epoll_;
  sys::Descriptor stop_;
  std::uint16_t port_;
  std::unordered_map<int, Place> places_;
  std::vector<int> due_;  // who may have something to do without being spoken to
  int crossing_ = 0;
  std::atomic<std::size_t> count_ = 0;
  std::atomic<std::int64_t> victim_ = -1;
  std::thread thread_;
};

}  // namespace chokepoint::preflight::crowd
