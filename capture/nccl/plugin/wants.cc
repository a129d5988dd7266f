#include "capture/nccl/plugin/next.h"

namespace chokepoint::capture::nccl::plugin {
namespace {

constexpr std::uint64_t kNet = event::kNetwork;
constexpr std::uint64_t kSteps = event::kStep | kNet;
constexpr std::uint64_t kProxies = event::kProxy | kSteps;
constexpr std::uint64_t kParts = kProxies | event::kKernel;
constexpr std::uint64_t kCopies = event::kCopyCollective | event::kCopySync | event::kCopyBatch;
constexpr std::uint64_t kTasks = event::kCollective | event::kMessage | kParts;
constexpr std::uint64_t kCalls = event::kGroupCall | event::kCollectiveCall | event::kMessageCall |
                                 event::kLaunch | event::kGroup | kTasks | kCopies;

// The bits of a mask any of which brings this kind of event.
constexpr std::uint64_t gate_of(std::uint64_t type) {
  switch (type) {
    case event::kGroup:
      return event::kGroup | kTasks;
    case event::kCollective:
      return event::kCollective | kParts;
    case event::kMessage:
      return event::kMessage | kParts;
    case event::kProxy:
      return kProxies;
    case event::kStep:
      return kSteps;
    case event::kGroupCall:
      return kCalls;
    case event::kCollectiveCall:
      return event::kCollectiveCall | event::kCollective | kParts | kCopies;
    case event::kMessageCall:
      return event::kMessageCall | event::kMessage | kParts;
    case event::kCopyCollective:
      return kCopies;
    default:
      return type;
  }
}

}  // namespace

bool wants(NextTable& table, std::uint64_t type) {
  const auto mask = static_cast<std::uint64_t>(mask_of(table));
  const bool is_known = table.version >= 6 || (type & kCopies) == 0;
  return is_known && (gate_of(type) & mask) != 0;
}

}  // namespace chokepoint::capture::nccl::plugin
