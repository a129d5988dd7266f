#include "capture/counter/link_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/record/names.h"
#include "capture/counter/words.h"

namespace chokepoint::capture::counter {
namespace {

constexpr std::size_t kMostLinksAtATime = 8;
constexpr std::size_t kMostOpenLinkFiles = 64;

// "unknown" is what interfaces say that have no carrier to lose: dummies, tunnels.
bool is_up(const std::string& state) { return state == "up" || state == "unknown"; }

// A driver without a link says -1.
std::optional<std::int64_t> positive(std::optional<std::int64_t> speed) {
  constexpr std::int64_t kUnsignedMinusOne = 4294967295;
  return speed && *speed > 0 && *speed < kUnsignedMinusOne ? speed : std::nullopt;
}

std::string mbps_json(std::optional<std::int64_t> speed) {
  return speed ? std::to_string(*speed) : "null";
}

}  // namespace

// Those that are gone are forgotten; the interface's own counters tell that it went.
void LinkSampler::list(std::int64_t now_ns) {
  const std::vector<std::string> names = root_.list(kInterfacesFolder);
  std::erase_if(links_,
                [&](const auto& entry) { return !std::ranges::binary_search(names, entry.first); });
  for (const std::string& name : names) {
    if (name != "lo" && !links_.contains(name)) {
      const std::string path = fmt::format("{}/{}/operstate", kInterfacesFolder, name);
      links_.try_emplace(name,
                         Link{.file = KeptFile(root_, path, links_.size() < kMostOpenLinkFiles)});
    }
  }
  listed_ns_ = now_ns;
}

void LinkSampler::look_at_speed(const std::string& name, Link& link, std::int64_t now_ns,
                                Sink& sink) const {
  const std::string folder = fmt::format("{}/{}", kInterfacesFolder, name);
  link.speed_read_ns = now_ns;
  if (link.speed == nullptr) {
    link.speed = &sink.level({std::string(record::kNicSpeed), name, "mbps", folder + "/speed"});
    link.carrier_changes = &sink.counter(
        {std::string(record::kNicCarrierChanges), name, "changes", folder + "/carrier_changes"});
  }
  const std::optional<std::int64_t> speed = positive(root_.number(folder + "/speed"));
  if (speed && link.speed_mbps && *speed != *link.speed_mbps) {
    sink.event(now_ns, record::kLinkSpeedChanged, name,
               fmt::format(R"({{"mbps":{},"before_mbps":{}}})", mbps_json(speed),
                           mbps_json(link.speed_mbps)));
  }
  if (speed) {
    link.speed_mbps = speed;
    link.speed->see(now_ns, static_cast<double>(*speed));
  }
  if (const auto changes = root_.number(folder + "/carrier_changes")) {
    link.carrier_changes->see(now_ns,
                              static_cast<std::uint64_t>(std::max<std::int64_t>(*changes, 0)));
  }
}

// Whether somebody wants it up: an interface that is down although it is wanted lost its carrier.
bool LinkSampler::is_enabled(const std::string& name) const {
  constexpr unsigned long kUp = 1;  // IFF_UP
  const auto flags = root_.text(fmt::format("{}/{}/flags", kInterfacesFolder, name));
  return !flags || (std::strtoul(flags->c_str(), nullptr, 16) & kUp) != 0;
}

void LinkSampler::look_at(const std::string& name, Link& link, std::int64_t now_ns, Sink& sink) {
  const Result<std::string_view> text = link.file.read(buffer_);
  const auto state = text ? std::optional(std::string(Words(*text).next())) : std::nullopt;
  const bool has_changed = state && link.state && *state != *link.state;
  if (has_changed && is_up(*state) != is_up(*link.state)) {
    sink.event(now_ns, is_up(*state) ? record::kInterfaceUp : record::kInterfaceDown, name,
               fmt::format(R"({{"state":"{}","before":"{}","enabled":{}}})", *state, *link.state,
                           is_enabled(name)));
  }
  if (has_changed || link.speed_read_ns == INT64_MIN ||
      now_ns - link.speed_read_ns >= slow_interval_ns_) {
    look_at_speed(name, link, now_ns, sink);
  }
  if (state) {
    link.state = state;
  }
}

void LinkSampler::sample(const Moment& moment, Sink& sink) {
  if (listed_ns_ == INT64_MIN || moment.now_ns - listed_ns_ >= slow_interval_ns_) {
    list(moment.now_ns);
  }
  for (std::size_t i = 0; i < std::min(kMostLinksAtATime, links_.size()); ++i) {
    auto next = links_.upper_bound(last_);
    next = next == links_.end() ? links_.begin() : next;
    look_at(next->first, next->second, moment.now_ns, sink);
    last_ = next->first;
  }
}

}  // namespace chokepoint::capture::counter
