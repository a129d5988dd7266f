// Assembles the operations of one process from its records: each collective with its parts on the
// network and on the GPU, in whatever order these come, as each of NCCL's threads writes its own
// ring.
//
//   main thread     Collective 7 ·········· Collective 8
//   proxy thread           Proxy 7 · Proxy 7 ········ Proxy 8
//                                          └─ 7 is over: nothing of it came for a while, and a
//                                             later one of its communicator has moved data
//
// No record has the number of parts to come. One communicator's collectives run in the order in
// which they were enqueued; messages of one group run together. Memory is bounded. The Reader owns
// one Assembly per process, and calls it by its one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/nccl/ring/layout.h"
#include "capture/nccl/ring_file.h"

namespace chokepoint::capture::nccl {

// A rank's place in a communicator.
struct Membership {
  std::uint64_t hash = 0;
  std::int64_t rank = 0;
  std::int64_t ranks = 0;
  std::int64_t nodes = 0;
};

// A collective or a message of one rank. Times are by this host's clock; what is not known is
// nullopt.
struct Operation {
  std::uint64_t id = 0;
  std::uint16_t communicator = 0;  // as the process numbers them
  Function function = Function::Unknown;
  std::uint64_t sequence = 0;
  std::uint64_t bytes = 0;
  std::optional<std::int64_t> peer = {};
  std::int64_t channels = 0;  // 0: not known
  Algorithm algorithm = Algorithm::Unknown;
  Protocol protocol = Protocol::Unknown;
  std::optional<std::int64_t> enqueued_ns = {};
  std::uint64_t tag = 0;  // that the program gave the call; 0: none

  int proxies = 0;
  std::optional<std::int64_t> proxy_begin_ns = {};
  std::optional<std::int64_t> proxy_end_ns = {};
  std::optional<std::int64_t> sent_data_ns = {};      // first data of the GPU, on any channel
  std::optional<std::int64_t> received_data_ns = {};  // first data from the network, last channel
  std::optional<std::int64_t> taken_data_ns = {};     // of these by the GPU, on any channel
  std::uint64_t channels_sent = 0;                    // a bit each, of the first 64
  std::uint64_t channels_received = 0;
  std::uint64_t steps = 0;
  std::uint64_t gpu_ns = 0;
  std::uint64_t network_ns = 0;
  std::uint64_t peer_ns = 0;
  std::uint64_t flush_ns = 0;

  int kernels = 0;
  std::optional<std::int64_t> kernel_begin_ns = {};  // by the GPU's clock
  std::optional<std::int64_t> kernel_end_ns = {};

  bool is_named = false;        // its own record has been read, not only parts of it
  std::int64_t touched_ns = 0;  // when its newest record was read
};

inline bool is_message(const Operation& operation) {
  return operation.function == Function::Send || operation.function == Function::Receive;
}
inline bool has_parts(const Operation& operation) {
  return operation.proxies > 0 || operation.kernels > 0;
}

// Converts a GPU's time to this host's. A GPU's stamp is seen after it was made, so the smallest
// difference between the clocks ever seen is the best estimate. The two drift apart, so only the
// last kClockBinNs to 2 kClockBinNs count.
class GpuClock {
 public:
  // `gpu_ns` was made on the GPU, `seen_ns` is when this host noticed.
  void learn(std::int64_t gpu_ns, std::int64_t seen_ns);
  // nullopt before the first learn().
  std::optional<std::int64_t> host_ns(std::int64_t gpu_ns) const;

 private:
  struct Bin {
    std::int64_t number = 0;
    std::optional<std::int64_t> least_ns = {};
  };

  Bin newest_ = {};
  Bin before_ = {};
};

struct AssemblyLimits {
  std::size_t open = 8'192;
  std::size_t communicators = 1'024;
  // An operation is over if no record of it came for so long and
  std::int64_t settle_ns = 400'000'000;         // a later one has moved data, or its kernels ended
  std::int64_t quiet_ns = 2'000'000'000;        // all its channels have reported
  std::int64_t abandoned_ns = 120'000'000'000;  // in any case; a rank may be very late
};

class Assembly {
 public:
  // `member` is null if the joining of the communicator was not seen.
  using OnOperation = std::function<void(const Operation& operation, const Membership* member,
                                         const GpuClock& clock)>;

  explicit Assembly(OnOperation on_operation, const AssemblyLimits& limits = {});

  void take(const Entry& entry, std::int64_t now_ns);
  // Passes on what is over by now; `all`: everything.
  void settle(std::int64_t now_ns, bool all = false);

  std::size_t open() const { return open_.size(); }
  // Operations of which only parts came: they were passed on before, or their record was lost.
  std::uint64_t orphans() const { return orphans_; }
  std::uint64_t senseless() const { return senseless_; }
  // One process with several GPUs is as many ranks of one communicator.
  bool is_of_several_ranks() const { return is_of_several_ranks_; }
  const std::map<std::uint16_t, Membership>& members() const { return members_; }
  // The last collective of each kind that was enqueued to a communicator; of those that are known
  // and were not left.
  using Newest = std::map<std::pair<std::uint16_t, Function>, Operation>;
  const Newest& newest() const { return newest_; }

 private:
  using Open = std::unordered_map<std::uint64_t, Operation>;  // by id

  Operation* opened(std::uint64_t id, std::int64_t now_ns);
  void take_member(const Entry& entry);
  void note_left(std::uint16_t communicator);
  void forget_newest(std::uint16_t communicator);
  void make_room_for_member();
  void take_head(const Entry& entry, std::int64_t now_ns);
  void take_proxy(const Entry& entry, std::int64_t now_ns);
  void take_kernel(const Entry& entry, std::int64_t now_ns);
  bool is_over(const Operation& operation, std::int64_t now_ns) const;
  void note_moved();
  void give_oldest();
  void give_in_order(std::vector<Operation>& over);
  void give(const Operation& operation);

  OnOperation on_operation_;
  AssemblyLimits limits_;
  std::map<std::uint16_t, Membership> members_;
  std::deque<std::uint16_t> left_;  // finalised members, the oldest first: they are evicted first
  std::map<std::uint16_t, GpuClock> clocks_;  // by communicator, as a process may have several GPUs
  // By communicator, when the newest operation that has moved data was enqueued.
  std::map<std::uint16_t, std::int64_t> moved_;
  Open open_;
  Newest newest_;
  bool is_of_several_ranks_ = false;
  std::uint64_t orphans_ = 0;
  std::uint64_t senseless_ = 0;
};

}  // namespace chokepoint::capture::nccl
