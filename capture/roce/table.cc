#include "capture/roce/table.h"

#include <algorithm>
#include <bit>
#include <random>

namespace chokepoint::capture::roce {

namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a ^ 0x9e3779b97f4a7c15) * (b ^ 0xc2b2ae3d27d4eb4f);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

Table::Table(std::size_t most)
    : most_(std::max<std::size_t>(most, 1)),
      secret_(std::uint64_t{std::random_device{}()} << 32 | std::random_device{}()),
      buckets_(std::bit_ceil(most_), kNone) {}

std::uint32_t& Table::bucket_of(const Key& key) {
  std::uint64_t hash = mix(key.source.words[0] ^ secret_, key.source.words[1]);
  hash = mix(hash ^ key.destination.words[0], key.destination.words[1] ^ secret_);
  hash = mix(hash, std::uint64_t{key.queue_pair} << 32 | key.tunnel);
  return buckets_[hash & (buckets_.size() - 1)];
}

void Table::unlink(std::uint32_t place) {
  const Entry& entry = entries_[place];
  (entry.older == kNone ? oldest_ : entries_[entry.older].newer) = entry.newer;
  (entry.newer == kNone ? newest_ : entries_[entry.newer].older) = entry.older;
}

void Table::append(std::uint32_t place) {
  entries_[place].older = newest_;
  entries_[place].newer = kNone;
  (newest_ == kNone ? oldest_ : entries_[newest_].newer) = place;
  newest_ = place;
}

void Table::leave_bucket(std::uint32_t place) {
  std::uint32_t* link = &bucket_of(entries_[place].key);
  while (*link != place) {
    link = &entries_[*link].next;
  }
  *link = entries_[place].next;
}

std::uint32_t Table::place_for_new() {
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

QueuePair& Table::find(const packet::Packet& packet) {
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

}  // namespace chokepoint::capture::roce
