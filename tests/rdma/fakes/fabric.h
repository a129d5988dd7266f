// A fabric inside the process, behind functions that take the place of libibverbs
// (fabric_verbs.cc): devices whose queue pairs reach one another, so that rdma/verbs and all that
// stands on it run without a card. A message is delivered while it is posted, if it can be; what
// has to wait (for a receive, for a peer, for a delay that a test asked for) is delivered by a
// thread of the fabric.
//
// It is as strict as a card: a post beyond the depth fails with ENOMEM, memory that was not
// registered or a wrong key breaks the queue pair, completions come in order and only aloud where
// asked for, a slot of the send queue is free only when a later completion was polled. A queue pair
// that failed flushes the rest; of a failed request only wr_id, status and vendor_err are filled
// in. A completion queue wakes its channel once for each time that it was armed.
//
// Safe on any thread. The fabric outlives its libraries, devices and endpoints.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rdma/verbs/device.h"
#include "rdma/verbs/endpoint.h"
#include "rdma/verbs/types.h"

namespace chokepoint::fakes {

// What completions say; the numbers of ibv_wc_status.
enum CompletionStatus {
  kLocalProtectionError = 4,
  kFlushed = 5,
  kRemoteAccessError = 10,
  kRetriesExceeded = 12,
  kReceiverNotReady = 13,
};

struct FakeDevice {
  std::string name = "fake0";
  rdma::verbs::Port port = {};
  rdma::verbs::DeviceLimits limits = {};
};

// An active RoCE port with four identifiers: link-local as RoCE v1 and v2 (0, 1) and `ipv4` as v1
// and v2 (2, 3); limits of a small card.
FakeDevice fake_device(std::string name, std::array<std::uint8_t, 4> ipv4 = {192, 0, 2, 1});

// What goes wrong with a device, or with what it sends. Messages are counted from 0, all that the
// device has sent.
struct FakeFaults {
  // The errno with which each is refused.
  int open = 0;
  int register_memory = 0;
  int create_queue_pair = 0;
  int connect = 0;
  int post = 0;
  int poll = 0;  // only while a completion waits
  // This message completes with this status.
  std::optional<std::uint64_t> failing_message = {};
  int failing_status = kRetriesExceeded;
  std::uint32_t vendor_error = 0;
  // A poll returns no more completions than that.
  int most_per_poll = INT32_MAX;
  // Every how many messages one is lost; those of UC and UD only, as RC sends it again.
  std::uint64_t lose_every = 0;
  // Changes what travels; atomics and empty messages are left alone.
  std::function<void(std::uint64_t message, std::span<std::byte> data)> spoil = {};
  std::chrono::microseconds delay{0};
  // The wire is cut: nothing this device sends arrives.
  bool unplugged = false;
};

// What a device has done.
struct FakeTraffic {
  std::uint64_t posts = 0;
  std::uint64_t messages = 0;
  std::uint64_t delivered = 0;
  std::uint64_t lost = 0;
  std::uint64_t completions = 0;  // of what was sent, polled
  std::uint64_t receives_posted = 0;
  std::uint64_t receive_posts = 0;
  std::uint64_t waits_for_receive = 0;  // messages for which no receive was posted
  std::uint64_t largest_outstanding = 0;
  int queue_pairs = 0;  // alive
  int regions = 0;
  int opened = 0;     // queue pairs ever made
  int connected = 0;  // of these, how many were let send
  std::uint64_t wakes = 0;
};

class FakeFabric {
 public:
  explicit FakeFabric(std::vector<FakeDevice> devices = {fake_device("fake0", {192, 0, 2, 1}),
                                                         fake_device("fake1", {192, 0, 2, 2})});
  FakeFabric(const FakeFabric&) = delete;
  FakeFabric& operator=(const FakeFabric&) = delete;
  ~FakeFabric();

  // A host with these devices; all of them where none is named.
  std::unique_ptr<rdma::verbs::Library> library(std::vector<std::string> devices = {});

  void set_faults(const std::string& device, FakeFaults faults);
  void set_port(const std::string& device, rdma::verbs::Port port);
  FakeTraffic traffic(const std::string& device) const;

  // How long RC tries before it gives up with kRetriesExceeded; 50 ms.
  void set_deadline(std::chrono::milliseconds deadline);

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace chokepoint::fakes
