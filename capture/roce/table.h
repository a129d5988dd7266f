// Queue pairs by source, destination and number; the longest idle one makes room for a new one. A
// chained hash table with a list in order of use, all by index, so that entries stay where they are
// and a flood of numbers allocates nothing once it is full. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "capture/roce/queue_pair.h"

namespace chokepoint::capture::roce {

class Table {
 public:
  explicit Table(std::size_t most);

  // The queue pair that this packet goes to, now the latest used.
  QueuePair& find(const packet::Packet& packet);

  // The longest idle first.
  template <class See>
  void visit(See&& see) const {
    for (std::uint32_t place = oldest_; place != kNone; place = entries_[place].newer) {
      see(entries_[place].queue_pair);
    }
  }
  std::uint64_t replaced() const { return replaced_; }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;

  struct Key {
    packet::Address source{};
    packet::Address destination{};
    std::uint32_t queue_pair = 0;
    std::uint32_t tunnel = 0;

    bool operator==(const Key&) const = default;
  };
  struct Entry {
    Key key{};
    std::uint32_t next = kNone;  // with the same hash
    std::uint32_t older = kNone;
    std::uint32_t newer = kNone;
    QueuePair queue_pair{};
  };

  std::uint32_t& bucket_of(const Key& key);
  std::uint32_t place_for_new();
  void unlink(std::uint32_t place);
  void append(std::uint32_t place);
  void leave_bucket(std::uint32_t place);

  std::size_t most_;
  std::uint64_t secret_;
  std::vector<std::uint32_t> buckets_;
  std::vector<Entry> entries_;
  std::uint32_t oldest_ = kNone;
  std::uint32_t newest_ = kNone;
  std::uint64_t replaced_ = 0;
};

}  // namespace chokepoint::capture::roce
