#include "capture/roce/tracker.h"

#include <algorithm>
#include <array>
#include <bit>
#include <random>
#include <vector>

#include "capture/packet/roce_operation.h"

namespace chokepoint::capture::roce {

using packet::RoceAction;
using packet::RoceOperation;
using packet::RoceService;

namespace {

constexpr std::uint32_t kPsnMask = 0xffffff;

std::int32_t difference(std::uint32_t psn, std::uint32_t from) {
  return static_cast<std::int32_t>((psn - from) << 8) >> 8;
}

constexpr std::uint32_t kMinMtu = 256;
constexpr std::uint32_t kMaxMtu = 4096;

std::uint32_t packets_of(std::uint32_t bytes, std::uint32_t mtu) {
  return bytes <= mtu ? 1 : static_cast<std::uint32_t>((std::uint64_t{bytes} + mtu - 1) / mtu);
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a ^ 0x9e3779b97f4a7c15) * (b ^ 0xc2b2ae3d27d4eb4f);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

// The packet sequence numbers (PSN) of one direction of a connection: 24 bits that wrap.
//
//      in a gap         retransmitted       expected      not seen yet
//   ──────┼───────────────────┼─────────────────┼──────────────┼─────▶ PSN
//      difference < 0     difference < 0    difference 0   difference > 0
//
// A step larger than what can be outstanding is another connection on a reused queue pair.
class Sequence {
 public:
  enum class Step : std::uint8_t { New, Gap, Filled, Again, Restart };

  // `count` PSNs belong to the packet: a read request has those of its response.
  Step take(std::uint32_t psn, std::uint32_t count) {
    if (!is_begun_) {
      restart(psn, count);
      return Step::New;
    }
    const std::int32_t ahead = difference(psn, next_);
    if (ahead > kMaxOutstanding || ahead < -kMaxOutstanding) {
      restart(psn, count);
      return Step::Restart;
    }
    if (ahead < 0) {
      return fill(psn) ? Step::Filled : Step::Again;
    }
    const bool is_gap = ahead > 0 && is_next_known_;
    if (is_gap) {
      missing_ += static_cast<std::uint32_t>(ahead);
      remember({.begin = next_, .count = static_cast<std::uint32_t>(ahead)});
    }
    next_ = (psn + count) & kPsnMask;
    is_next_known_ = true;
    return is_gap ? Step::Gap : Step::New;
  }

  // The next PSN is not known: the next packet ahead of here sets it.
  void forget_next() { is_next_known_ = false; }

  std::uint64_t missing() const { return missing_; }

 private:
  static constexpr std::int32_t kMaxOutstanding = 1 << 16;
  static constexpr std::size_t kMaxGaps = 8;

  struct Gap {
    std::uint32_t begin = 0;
    std::uint32_t count = 0;
  };

  void remember(Gap gap) {
    gaps_[next_gap_] = gap;
    next_gap_ = (next_gap_ + 1) % kMaxGaps;
  }

  bool fill(std::uint32_t psn) {
    for (Gap& gap : gaps_) {
      const std::uint32_t place = (psn - gap.begin) & kPsnMask;
      if (place >= gap.count) {
        continue;
      }
      const Gap behind = {.begin = (psn + 1) & kPsnMask, .count = gap.count - place - 1};
      gap.count = place;
      if (place == 0) {
        gap = behind;
      } else if (behind.count != 0) {
        remember(behind);
      }
      --missing_;
      return true;
    }
    return false;
  }

  void restart(std::uint32_t psn, std::uint32_t count) {
    is_begun_ = true;
    is_next_known_ = true;
    next_ = (psn + count) & kPsnMask;
    gaps_ = {};
  }

  bool is_begun_ = false;
  bool is_next_known_ = true;
  std::uint32_t next_ = 0;
  std::uint64_t missing_ = 0;
  std::array<Gap, kMaxGaps> gaps_{};  // a new one replaces the oldest
  std::size_t next_gap_ = 0;
};

// What one host sends to one queue pair of another, packet by packet. Its own requests and its
// responses to the other side's requests are numbered separately: a response carries the number of
// its request.
//
//   A ── write 7, read 8 (3 packets), send 11 ──▶ B      requests: 7, 8 … 10, 11
//   A ◀── ack 7, read response 8, 9, 10, ack 11 ── B     responses, in A's numbers
class QueuePair {
 public:
  void begin(const packet::Packet& packet) {
    *this = {};
    facts_.ends = packet.ends;
    facts_.ends.source_port = 0;
    facts_.queue_pair = packet.roce.queue_pair;
    facts_.first_ns = packet.time_ns;
  }

