#include "probe/collective/operation.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/math/units.h"

namespace chokepoint::probe::collective {
namespace {

std::uint64_t count_of(int ranks) { return static_cast<std::uint64_t>(std::max(ranks, 1)); }

bool divided_by_ranks(Collective collective) {
  return collective == Collective::AllGather || collective == Collective::ReduceScatter ||
         collective == Collective::AllToAll;
}

constexpr std::string_view kRange = "..";

std::unexpected<Error> wrong(std::string_view text, std::string_view why) {
  return fail(ErrorKind::Usage, "--bytes", text, why, "give one like 64M, 1K,1M or 8..512M");
}

Result<std::uint64_t> one_size(std::string_view text) {
  const Result<math::Bytes> bytes = math::parse_bytes(text);
  if (!bytes) {
    return wrong(text, "no size");
  }
  if (bytes->count < 1 || bytes->count > kMaxSize) {
    return wrong(text, "wanted 1 byte to 1 TiB");
  }
  return bytes->count;
}

Result<std::vector<std::uint64_t>> range(std::string_view text, double factor) {
  const std::size_t dots = text.find(kRange);
  TRY(const std::uint64_t first, one_size(text.substr(0, dots)));
  TRY(const std::uint64_t last, one_size(text.substr(dots + kRange.size())));
  if (first > last) {
    return wrong(text, "it ends below its start");
  }
  if (!(factor > 1)) {
    return fail(ErrorKind::Usage, "", "--factor", "must be above 1");
  }
  std::vector<std::uint64_t> sizes;
  for (auto size = static_cast<double>(first); size <= static_cast<double>(last);
       size = std::max(size * factor, size + 1)) {
    if (sizes.size() == kMaxSizes) {
      return wrong(text, "more sizes than 256");
    }
    sizes.push_back(static_cast<std::uint64_t>(std::llround(size)));
  }
  return sizes;
}

Result<std::vector<std::uint64_t>> list(std::string_view text) {
  std::vector<std::uint64_t> sizes;
  while (true) {
    const std::size_t comma = text.find(',');
    TRY(const std::uint64_t size, one_size(text.substr(0, comma)));
    sizes.push_back(size);
    if (comma == std::string_view::npos) {
      return sizes;
    }
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::optional<ElementType> type_named(std::string_view name) {
  using enum ElementType;
  static constexpr auto kOthers = std::to_array<EnumName<ElementType>>({{Float32, "fp32"},
                                                                        {Float32, "float"},
                                                                        {Float32, "f32"},
                                                                        {Float64, "fp64"},
                                                                        {Float64, "double"},
                                                                        {Float64, "f64"},
                                                                        {Float16, "fp16"},
                                                                        {Float16, "half"},
                                                                        {Float16, "f16"},
                                                                        {BFloat16, "bfloat16"},
                                                                        {Int32, "int"},
                                                                        {Uint8, "byte"}});
  const auto* other = std::ranges::find(kOthers, name, &EnumName<ElementType>::second);
  return other == kOthers.end() ? named<ElementType>(name) : other->first;
}

std::uint64_t bytes_of(ElementType type) {
  switch (type) {
    case ElementType::Float64:
    case ElementType::Int64:
      return 8;
    case ElementType::Float32:
    case ElementType::Int32:
      return 4;
    case ElementType::Float16:
    case ElementType::BFloat16:
      return 2;
    case ElementType::Uint8:
      return 1;
  }
  return 1;
}

std::uint64_t input_bytes(const Operation& operation) {
  return operation.collective == Collective::AllGather ? operation.bytes / count_of(operation.ranks)
                                                       : operation.bytes;
}

std::uint64_t output_bytes(const Operation& operation) {
  return operation.collective == Collective::ReduceScatter
             ? operation.bytes / count_of(operation.ranks)
             : operation.bytes;
}

bool is_in_place(const Operation& operation) {
  return operation.collective == Collective::AllReduce ||
         operation.collective == Collective::Broadcast;
}

std::uint64_t rounded(const Operation& operation) {
  const std::uint64_t parts =
      divided_by_ranks(operation.collective) ? count_of(operation.ranks) : 1;
  const std::uint64_t whole = bytes_of(operation.type) * parts;
  return std::max<std::uint64_t>((operation.bytes + whole - 1) / whole, 1) * whole;
}

double bus_factor(Collective collective, int ranks) {
  if (collective == Collective::Broadcast || collective == Collective::SendReceive) {
    return 1;
  }
  const double share = static_cast<double>(ranks - 1) / static_cast<double>(std::max(ranks, 1));
  return collective == Collective::AllReduce ? 2 * share : share;
}

Result<std::vector<std::uint64_t>> parse_sizes(std::string_view text, double factor) {
  Result<std::vector<std::uint64_t>> sizes =
      text.find(kRange) == std::string_view::npos ? list(text) : range(text, factor);
  if (!sizes) {
    return sizes;
  }
  std::ranges::sort(*sizes);
  sizes->erase(std::ranges::unique(*sizes).begin(), sizes->end());
  if (sizes->size() > kMaxSizes) {
    return wrong(text.substr(0, 20), "more sizes than 256");
  }
  return sizes;
}

}  // namespace chokepoint::probe::collective
