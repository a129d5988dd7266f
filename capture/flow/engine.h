// Packets to facts about flows. take() is the hot path: it finds the flow, updates both its halves
// and returns the position of the packet's payload in the stream, so that followers of protocols
// inside (capture/gloo) need no state about sequence numbers. One thread per engine; engines share
// nothing, so flows may be distributed over threads by Ends.
//
// Memory is bounded by a number of flows and a budget for their details. Above either, the flows
// that have been idle longest are folded into one remainder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "capture/flow/facts.h"
#include "capture/flow/series.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::flow {

struct Limits {
  std::size_t flows = 65'536;
  std::size_t detail_bytes = std::size_t{256} << 20;  // RTT samples, holes, series of all flows
  bool keep_series = true;
};

// Where the packet went.
struct Seen {
  std::uint32_t slot = 0;        // of the flow; reused once the flow is gone
  std::uint32_t generation = 0;  // differs when the slot has another flow
  std::uint8_t direction = 0;    // 0: a to b
  bool is_flow = false;          // false: no flow (not TCP or UDP, malformed)
  bool is_copy = false;          // the very same packet was seen before
  std::int64_t offset = 0;       // of the payload in the stream, 0 the first byte; TCP
  std::uint32_t new_from = 0;    // bytes of the payload below this were seen before
};

// What the follower of another transport (RoCE) knows about a packet's loss.
struct Noted {
  bool is_again = false;
  bool is_out_of_order = false;
  bool reports_missing = false;  // as TCP's duplicate acknowledgements do
};

class Engine {
 public:
  explicit Engine(const Limits& limits = {});
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  // Valid until the next call.
  const Seen& take(const packet::Packet& packet);

  // About the packet that was taken last, which has a flow.
  void note(const packet::Packet& packet, const Noted& noted);

  // All flows that are not folded, the longest idle first. Works out the facts of each.
  void visit(const std::function<void(std::uint32_t slot, const FlowFacts& facts)>& see) const;
  // The same with the counters alone, which costs almost nothing per flow.
  void glance(const std::function<void(std::uint32_t slot, const Glance& glance)>& see) const;
  // One flow, which is not folded.
  FlowFacts facts(std::uint32_t slot) const;
  // Calls `see` for the bins of all flows that ended since the last call; `all`: also for
  // unfinished ones. For the record.
  void drain(
      bool all,
      const std::function<void(std::uint32_t slot, std::uint8_t direction, const Bin& bin)>& see);
  // All bins of one direction that are kept.
  std::vector<Bin> bins(std::uint32_t slot, std::uint8_t direction) const;
  const Remainder& remainder() const;
  std::size_t flows() const;

  // `call` is called just before a flow is folded.
  void on_fold(std::function<void(std::uint32_t slot, const FlowFacts& facts)> call);

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace chokepoint::capture::flow