  Signs take(const packet::Packet& packet) {
    facts_.last_ns = std::max(facts_.last_ns, packet.time_ns);
    ++facts_.packets;
    facts_.bytes += packet.frame_bytes;
    if (is_copy(packet)) {
      ++facts_.duplicates;
      return {};
    }
    facts_.congestion_marks += packet.congestion_bits == 3 ? 1 : 0;
    const RoceOperation operation = packet::roce_operation(packet.roce.opcode);
    if (packet::roce_service(packet.roce.opcode) == RoceService::CongestionNotification) {
      ++facts_.congestion_notifications;
    } else if (operation.action == RoceAction::None) {
      ++facts_.unknown_packets;
    } else if (operation.is_answer()) {
      return take_response(packet, operation);
    } else {
      return take_request(packet, operation);
    }
    return {};
  }

  QueuePairFacts facts() const {
    QueuePairFacts facts = facts_;
    facts.missing_packets = requests_.missing() + responses_.missing();
    facts.mtu = mtu_;
    return facts;
  }

 private:
  // If senders number their IP packets, the same number means the same packet.
  bool is_copy(const packet::Packet& packet) {
    const bool is_same = facts_.packets > 1 && packet.has_ip_id && packet.ip_id != 0 &&
                         packet.ip_id == last_id_ && packet.roce.sequence == last_psn_ &&
                         packet.roce.opcode == last_opcode_;
    last_id_ = packet.ip_id;
    last_psn_ = packet.roce.sequence;
    last_opcode_ = packet.roce.opcode;
    return is_same;
  }

  Signs take_request(const packet::Packet& packet, const RoceOperation& operation) {
    if (packet::roce_service(packet.roce.opcode) == RoceService::Datagram) {
      count_message(packet, operation);
      return {};
    }
    learn_mtu(packet, operation);
    const std::uint32_t psn = packet.roce.sequence;
    if (read_bytes_ != 0 && difference(psn, read_psn_) > 0) {
      deduce_mtu(psn);
    }
    const std::uint32_t psns = psns_of(packet, operation);
    const Sequence::Step step = requests_.take(psn, std::max(psns, std::uint32_t{1}));
    if (psns == 0 && step != Sequence::Step::Again) {
      requests_.forget_next();
      read_psn_ = psn;
      read_bytes_ = packet.roce.dma_bytes;
    }
    return count(packet, operation, step);
  }

  // Between two responses to reads lie the numbers of requests that are only acknowledged, so only
  // a gap inside a response means loss.
  Signs take_response(const packet::Packet& packet, const RoceOperation& operation) {
    if (operation.action != RoceAction::ReadResponse) {
      return take_acknowledgement(packet);
    }
    learn_mtu(packet, operation);
    if (operation.begins_message()) {
      responses_.forget_next();
    }
    return count(packet, operation, responses_.take(packet.roce.sequence, 1));
  }

  Signs take_acknowledgement(const packet::Packet& packet) {
    constexpr std::uint8_t kSequenceError = 0x60;
    switch (packet.roce.has_aeth ? packet.roce.syndrome >> 5 : 0) {
      case 1:
        ++facts_.receiver_not_ready;
        break;
      case 3:
        ++(packet.roce.syndrome == kSequenceError ? facts_.sequence_naks : facts_.other_naks);
        return {.reports_missing = packet.roce.syndrome == kSequenceError};
      default:
        ++facts_.acknowledgements;
    }
    return {};
  }

  Signs count(const packet::Packet& packet, const RoceOperation& operation, Sequence::Step step) {
    facts_.filled_packets += step == Sequence::Step::Filled ? 1 : 0;
    facts_.restarts += step == Sequence::Step::Restart ? 1 : 0;
    if (step == Sequence::Step::Again) {
      ++facts_.retransmitted_packets;
      facts_.retransmitted_bytes += packet.frame_bytes;
      return {.is_again = true};
    }
    count_message(packet, operation);
    return {.is_filling = step == Sequence::Step::Filled};
  }

  // Only a message's last packet may be shorter than the MTU.
  void learn_mtu(const packet::Packet& packet, const RoceOperation& operation) {
    if (!operation.ends_message()) {
      mtu_ = std::max(mtu_, packet.payload_bytes);
    }
  }

  void count_message(const packet::Packet& packet, const RoceOperation& operation) {
    facts_.payload_bytes += operation.has_data() ? packet.payload_bytes : 0;
    facts_.messages += operation.has_data() && operation.ends_message() ? 1 : 0;
    facts_.read_requests += operation.action == RoceAction::ReadRequest ? 1 : 0;
    facts_.atomics += operation.action == RoceAction::Atomic ? 1 : 0;
  }

  // The response to a read takes PSNs from its request's on. 0 if their number is not known,
  // because the MTU is not: then the next request shows how many they were, unless packets were
  // lost in between.
  std::uint32_t psns_of(const packet::Packet& packet, const RoceOperation& operation) {
    if (operation.action != RoceAction::ReadRequest || !packet.roce.has_reth ||
        packet.roce.dma_bytes <= kMinMtu) {
      return 1;
    }
    return mtu_ == 0 ? 0 : packets_of(packet.roce.dma_bytes, mtu_);
  }

