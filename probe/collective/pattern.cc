#include "probe/collective/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace chokepoint::probe::collective {
namespace {

constexpr int kHalfMantissa = 10;
constexpr int kHalfBias = 15;
constexpr int kBFloatShift = 16;  // a bfloat16 is the upper half of a float

std::uint16_t half_of(std::uint64_t value) {
  if (value == 0) {
    return 0;
  }
  const auto exponent = static_cast<int>(std::bit_width(value)) - 1;
  const auto mantissa = (value << kHalfMantissa >> exponent) & ((1U << kHalfMantissa) - 1);
  return static_cast<std::uint16_t>(static_cast<unsigned>(exponent + kHalfBias) << kHalfMantissa |
                                    mantissa);
}

double from_half(std::uint16_t bits) {
  const int exponent = bits >> kHalfMantissa & 0x1f;
  const auto mantissa = static_cast<double>(bits & ((1U << kHalfMantissa) - 1));
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  if (exponent == 0x1f) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  }
  const double one = exponent == 0 ? 0 : 1U << kHalfMantissa;
  return sign * std::ldexp(one + mantissa, std::max(exponent, 1) - kHalfBias - kHalfMantissa);
}

std::uint16_t bfloat_of(std::uint64_t value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >>
                                    kBFloatShift);
}

double from_bfloat(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << kBFloatShift);
}

template <class T>
void put(T value, std::span<std::byte> into) {
  std::memcpy(into.data(), &value, sizeof(value));
}

template <class T>
T get(std::span<const std::byte> element) {
  T value;
  std::memcpy(&value, element.data(), sizeof(value));
  return value;
}

constexpr std::uint64_t kPeriod = 65521;  // the largest prime below 2^16

// splitmix64: neighbouring numbers are not correlated.
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

// Calls on_piece(from, to, bytes) for each piece of the period: from its byte `from` on, it belongs
// at byte `to` of the stretch.
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

std::uint64_t largest_exact(ElementType type) {
  switch (type) {
    case ElementType::Uint8:
      return 255;
    case ElementType::BFloat16:
      return 256;
    case ElementType::Float16:
      return 2048;
    case ElementType::Float32:
    case ElementType::Float64:
    case ElementType::Int32:
    case ElementType::Int64:
      return 1 << 24;
  }
  return 1;
}

void encode(ElementType type, std::uint64_t value, std::span<std::byte> into) {
  switch (type) {
    case ElementType::Float32:
      return put(static_cast<float>(value), into);
    case ElementType::Float64:
      return put(static_cast<double>(value), into);
    case ElementType::Float16:
      return put(half_of(value), into);
    case ElementType::BFloat16:
      return put(bfloat_of(value), into);
    case ElementType::Int32:
      return put(static_cast<std::int32_t>(value), into);
    case ElementType::Int64:
      return put(static_cast<std::int64_t>(value), into);
    case ElementType::Uint8:
      return put(static_cast<std::uint8_t>(value), into);
  }
}

double decode(ElementType type, std::span<const std::byte> element) {
  switch (type) {
    case ElementType::Float32:
      return get<float>(element);
    case ElementType::Float64:
      return get<double>(element);
    case ElementType::Float16:
      return from_half(get<std::uint16_t>(element));
    case ElementType::BFloat16:
      return from_bfloat(get<std::uint16_t>(element));
    case ElementType::Int32:
      return get<std::int32_t>(element);
    case ElementType::Int64:
      return static_cast<double>(get<std::int64_t>(element));
    case ElementType::Uint8:
      return get<std::uint8_t>(element);
  }
  return 0;
}

std::string describe(const Wrong& wrong) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  return fmt::format("rank {} has {} at byte {} of its output, wanted {}", wrong.rank,
                     wrong.found.value_or(kNone), wrong.offset_bytes, wrong.wanted.value_or(kNone));
}

bool Pattern::sums_up() const {
  return operation_.collective == Collective::AllReduce ||
         operation_.collective == Collective::ReduceScatter;
}

std::uint64_t Pattern::max_value() const {
  const std::uint64_t exact = std::min<std::uint64_t>(largest_exact(operation_.type), 1 << 16);
  return sums_up() ? exact / static_cast<std::uint64_t>(operation_.ranks) : exact;
}

std::uint64_t Pattern::value(int rank, std::uint64_t index) const {
  const std::uint64_t place = index % kPeriod;
  const auto number = static_cast<std::uint64_t>(rank);
  if (const std::uint64_t largest = max_value(); largest > 0) {
    return mixed(place << 32 | number) % (largest + 1);
  }
  // A sum over so many ranks is not exact: only some of them have a 1.
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
      const double found = decode(operation_.type, output.subspan(*at, size));
      return Wrong{.rank = rank_,
                   .offset_bytes = *at,
                   .wanted = wanted,
                   .found = std::isfinite(found) ? std::optional(found) : std::nullopt};
    }
    start += stretch.count * size;
  }
  return std::nullopt;
}

}  // namespace chokepoint::probe::collective
