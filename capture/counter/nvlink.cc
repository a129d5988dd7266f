#include "capture/counter/nvlink.h"

#include <array>
#include <bit>
#include <utility>

namespace chokepoint::capture::counter {
namespace {

using nvml::Device;
using nvml::Field;
using nvml::FieldValue;
using nvml::Return;
using nvml::ValueType;

constexpr std::uint64_t kKib = 1024;

std::optional<std::uint64_t> number_of(const FieldValue& field) {
  if (field.result != 0) {
    return std::nullopt;
  }
  switch (ValueType(field.type)) {
    case ValueType::Double:
      return static_cast<std::uint64_t>(std::bit_cast<double>(field.value));
    case ValueType::Unsigned:
      return field.value & ~0U;
    default:
      return field.value;
  }
}

std::optional<std::uint64_t> sum_of(std::optional<std::uint64_t> one,
                                    std::optional<std::uint64_t> other) {
  return one && other ? std::optional(*one + *other) : one ? one : other;
}

std::optional<std::uint64_t> bytes_of(const FieldValue& kib) {
  const auto number = number_of(kib);
  return number ? std::optional(*number * kKib) : std::nullopt;
}

}  // namespace

Nvlink::Nvlink(const sys::Library& library, Device device) : library_(&library), device_(device) {
  has_any_ = active_links().has_value();
}

std::optional<double> Nvlink::active_links() const {
  auto* state = library_->function<Return(Device, unsigned, unsigned*)>("nvmlDeviceGetNvLinkState");
  std::optional<double> active;
  for (unsigned link = 0; state != nullptr && link < nvml::kMostLinks; ++link) {
    unsigned is_active = 0;
    if (state(device_, link, &is_active) == 0) {
      active = active.value_or(0) + (is_active != 0 ? 1 : 0);
    }
  }
  return active;
}

void Nvlink::read_counters(NvlinkReading& reading) const {
  constexpr std::array kFields{Field::NvlinkSentKib,       Field::NvlinkReceivedKib,
                               Field::NvlinkFlitCrcErrors, Field::NvlinkDataCrcErrors,
                               Field::NvlinkReplays,       Field::NvlinkRecoveries};
  std::array<FieldValue, kFields.size()> values{};
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    values[i].field = std::to_underlying(kFields[i]);
    values[i].scope = i < 2 ? nvml::kAllLinks : 0;
    values[i].result = -1;
  }
  auto* get = library_->function<Return(Device, int, FieldValue*)>("nvmlDeviceGetFieldValues");
  if (get == nullptr || get(device_, static_cast<int>(values.size()), values.data()) != 0) {
    return;
  }
  reading.sent_bytes = bytes_of(values[0]);
  reading.received_bytes = bytes_of(values[1]);
  reading.crc_errors = sum_of(number_of(values[2]), number_of(values[3]));
  reading.replays = number_of(values[4]);
  reading.recoveries = number_of(values[5]);
}

NvlinkReading Nvlink::read() const {
  NvlinkReading reading;
  if (has_any_) {
    reading.active = active_links();
    read_counters(reading);
  }
  return reading;
}

}  // namespace chokepoint::capture::counter
