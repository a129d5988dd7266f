#include "capture/step/size_classes.h"

#include <algorithm>
#include <tuple>

namespace chokepoint::capture::step {
namespace {

constexpr double kNext = 1.6;    // times as large is another sort
constexpr double kAround = 1.3;  // of what was seen

}  // namespace

SizeClasses::SizeClasses(std::vector<SizedKind> seen) {
  std::ranges::sort(seen, {},
                    [](const SizedKind& each) { return std::tuple(each.kind, each.bytes); });
  for (const SizedKind& each : seen) {
    const bool is_next = classes_.empty() || classes_.back().kind != each.kind ||
                         each.bytes > kNext * classes_.back().most;
    if (is_next) {
      classes_.push_back({each.kind, each.bytes, each.bytes});
    }
    classes_.back().most = each.bytes;
  }
}

std::uint64_t SizeClasses::token_of(const SizedKind& sized) const {
  const auto found = std::ranges::find_if(classes_, [&](const Class& each) {
    return each.kind == sized.kind && sized.bytes * kAround >= each.least &&
           sized.bytes <= each.most * kAround;
  });
  return static_cast<std::uint64_t>(found - classes_.begin());
}

}  // namespace chokepoint::capture::step
