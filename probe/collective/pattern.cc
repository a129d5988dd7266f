#include "probe/collective/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "probe/collective/numbers.h"

namespace chokepoint::probe::collective {
namespace {

constexpr std::uint64_t kPeriod = 65521;  // the largest prime below 2^16

// splitmix64: neighbours have nothing in common.
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

// Calls on_piece(from, to, bytes): the piece of the period from this byte on that belongs to this
// byte of the stretch.
template <class OnPiece>
void walk(std::uint64_t first_byte, std::uint64_t bytes, std::uint64_t period_bytes,
          OnPiece on_piece) {
  std::uint64_t from = first_byte % period_bytes;
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t piece = std::min(bytes - done, period_bytes - from);
    on_piece(from, done, piece);
    done += piece;
    from = 0;
  }
}

}  // namespace

std::string describe(const Wrong& wrong) {
  return fmt::format("rank {} has {} at byte {} of its output, wanted {}", wrong.rank, wrong.found,
                     wrong.offset_bytes, wrong.wanted);
}

bool Pattern::sums_up() const {
  return operation_.collective == Collective::AllReduce ||
         operation_.collective == Collective::ReduceScatter;
}

std::uint64_t Pattern::most() const {
  const std::uint64_t exact = std::min<std::uint64_t>(largest_exact(operation_.type), 1 << 16);
  return sums_up() ? exact / static_cast<std::uint64_t>(operation_.ranks) : exact;
}

std::uint64_t Pattern::value(int rank, std::uint64_t index) const {
  const std::uint64_t place = index % kPeriod;
  const auto number = static_cast<std::uint64_t>(rank);
  if (const std::uint64_t largest = most(); largest > 0) {
    return mixed(place << 32 | number) % (largest + 1);
  }
  // More ranks than a sum can hold: only some of them have a 1.
  const auto ranks = static_cast<std::uint64_t>(operation_.ranks);
  return (mixed(place) + number) % ranks < largest_exact(operation_.type) / 2 ? 1 : 0;
}

std::vector<std::byte> Pattern::period(std::optional<int> source, std::uint64_t elements) const {
  const std::uint64_t size = bytes_of(operation_.type);
  const std::uint64_t count = std::min(elements, kPeriod);
  std::vector<std::byte> bytes(count * size);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t number = 0;
    for (int rank = source.value_or(0); rank < (source ? *source + 1 : operation_.ranks); ++rank) {
      number += value(rank, i);
    }
    encode(operation_.type, number, std::span(bytes).subspan(i * size, size));
  }
  return bytes;
}

void Pattern::fill_input(std::span<std::byte> input) const {
  const std::uint64_t size = bytes_of(operation_.type);
  const std::vector<std::byte> pattern = period(rank_, input.size() / size);
  walk(0, input.size(), kPeriod * size,
       [&](std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
         std::memcpy(input.data() + to, pattern.data() + from, bytes);
       });
}

std::vector<Pattern::Stretch> Pattern::output() const {
  const std::uint64_t elements = operation_.bytes / bytes_of(operation_.type);
  const auto ranks = static_cast<std::uint64_t>(operation_.ranks);
  const std::uint64_t part = elements / ranks;
  const std::uint64_t mine = part * static_cast<std::uint64_t>(rank_);
  std::vector<Stretch> parts;
  for (int rank = 0; rank < operation_.ranks; ++rank) {
    const bool gathers = operation_.collective == Collective::AllGather;
    parts.push_back({.source = rank, .first = gathers ? 0 : mine, .count = part});
  }
  switch (operation_.collective) {
    case Collective::AllReduce:
      return {{.source = {}, .first = 0, .count = elements}};
    case Collective::ReduceScatter:
      return {{.source = {}, .first = mine, .count = part}};
    case Collective::Broadcast:
      return {{.source = operation_.root, .first = 0, .count = elements}};
    case Collective::SendReceive:
      return {{.source = (rank_ + operation_.ranks - 1) % operation_.ranks,
               .first = 0,
               .count = elements}};
    case Collective::AllGather:
    case Collective::AllToAll:
      return parts;
  }
  return parts;
}

std::optional<Wrong> Pattern::check_output(std::span<const std::byte> output) const {
  const std::uint64_t size = bytes_of(operation_.type);
  std::optional<std::uint64_t> at;  // the first byte that is wrong
  double wanted = 0;
  std::uint64_t start = 0;
  for (const Stretch& stretch : this->output()) {
    const std::vector<std::byte> pattern = period(stretch.source, stretch.first + stretch.count);
    walk(stretch.first * size, std::min(stretch.count * size, output.size() - start),
         kPeriod * size, [&](std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
           const std::byte* here = output.data() + start + to;
           if (at || std::memcmp(here, pattern.data() + from, bytes) == 0) {
             return;
           }
           const std::byte* differs =
               std::mismatch(here, here + bytes, pattern.data() + from).first;
           const auto element = static_cast<std::uint64_t>(differs - here) / size * size;
           at = start + to + element;
           wanted = decode(operation_.type, std::span(pattern).subspan(from + element, size));
         });
    if (at) {
      return Wrong{.rank = rank_,
                   .offset_bytes = *at,
                   .wanted = wanted,
                   .found = decode(operation_.type, output.subspan(*at, size))};
    }
    start += stretch.count * size;
  }
  return std::nullopt;
}

}  // namespace chokepoint::probe::collective
