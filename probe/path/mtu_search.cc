#include "probe/path/mtu_search.h"

#include <algorithm>
#include <array>
#include <vector>

namespace chokepoint::probe::path {
namespace {

// Passes everywhere: shows only whether the target confirms at all.
constexpr int kSmall = 128;

// Common MTUs: jumbo frames, Ethernet, PPPoE, GRE, VXLAN, WireGuard, the minimum of IPv6 and what
// every IPv4 host accepts.
constexpr std::array kCommon = {576,  1280, 1400, 1420, 1450, 1472, 1476, 1480,
                                1492, 1500, 4470, 8000, 8950, 9000, 9216};

}  // namespace

MtuSearch::MtuSearch(int interface_mtu_bytes)
    : interface_mtu_(interface_mtu_bytes), not_passed_(interface_mtu_bytes + 1) {}

int MtuSearch::between() const {
  std::vector<int> common;
  std::ranges::copy_if(kCommon, std::back_inserter(common),
                       [this](int size) { return size > passed_ && size < not_passed_; });
  if (!common.empty()) {
    return common[common.size() / 2];
  }
  // Most often the limit is one of the common sizes itself.
  const bool at_common = std::ranges::find(kCommon, passed_) != kCommon.end();
  return at_common ? passed_ + 1 : passed_ + (not_passed_ - passed_) / 2;
}

std::optional<int> MtuSearch::next() const {
  if (dead_ || passed_ + 1 >= not_passed_) {
    return std::nullopt;
  }
  if (passed_ == 0) {
    return std::min(kSmall, interface_mtu_);
  }
  if (not_passed_ > interface_mtu_) {
    return interface_mtu_;
  }
  if (announced_ > passed_ && announced_ < not_passed_) {
    return announced_;
  }
  // The size that a router announced has passed: most likely it is the path's MTU.
  return announced_ == passed_ ? passed_ + 1 : between();
}

void MtuSearch::answer(int packet_bytes, const MtuAnswer& answer) {
  ++tries_;
  if (answer.passage == Passage::Passed) {
    passed_ = std::max(passed_, packet_bytes);
    return;
  }
  if (answer.passage == Passage::TooBig) {
    limited_by_ = answer.from;
    announced_ = answer.mtu_bytes.value_or(0);
  }
  if (packet_bytes < not_passed_) {
    not_passed_ = std::min(not_passed_, packet_bytes);
    boundary_ = answer.passage;
  }
  dead_ = passed_ == 0;
}

MtuFinding MtuSearch::finding() const {
  MtuFinding found{.interface_mtu_bytes = interface_mtu_, .limited_by = limited_by_};
  found.confirmed = passed_ > 0;
  found.complete = !next();
  found.tries = tries_;
  if (announced_ > 0) {
    found.announced_bytes = announced_;
  }
  if (found.confirmed && found.complete) {
    found.path_mtu_bytes = passed_;
  }
  if (found.confirmed && boundary_ == Passage::Lost) {
    found.black_hole_from_bytes = not_passed_;
  }
  return found;
}

Result<MtuFinding> search_mtu(MtuProbe& probe, int interface_mtu_bytes, const sys::Clock& clock,
                              std::int64_t until_ns) {
  MtuSearch search(interface_mtu_bytes);
  while (const std::optional<int> size = search.next()) {
    if (clock.monotonic_ns() >= until_ns) {
      break;
    }
    TRY(const MtuAnswer answer, probe.try_size(*size));
    search.answer(*size, answer);
  }
  return search.finding();
}

}  // namespace chokepoint::probe::path
