#include "probe/collective/sizes.h"

#include <algorithm>
#include <cmath>

#include "base/math/units.h"

namespace chokepoint::probe::collective {
namespace {

constexpr std::string_view kRange = "..";

std::unexpected<Error> wrong(std::string_view text, std::string_view why) {
  return fail(ErrorKind::Usage, "--bytes", text, why, "give one like 64M, 1K,1M or 8..512M");
}

Result<std::uint64_t> one_size(std::string_view text) {
  const Result<math::Bytes> bytes = math::parse_bytes(text);
  if (!bytes) {
    return wrong(text, "no size");
  }
  if (bytes->count < 1 || bytes->count > kLargestSize) {
    return wrong(text, "wanted 1 byte to 1 TiB");
  }
  return bytes->count;
}

Result<std::vector<std::uint64_t>> range(std::string_view text, double factor) {
  const std::size_t dots = text.find(kRange);
  const Result<std::uint64_t> least = one_size(text.substr(0, dots));
  const Result<std::uint64_t> most = one_size(text.substr(dots + kRange.size()));
  if (!least || !most) {
    return std::unexpected(least ? most.error() : least.error());
  }
  if (*least > *most) {
    return wrong(text, "it ends below its start");
  }
  if (!(factor > 1)) {
    return fail(ErrorKind::Usage, "", "--factor", "must be above 1");
  }
  std::vector<std::uint64_t> sizes;
  for (auto size = static_cast<double>(*least); size <= static_cast<double>(*most);
       size = std::max(size * factor, size + 1)) {
    if (sizes.size() == kMostSizes) {
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

Result<std::vector<std::uint64_t>> parse_sizes(std::string_view text, double factor) {
  Result<std::vector<std::uint64_t>> sizes =
      text.find(kRange) == std::string_view::npos ? list(text) : range(text, factor);
  if (!sizes) {
    return sizes;
  }
  std::ranges::sort(*sizes);
  sizes->erase(std::ranges::unique(*sizes).begin(), sizes->end());
  if (sizes->size() > kMostSizes) {
    return wrong(text.substr(0, 20), "more sizes than 256");
  }
  return sizes;
}

}  // namespace chokepoint::probe::collective
