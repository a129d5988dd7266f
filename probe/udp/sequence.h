// Which packets of a numbered stream came: loss, reordering and duplication told apart, whatever
// mixture of them the network makes. A bitmap remembers the last kWindow numbers; constant memory,
// constant time a packet.
//
//   received     numbers that came, each once
//   duplicates   copies of a number that had come
//   out_of_order numbers that came after a higher one (RFC 4737: less than the next expected)
//   ancient      so far behind the highest that nobody knows any more; neither received nor a
//                duplicate, so that what is told as received is certain
//
// Lost is what the sender sent less what was received: never negative. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace chokepoint::probe::udp {

struct SequenceCounts {
  std::uint64_t received = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t out_of_order = 0;
  std::uint64_t ancient = 0;
};

class SequenceTracker {
 public:
  static constexpr std::uint64_t kWindow = std::uint64_t{1} << 18;

  // True for a number that had not come before.
  bool add(std::uint64_t sequence);

  const SequenceCounts& counts() const { return counts_; }
  // The lowest number above all that came.
  std::uint64_t next_expected() const { return next_; }
  // Numbers below the highest that have not come so far.
  std::uint64_t missing() const { return next_ - counts_.received; }
  std::uint64_t lost(std::uint64_t sent) const {
    return sent > counts_.received ? sent - counts_.received : 0;
  }

 private:
  static constexpr std::uint64_t kBits = 64;
  bool test(std::uint64_t sequence) const;
  void set(std::uint64_t sequence);
  void forget(std::uint64_t from, std::uint64_t to);
  bool add_late(std::uint64_t sequence);

  std::array<std::uint64_t, kWindow / kBits> bits_{};
  std::uint64_t next_ = 0;
  SequenceCounts counts_ = {};
};

}  // namespace chokepoint::probe::udp
