// The frames of a responsiveness test: whatever the bytes, the same frames wherever they are cut,
// and never more counted than came.
#include <cstdlib>
#include <vector>

#include "probe/latency/frames.h"

namespace {

using namespace chokepoint::probe::latency;

struct Scanned {
  std::vector<std::uint32_t> numbers;
  std::uint64_t data_bytes = 0;
  bool is_well = true;
  bool operator==(const Scanned&) const = default;
};

Scanned scan(std::span<const std::byte> bytes, std::size_t at_a_time) {
  FrameScanner scanner;
  Scanned scanned;
  for (std::size_t at = 0; at < bytes.size() && scanned.is_well; at += at_a_time) {
    const auto part = bytes.subspan(at, std::min(at_a_time, bytes.size() - at));
    scanned.is_well = scanner
                          .take(part,
                                [&](const Frame& frame) {
                                  scanned.numbers.push_back(frame.head.number);
                                  scanned.numbers.push_back(frame.rtt_us);
                                })
                          .has_value();
  }
  scanned.data_bytes = scanner.data_bytes();
  return scanned;
}

}  // namespace

// The first byte says how many bytes come at a time.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size < 2) {
    return 0;
  }
  const std::span bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  const Scanned whole = scan(bytes, bytes.size());
  if (whole != scan(bytes, data[0] + std::size_t{1}) || whole.data_bytes > bytes.size()) {
    std::abort();
  }
  return 0;
}
