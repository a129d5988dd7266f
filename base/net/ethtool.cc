#include "base/net/ethtool.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace chokepoint::net {
namespace {

// A request of the kernel that ends in an array. The storage is kept aligned for its widest member.
template <class Head>
class Request {
 public:
  explicit Request(std::size_t tail_bytes = 0)
      : words_((sizeof(Head) + tail_bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t)) {}

  Head* operator->() { return static_cast<Head*>(data()); }
  void* data() { return words_.data(); }
  const char* tail() { return static_cast<const char*>(data()) + sizeof(Head); }

 private:
  std::vector<std::uint64_t> words_;
};

// No driver has more than some thousands; an answer with a larger number is refused.
constexpr std::uint32_t kMaxStrings = 1 << 16;

template <std::size_t N>
std::string text_of(const char (&field)[N]) {
  return {field, strnlen(field, N)};
}

std::optional<std::int64_t> unless_zero(std::uint32_t value, std::uint32_t maximum) {
  return value == 0 && maximum == 0 ? std::nullopt : std::optional<std::int64_t>(value);
}

std::optional<std::string> duplex_of(std::uint8_t duplex) {
  if (duplex == DUPLEX_UNKNOWN) {
    return std::nullopt;
  }
  return duplex == DUPLEX_FULL ? "full" : "half";
}

// The fastest mode of a bitmap that stands `map` maps behind the settings.
std::optional<std::int64_t> fastest_in(Request<ethtool_link_settings>& answer, std::size_t words,
                                       std::size_t map, const std::vector<std::string>& names) {
  std::optional<std::int64_t> fastest;
  for (std::size_t bit = 0; bit < std::min(words * 32, names.size()); ++bit) {
    std::uint32_t word = 0;
    std::memcpy(&word, answer.tail() + (map * words + bit / 32) * sizeof(word), sizeof(word));
    const std::int64_t speed = speed_of_mode(names[bit]);
    if ((word >> (bit % 32) & 1) != 0 && speed > 0) {
      fastest = std::max(fastest.value_or(0), speed);
    }
  }
  return fastest;
}

}  // namespace

std::int64_t speed_of_mode(const std::string& name) {
  std::int64_t speed = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), speed);
  return error == std::errc() && std::string_view(end).starts_with("base") ? speed : 0;
}

Result<Ethtool> Ethtool::open() {
  sys::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) {
    // A host without IPv4: any socket will do.
    socket.reset(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  }
  if (!socket) {
    return fail(from_errno(errno, "ethtool", "socket"));
  }
  return Ethtool(std::move(socket));
}

Result<> Ethtool::ask(const std::string& interface, void* request) const {
  ifreq wrapper{};
  interface.copy(wrapper.ifr_name, sizeof(wrapper.ifr_name) - 1);
  wrapper.ifr_data = static_cast<char*>(request);
  if (ioctl(socket_.get(), SIOCETHTOOL, &wrapper) < 0) {
    return fail(from_errno(errno, "ethtool", interface));
  }
  return {};
}

Result<DriverInfo> Ethtool::driver(const std::string& interface) const {
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  TRY(ask(interface, &info));
  return DriverInfo{.driver = text_of(info.driver),
                    .version = text_of(info.version),
                    .firmware = text_of(info.fw_version),
                    .bus = text_of(info.bus_info)};
}

Result<LinkModes> Ethtool::modes(const std::string& interface) const {
  constexpr std::size_t kMaps = 3;  // supported, advertised, offered by the other end
  constexpr std::size_t kMaxWords = 127;
  Request<ethtool_link_settings> request(kMaps * kMaxWords * sizeof(std::uint32_t));
  request->cmd = ETHTOOL_GLINKSETTINGS;
  // The first answer is the size of the maps, negative; the second the maps.
  TRY(ask(interface, request.data()));
  const int words = -request->link_mode_masks_nwords;
  if (words <= 0) {
    return fail(ErrorKind::Malformed, "ethtool", interface, "no size for the link modes");
  }
  request->cmd = ETHTOOL_GLINKSETTINGS;
  request->link_mode_masks_nwords = static_cast<std::int8_t>(words);
  TRY(ask(interface, request.data()));
  LinkModes modes{.duplex = duplex_of(request->duplex),
                  .autonegotiation = request->autoneg == AUTONEG_ENABLE};
  if (request->speed != 0 && request->speed != static_cast<std::uint32_t>(SPEED_UNKNOWN)) {
    modes.speed_mbps = request->speed;
  }
  const std::vector<std::string> names =
      strings(interface, ETH_SS_LINK_MODES).value_or(std::vector<std::string>());
  const auto count = static_cast<std::size_t>(words);
  modes.fastest_mbps = fastest_in(request, count, 0, names);
  modes.partner_fastest_mbps = fastest_in(request, count, 2, names);
  return modes;
}

Result<Rings> Ethtool::rings(const std::string& interface) const {
  ethtool_ringparam rings{};
  rings.cmd = ETHTOOL_GRINGPARAM;
  TRY(ask(interface, &rings));
  return Rings{.rx = unless_zero(rings.rx_pending, rings.rx_max_pending),
               .tx = unless_zero(rings.tx_pending, rings.tx_max_pending),
               .rx_max = unless_zero(rings.rx_max_pending, rings.rx_pending),
               .tx_max = unless_zero(rings.tx_max_pending, rings.tx_pending)};
}

