#include "capture/source/pcapng_section.h"

#include <algorithm>
#include <utility>

#include "capture/source/link_type.h"
#include "capture/source/pcapng_options.h"

namespace chokepoint::capture::source {
namespace {

constexpr std::size_t kDescriptionBytes = 8;
constexpr std::size_t kStatisticsBytes = 12;

std::string name_in(std::span<const std::uint8_t> value) {
  const auto name = value.first(std::min(value.size(), kLongestInterfaceName));
  return {name.begin(), std::ranges::find(name, '\0')};
}

// Counters count from the beginning of the capture; one that went back began anew.
std::uint64_t newly(std::uint64_t now, std::uint64_t& before) {
  const std::uint64_t last = std::exchange(before, now);
  return now > last ? now - last : 0;
}

}  // namespace

bool PcapngSection::describe_interface(std::span<const std::uint8_t> body,
                                       std::vector<Interface>& all) {
  if (body.size() < kDescriptionBytes || all.size() >= kMostInterfaces) {
    return false;
  }
  const auto snapshot = load<std::uint32_t>(body.data() + 4, order_);
  Interface interface{.link_type = link_type_of(load<std::uint16_t>(body.data(), order_)),
                      .snapshot_bytes = snapshot};
  SectionInterface known{.index = static_cast<std::uint32_t>(all.size()),
                         .link_type = interface.link_type,
                         .snapshot_bytes = snapshot > 0 ? snapshot : UINT32_MAX};
  std::int64_t offset = 0;
  for_each_option(body.subspan(kDescriptionBytes), order_, [&](const PcapngOption& option) {
    if (option.code == kNameOption) {
      interface.name = name_in(option.value);
    } else if (option.code == kResolutionOption && !option.value.empty()) {
      known.unit = TimeUnit::of_resolution(option.value.front());
    } else if (option.code == kOffsetOption) {
      offset = option.number<std::int64_t>(order_).value_or(0);
    }
  });
  known.unit.set_offset(offset);
  interfaces_.push_back(known);
  all.push_back(std::move(interface));
  return true;
}

bool PcapngSection::count_drops(std::span<const std::uint8_t> body, std::vector<Drop>& drops) {
  if (body.size() < kStatisticsBytes) {
    return false;
  }
  const auto index = load<std::uint32_t>(body.data(), order_);
  if (index >= interfaces_.size()) {
    return false;
  }
  SectionInterface& interface = interfaces_[index];
  const std::uint64_t ticks = std::uint64_t{load<std::uint32_t>(body.data() + 4, order_)} << 32 |
                              load<std::uint32_t>(body.data() + 8, order_);
  Drop drop{.time_ns = interface.unit.ns(ticks), .interface = interface.index};
  for_each_option(body.subspan(kStatisticsBytes), order_, [&](const PcapngOption& option) {
    const auto count = option.number<std::uint64_t>(order_);
    if (count && option.code == kDroppedByInterfaceOption) {
      drop.by_interface = newly(*count, interface.dropped_by_interface);
    } else if (count && option.code == kDroppedByKernelOption) {
      drop.by_kernel = newly(*count, interface.dropped_by_kernel);
    }
  });
  if (drop.by_kernel > 0 || drop.by_interface > 0) {
    drops.push_back(drop);
  }
  return true;
}

}  // namespace chokepoint::capture::source
