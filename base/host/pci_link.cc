#include "base/host/pci_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace chokepoint::host {
namespace {

// Sequence number, header, address, checksum and framing of a memory write.
constexpr double kFramingBytes = 24;

// 8b/10b in Gen1 and Gen2, 128b/130b in Gen3 to Gen5, 242 of 256 bytes of a flit from Gen6 on.
double encoding_of(double speed_gts) {
  if (speed_gts <= 5) {
    return 8.0 / 10;
  }
  return speed_gts <= 32 ? 128.0 / 130 : 242.0 / 256;
}

template <class T>
std::optional<T> lesser(std::optional<T> one, std::optional<T> other) {
  return one && other ? std::min(one, other) : one ? one : other;
}

}  // namespace

std::optional<double> parse_pci_speed(std::string_view text) {
  double speed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), speed);
  const std::string_view unit(end, text.data() + text.size());
  constexpr double kFastest = 1024;
  // Which "nan" is not.
  const bool possible = speed > 0 && speed <= kFastest;
  if (error != std::errc() || !unit.starts_with(" GT/s") || !possible) {
    return std::nullopt;
  }
  return speed;
}

std::optional<double> speed_of_generation(std::optional<int> generation) {
  constexpr std::array kSpeeds = {2.5, 5.0, 8.0, 16.0, 32.0, 64.0};
  if (!generation || *generation < 1 || *generation > static_cast<int>(kSpeeds.size())) {
    return std::nullopt;
  }
  return kSpeeds[static_cast<std::size_t>(*generation) - 1];
}

double ceiling_mbps(double speed_gts, int width, int payload_bytes) {
  const double raw = speed_gts * 1000 * encoding_of(speed_gts) * width;
  return raw * payload_bytes / (payload_bytes + kFramingBytes);
}

PciLink common(const PciLink& one, const PciLink& other) {
  return {.speed_gts = lesser(one.speed_gts, other.speed_gts),
          .width = lesser(one.width, other.width)};
}

bool is_below(const PciLink& link, const PciLink& possible) {
  const bool slower = link.speed_gts && possible.speed_gts && *link.speed_gts < *possible.speed_gts;
  const bool narrower = link.width && possible.width && *link.width < *possible.width;
  return slower || narrower;
}

std::string describe(const PciLink& link) {
  return fmt::format("{} {}", link.speed_gts ? fmt::format("{} GT/s", *link.speed_gts) : "? GT/s",
                     link.width ? fmt::format("x{}", *link.width) : "x?");
}

}  // namespace chokepoint::host
