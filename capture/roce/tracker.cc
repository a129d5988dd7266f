#include "capture/roce/tracker.h"

#include "capture/roce/table.h"

namespace chokepoint::capture::roce {

class Tracker::Core {
 public:
  explicit Core(const Limits& limits) : table(limits.queue_pairs) {}

  Table table;
};

Tracker::Tracker(const Limits& limits) : core_(std::make_unique<Core>(limits)) {}

Tracker::~Tracker() = default;

Signs Tracker::take(const packet::Packet& packet) { return core_->table.find(packet).take(packet); }

void Tracker::visit(const std::function<void(const QueuePairFacts& facts)>& see) const {
  core_->table.visit([&](const QueuePair& queue_pair) { see(queue_pair.facts()); });
}

std::uint64_t Tracker::folded() const { return core_->table.replaced(); }

}  // namespace chokepoint::capture::roce