Result<Channels> Ethtool::channels(const std::string& interface) const {
  ethtool_channels channels{};
  channels.cmd = ETHTOOL_GCHANNELS;
  TRY(ask(interface, &channels));
  return Channels{.combined = unless_zero(channels.combined_count, channels.max_combined),
                  .combined_max = unless_zero(channels.max_combined, channels.combined_count),
                  .rx = unless_zero(channels.rx_count, channels.max_rx),
                  .rx_max = unless_zero(channels.max_rx, channels.rx_count),
                  .tx = unless_zero(channels.tx_count, channels.max_tx),
                  .tx_max = unless_zero(channels.max_tx, channels.tx_count)};
}

Result<Coalescing> Ethtool::coalescing(const std::string& interface) const {
  ethtool_coalesce coalescing{};
  coalescing.cmd = ETHTOOL_GCOALESCE;
  TRY(ask(interface, &coalescing));
  return Coalescing{.adaptive_rx = coalescing.use_adaptive_rx_coalesce != 0,
                    .adaptive_tx = coalescing.use_adaptive_tx_coalesce != 0,
                    .rx_usecs = coalescing.rx_coalesce_usecs,
                    .tx_usecs = coalescing.tx_coalesce_usecs,
                    .rx_frames = coalescing.rx_max_coalesced_frames,
                    .tx_frames = coalescing.tx_max_coalesced_frames};
}

Result<Pause> Ethtool::pause(const std::string& interface) const {
  ethtool_pauseparam pause{};
  pause.cmd = ETHTOOL_GPAUSEPARAM;
  TRY(ask(interface, &pause));
  return Pause{
      .autonegotiation = pause.autoneg != 0, .rx = pause.rx_pause != 0, .tx = pause.tx_pause != 0};
}

Result<std::uint32_t> Ethtool::set_size(const std::string& interface, std::uint32_t set) const {
  Request<ethtool_sset_info> request(sizeof(std::uint32_t));
  request->cmd = ETHTOOL_GSSET_INFO;
  request->sset_mask = 1ULL << set;
  TRY(ask(interface, request.data()));
  std::uint32_t size = 0;
  std::memcpy(&size, request.tail(), sizeof(size));
  if (request->sset_mask == 0 || size > kMaxStrings) {
    return fail(ErrorKind::Unsupported, "ethtool", interface, "the driver names none");
  }
  return size;
}

Result<std::vector<std::string>> Ethtool::strings(const std::string& interface,
                                                  std::uint32_t set) const {
  TRY(const std::uint32_t size, set_size(interface, set));
  Request<ethtool_gstrings> request(static_cast<std::size_t>(size) * ETH_GSTRING_LEN);
  request->cmd = ETHTOOL_GSTRINGS;
  request->string_set = set;
  request->len = size;
  TRY(ask(interface, request.data()));
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < std::min(size, request->len); ++i) {
    const char* name = request.tail() + static_cast<std::size_t>(i) * ETH_GSTRING_LEN;
    names.emplace_back(name, strnlen(name, ETH_GSTRING_LEN));
  }
  return names;
}

Result<std::vector<Feature>> Ethtool::features(const std::string& interface) const {
  TRY(const std::vector<std::string> names, strings(interface, ETH_SS_FEATURES));
  const std::size_t blocks = (names.size() + 31) / 32;
  Request<ethtool_gfeatures> request(blocks * sizeof(ethtool_get_features_block));
  request->cmd = ETHTOOL_GFEATURES;
  request->size = static_cast<std::uint32_t>(blocks);
  TRY(ask(interface, request.data()));
  std::vector<Feature> features;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) {
      continue;  // a bit that this kernel has no feature for
    }
    ethtool_get_features_block block{};
    std::memcpy(&block, request.tail() + i / 32 * sizeof(block), sizeof(block));
    const std::uint32_t bit = 1U << (i % 32);
    const bool changeable = (block.available & bit) != 0 && (block.never_changed & bit) == 0;
    features.push_back({names[i], (block.active & bit) != 0, !changeable});
  }
  return features;
}

Result<std::vector<std::string>> Ethtool::statistic_names(const std::string& interface) const {
  return strings(interface, ETH_SS_STATS);
}

Result<std::vector<std::int64_t>> Ethtool::statistic_values(const std::string& interface,
                                                            std::size_t count) const {
  // A driver writes as many values as it has, whatever it is asked for.
  TRY(const std::uint32_t size, set_size(interface, ETH_SS_STATS));
  Request<ethtool_stats> request(std::max<std::size_t>(size, count) * sizeof(std::uint64_t));
  request->cmd = ETHTOOL_GSTATS;
  request->n_stats = size;
  TRY(ask(interface, request.data()));
  std::vector<std::int64_t> values(std::min<std::size_t>(count, request->n_stats));
  std::memcpy(values.data(), request.tail(), values.size() * sizeof(std::int64_t));
  return values;
}

Result<std::vector<Statistic>> statistics(const Ethtool& ethtool, const std::string& interface) {
  TRY(const std::vector<std::string> names, ethtool.statistic_names(interface));
  TRY(const auto values, ethtool.statistic_values(interface, names.size()));
  std::vector<Statistic> statistics;
  for (std::size_t i = 0; i < values.size(); ++i) {
    statistics.push_back({names[i], values[i]});
  }
  return statistics;
}

}  // namespace chokepoint::net