  void deduce_mtu(std::uint32_t psn) {
    const auto passed = static_cast<std::uint32_t>(std::max(difference(psn, read_psn_), 0));
    for (std::uint32_t mtu = kMinMtu; mtu <= kMaxMtu; mtu *= 2) {
      if (packets_of(read_bytes_, mtu) == passed) {
        mtu_ = mtu;
      }
    }
    read_bytes_ = 0;
  }

  QueuePairFacts facts_;
  Sequence requests_;
  Sequence responses_;
  std::uint32_t mtu_ = 0;       // of the path; 0: not known
  std::uint32_t read_psn_ = 0;  // of the read request whose number of PSNs is unknown
  std::uint32_t read_bytes_ = 0;
  std::uint32_t last_psn_ = 0;
  std::uint16_t last_id_ = 0;
  std::uint8_t last_opcode_ = 0;
};

// Queue pairs by source, destination and number; the one that has been idle longest is replaced by
// a new one. A chained hash table with a list in order of use, both by index: entries never move,
// and a flood of numbers allocates nothing once the table is full.
class QueuePairTable {
 public:
  explicit QueuePairTable(std::size_t most)
      : most_(std::max<std::size_t>(most, 1)),
        secret_(std::uint64_t{std::random_device{}()} << 32 | std::random_device{}()),
        buckets_(std::bit_ceil(most_), kNone) {}

  // The queue pair that this packet goes to, now the latest used.
  QueuePair& find(const packet::Packet& packet) {
    const Key key{.source = packet.ends.source,
                  .destination = packet.ends.destination,
                  .queue_pair = packet.roce.queue_pair,
                  .tunnel = packet.ends.tunnel};
    for (std::uint32_t place = bucket_of(key); place != kNone; place = entries_[place].next) {
      if (entries_[place].key == key) {
        if (place != newest_) {
          unlink(place);
          append(place);
        }
        return entries_[place].queue_pair;
      }
    }
    const std::uint32_t place = place_for_new();
    Entry& entry = entries_[place];
    std::uint32_t& bucket = bucket_of(key);
    entry.key = key;
    entry.next = bucket;
    bucket = place;
    append(place);
    entry.queue_pair.begin(packet);
    return entry.queue_pair;
  }

  // The longest idle first.
  template <class OnFound>
  void visit(OnFound&& see) const {
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

  std::uint32_t& bucket_of(const Key& key) {
    std::uint64_t hash = mix(key.source.words[0] ^ secret_, key.source.words[1]);
    hash = mix(hash ^ key.destination.words[0], key.destination.words[1] ^ secret_);
    hash = mix(hash, std::uint64_t{key.queue_pair} << 32 | key.tunnel);
    return buckets_[hash & (buckets_.size() - 1)];
  }

  std::uint32_t place_for_new() {
    if (entries_.size() < most_) {
      entries_.emplace_back();
      return static_cast<std::uint32_t>(entries_.size() - 1);
    }
    const std::uint32_t place = oldest_;
    leave_bucket(place);
    unlink(place);
    ++replaced_;
    return place;
  }

  void unlink(std::uint32_t place) {
    const Entry& entry = entries_[place];
    (entry.older == kNone ? oldest_ : entries_[entry.older].newer) = entry.newer;
    (entry.newer == kNone ? newest_ : entries_[entry.newer].older) = entry.older;
  }

  void append(std::uint32_t place) {
    entries_[place].older = newest_;
    entries_[place].newer = kNone;
    (newest_ == kNone ? oldest_ : entries_[newest_].newer) = place;
    newest_ = place;
  }

  void leave_bucket(std::uint32_t place) {
    std::uint32_t* link = &bucket_of(entries_[place].key);
    while (*link != place) {
      link = &entries_[*link].next;
    }
    *link = entries_[place].next;
  }

  std::size_t most_;
  std::uint64_t secret_;
  std::vector<std::uint32_t> buckets_;
  std::vector<Entry> entries_;
  std::uint32_t oldest_ = kNone;
  std::uint32_t newest_ = kNone;
  std::uint64_t replaced_ = 0;
};

Tracker::Tracker(const Limits& limits)
    : table_(std::make_unique<QueuePairTable>(limits.queue_pairs)) {}

Tracker::~Tracker() = default;

Signs Tracker::take(const packet::Packet& packet) { return table_->find(packet).take(packet); }

void Tracker::visit(const std::function<void(const QueuePairFacts& facts)>& see) const {
  table_->visit([&](const QueuePair& queue_pair) { see(queue_pair.facts()); });
}

std::uint64_t Tracker::folded() const { return table_->replaced(); }

}  // namespace chokepoint::capture::roce
