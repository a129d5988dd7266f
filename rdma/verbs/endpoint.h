// One side of a test: queue pairs that share a completion queue for what they send and one for what
// they receive. Requests are laid out once, in a ring for each queue pair, and posted by their
// place in it, so that a post costs no more than libibverbs' own.
//
//   open (Device) ─► addresses ⇄ peer ─► connect ─► lay_out ─► post, poll, post, poll … ─►
//   destroyed
//
// Owns queue pairs and completion queues. One thread. Loops that are measured are templates over
// this interface: LiveEndpoint is final, so that they call it directly (visit_endpoint).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/net/patience.h"
#include "base/sys/error.h"
#include "rdma/verbs/types.h"

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

class Endpoint {
 public:
  virtual ~Endpoint() = default;

  virtual const EndpointAddress& address() const = 0;
  virtual Result<> connect(const EndpointAddress& peer, const PathOptions& path) = 0;

  // After connect(): datagrams carry their destination.
  virtual Result<> lay_out_sends(int queue, std::span<const SendRequest> ring) = 0;
  virtual Result<> lay_out_receives(int queue, std::span<const LocalMemory> ring) = 0;

  // Posts `count` requests from place `first` on, without wrapping around; `signal`: the last one
  // is signaled. 0 or an errno: no Error is made in a loop that is measured.
  virtual int post_sends(int queue, std::size_t first, std::size_t count, bool signal) = 0;
  virtual int post_receives(int queue, std::size_t first, std::size_t count) = 0;
  // The number of completions, or minus an errno.
  virtual int poll_sends(std::span<Completion> into) = 0;
  virtual int poll_receives(std::span<Completion> into) = 0;

  // Both sleep until something completes if the endpoint has events, and return at once otherwise.
  // Only after an empty poll; afterwards poll until nothing is left, which may be at once. An error
  // of kind Timeout if nothing completed.
  virtual Result<> wait_sends(const net::Patience& patience) = 0;
  virtual Result<> wait_receives(const net::Patience& patience) = 0;
};

// The error that a failed completion stands for.
Error explain(const Completion& completion, std::string_view peer);

}  // namespace chokepoint::rdma::verbs
