#include "base/host/pci_config.h"

#include <cstddef>
#include <cstdint>

namespace chokepoint::host {
namespace {

constexpr std::size_t kStatus = 0x06;
constexpr unsigned kStatusHasCapabilities = 0x10;
constexpr std::size_t kCapabilityPointer = 0x34;
constexpr std::size_t kFirstCapability = 0x40;
constexpr unsigned kPciExpress = 0x10;
constexpr std::size_t kDeviceControl = 8;
// 256 bytes in steps of 4: a longer chain runs in a circle.
constexpr int kMostCapabilities = 48;

std::optional<unsigned> byte_at(std::string_view config, std::size_t offset) {
  if (offset >= config.size()) {
    return std::nullopt;
  }
  return static_cast<unsigned char>(config[offset]);
}

std::optional<std::size_t> find_capability(std::string_view config, unsigned wanted) {
  const std::optional<unsigned> status = byte_at(config, kStatus);
  if (!status || (*status & kStatusHasCapabilities) == 0) {
    return std::nullopt;
  }
  std::optional<unsigned> next = byte_at(config, kCapabilityPointer);
  for (int i = 0; i < kMostCapabilities && next; ++i) {
    const std::size_t offset = *next & 0xfcU;
    if (offset < kFirstCapability) {
      return std::nullopt;
    }
    const std::optional<unsigned> id = byte_at(config, offset);
    if (id == wanted) {
      return offset;
    }
    next = byte_at(config, offset + 1);
  }
  return std::nullopt;
}

}  // namespace

std::optional<int> max_payload_bytes(std::string_view config) {
  const std::optional<std::size_t> capability = find_capability(config, kPciExpress);
  if (!capability) {
    return std::nullopt;
  }
  const std::optional<unsigned> control = byte_at(config, *capability + kDeviceControl);
  const unsigned exponent = control.value_or(0) >> 5;
  if (!control || exponent > 5) {
    return std::nullopt;
  }
  return 128 << exponent;
}

}  // namespace chokepoint::host
