// One side of a test: queue pairs that share a completion queue for what they send and one for what
// they receive. Requests are laid out once, in a ring for each queue pair, and posted by their
// place in it, so that a post costs no more than libibverbs' own.
//
//   open (Device) ─► addresses ⇄ peer ─► connect ─► lay_out ─► post, poll, post, poll … ─►
//   destroyed
//
// Owns its queue pairs and both completion queues; the device it was opened on outlives it. One
// thread. This header includes none of infiniband's, so that rdma/perf does not need them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/net/deadline.h"
#include "base/sys/error.h"
#include "rdma/verbs/types.h"

// NOLINTBEGIN(readability-identifier-naming): libibverbs names them.
struct ibv_context;
struct ibv_device;
struct ibv_mr;
struct ibv_pd;
// NOLINTEND(readability-identifier-naming)

namespace chokepoint::rdma::verbs {

struct EndpointOptions {
  Transport transport = Transport::Rc;
  int port = 1;
  int gid_index = 0;
  int queues = 1;
  int send_depth = 128;
  int receive_depth = 1;
  int inline_bytes = 0;
  bool events = false;  // wait() sleeps until a completion comes
};

struct PathOptions {
  int mtu_bytes = 1024;
  int traffic_class = 0;
  // By RoCE v2 the UDP source port is made of it; 0: the card chooses one.
  std::uint32_t flow_label = 0;
  int service_level = 0;
  int hop_limit = 64;
  int timeout = 14;     // of an acknowledgement: 4.096 µs × 2^timeout
  int retries = 7;      // without an acknowledgement
  int rnr_retries = 7;  // of a receiver that is not ready; 7: without limit
  int rnr_timer = 12;
  int reads_as_target = 1;
  int reads_as_source = 1;
};

// Memory of this side that a request reads or fills.
struct LocalMemory {
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;
  std::uint32_t key = 0;
};

struct SendRequest {
  Operation operation = Operation::Write;
  LocalMemory local = {};
  std::uint64_t remote_address = 0;
  std::uint32_t remote_key = 0;
  std::uint32_t immediate = 0;
  bool inlined = false;
  std::uint64_t compare_or_add = 0;
  std::uint64_t swap = 0;
};

// Over UD a receive needs that much more memory: the device puts its header in front of the
// message.
inline constexpr std::uint32_t kDatagramHeader = 40;

struct Completion {
  int queue = 0;
  std::uint32_t place = 0;  // in its ring; also of a failed request
  int status = 0;           // 0: success; else see explain()
  std::uint32_t bytes = 0;  // received; over UD with kDatagramHeader
  bool has_immediate = false;
  std::uint32_t immediate = 0;
  std::uint32_t vendor_error = 0;  // the device's own code of a failure; 0: none
};

struct Api;
class CompletionQueue;
class QueuePair;

// What libibverbs made; freed by libibverbs' own function.
template <class Thing>
using Owned = std::unique_ptr<Thing, int (*)(Thing*)>;

// What an endpoint needs of the device that it is opened on, and that outlives it.
struct EndpointParts {
  std::shared_ptr<const Api> api;
  std::string device;
  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  DeviceLimits limits = {};
  Port port = {};
  Gid gid = {};
};

class Endpoint {
 public:
  static Result<std::unique_ptr<Endpoint>> open(EndpointParts parts,
                                                const EndpointOptions& options);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ~Endpoint();

  const EndpointAddress& address() const { return address_; }
  Result<> connect(const EndpointAddress& peer, const PathOptions& path);

  // After connect(): datagrams carry their destination.
  Result<> lay_out_sends(int queue, std::span<const SendRequest> ring);
  Result<> lay_out_receives(int queue, std::span<const LocalMemory> ring);

  // Posts `count` requests from place `first` on, without wrapping around; `signal`: the last one
  // is signaled. 0 or an errno: no Error is made in a loop that is measured.
  int post_sends(int queue, std::size_t first, std::size_t count, bool signal);
  int post_receives(int queue, std::size_t first, std::size_t count);
  // The number of completions, or minus an errno.
  int poll_sends(std::span<Completion> into);
  int poll_receives(std::span<Completion> into);

  // Both sleep until something completes if the endpoint has events, and return at once otherwise.
  // Only after an empty poll; afterwards poll until nothing is left, which may be at once. An error
  // of kind Timeout if nothing completed.
  Result<> wait_sends(const net::Deadline& deadline);
  Result<> wait_receives(const net::Deadline& deadline);

  // For connecting by rdma_cm (cm.cc).
  const EndpointParts& parts() const { return parts_; }
  const EndpointOptions& options() const { return options_; }
  std::vector<std::unique_ptr<QueuePair>>& queues() { return queues_; }

 private:
  Endpoint(EndpointParts parts, const EndpointOptions& options);

  Result<> make_queues();

  EndpointParts parts_;
  EndpointOptions options_;
  EndpointAddress address_;
  std::unique_ptr<CompletionQueue> sends_;
  std::unique_ptr<CompletionQueue> receives_;
  std::vector<std::unique_ptr<QueuePair>> queues_;
};

// The error that a failed completion stands for.
Error explain(const Completion& completion, std::string_view peer);

}  // namespace chokepoint::rdma::verbs
