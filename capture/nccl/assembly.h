// Puts the records of one process together: each collective with its parts on the network and on
// the GPU, whatever order they come in, as each of NCCL's threads writes a ring of its own.
//
//   main thread     Collective 7 ·········· Collective 8
//   proxy thread           Proxy 7 · Proxy 7 ········ Proxy 8
//                                          └─ 7 is over: nothing of it came for a while, and a
//                                             later one of its communicator has moved data
//
// Nothing says how many parts there will be. One communicator's collectives run in the order in
// which they were asked for; messages of one group run together. Memory is bounded. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "capture/nccl/entry.h"
#include "capture/nccl/gpu_clock.h"
#include "capture/nccl/operation.h"

namespace chokepoint::capture::nccl {

struct AssemblyLimits {
  std::size_t open = 8'192;
  std::size_t communicators = 1'024;
  std::int64_t settle_ns = 400'000'000;         // a later one has moved data meanwhile
  std::int64_t quiet_ns = 2'000'000'000;        // all its channels have told, and it is the newest
  std::int64_t abandoned_ns = 120'000'000'000;  // none has; a rank may be very late
};

class Assembly {
 public:
  // A communicator is null where its joining was not seen.
  using See = std::function<void(const Operation& operation, const Membership* member,
                                 const GpuClock& clock)>;

  explicit Assembly(See see, const AssemblyLimits& limits = {});

  void take(const Entry& entry, std::int64_t now_ns);
  // Gives away what is over by now; `all`: everything.
  void settle(std::int64_t now_ns, bool all = false);

  std::size_t open() const { return open_.size(); }
  std::uint64_t orphans() const { return orphans_; }  // parts of what was told before, or never
  std::uint64_t senseless() const { return senseless_; }
  // One process with several GPUs is as many ranks of one communicator.
  bool is_of_several_ranks() const { return is_of_several_ranks_; }
  const std::map<std::uint16_t, Membership>& members() const { return members_; }

 private:
  using Open = std::unordered_map<std::uint64_t, Operation>;  // by id

  Operation* part_of(const Entry& entry, std::int64_t now_ns);
  Operation* opened(std::uint64_t id, std::int64_t now_ns);
  void take_member(const Entry& entry);
  void note_left(std::uint16_t communicator);
  void make_room_for_member();
  void take_head(const Entry& entry, std::int64_t now_ns);
  void take_proxy(const Entry& entry, std::int64_t now_ns);
  void take_kernel(const Entry& entry, std::int64_t now_ns);
  bool is_over(const Operation& operation, std::int64_t now_ns) const;
  void note_moved();
  void give_oldest();
  void give_in_order(std::vector<Operation>& over);
  void give(const Operation& operation);

  See see_;
  AssemblyLimits limits_;
  std::map<std::uint16_t, Membership> members_;
  std::deque<std::uint16_t> left_;  // of these, finalised: they make room, the longest gone first
  std::map<std::uint16_t, GpuClock> clocks_;  // of each communicator, as a process may have GPUs
  // Of each communicator, when the newest one that has moved data was asked for.
  std::map<std::uint16_t, std::int64_t> moved_;
  Open open_;
  bool is_of_several_ranks_ = false;
  std::uint64_t orphans_ = 0;
  std::uint64_t senseless_ = 0;
};

}  // namespace chokepoint::capture::nccl
