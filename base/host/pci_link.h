// What a PCIe link of a given speed, width and payload can carry. Pure: the reader of sysfs and the
// judgement of NICs and GPUs stand on it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace chokepoint::host {

struct PciLink {
  std::optional<double> speed_gts = {};  // 2.5, 5, 8, 16, 32, 64: transfers on each lane
  std::optional<int> width = {};         // lanes

  bool is_known() const { return speed_gts && width; }
  bool operator==(const PciLink&) const = default;
};

// "16.0 GT/s PCIe", "16 GT/s"; nothing for "Unknown" and for what is no speed.
std::optional<double> parse_pci_speed(std::string_view text);

// Generation 4 is 16 GT/s; nothing for what is none.
std::optional<double> speed_of_generation(std::optional<int> generation);

// The payload that most hosts set for a card behind a root port; what is assumed where a host does
// not let the configuration space be read.
inline constexpr int kUsualPayloadBytes = 256;

// Data in one direction in 10^6 bit/s: lanes times speed, less the line's encoding, less the 24
// bytes that frame every packet of `payload_bytes`.
double ceiling_mbps(double speed_gts, int width, int payload_bytes);

// What both ends of a link can do: the lesser speed and the lesser width, each where known.
PciLink common(const PciLink& one, const PciLink& other);
// Is `link` known to be slower or narrower than `possible`?
bool is_below(const PciLink& link, const PciLink& possible);

std::string describe(const PciLink& link);  // "8 GT/s x8"

}  // namespace chokepoint::host
