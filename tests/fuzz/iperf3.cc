// An iperf3 server or client may be anybody: whatever comes as parameters, results, length, error
// or datagram is a value within its bounds or an error, and what was read is written so that it
// reads the same.
#include <cstdlib>
#include <string>

#include "probe/iperf3/messages.h"
#include "probe/iperf3/protocol.h"

namespace {

using namespace chokepoint::probe::iperf3;

void parameters(const std::string& text) {
  const auto got = decode_parameters(text);
  if (!got) {
    if (got.error().reason.empty()) std::abort();
    return;
  }
  if (got->streams < 1 || got->streams > kMaxStreams || got->block_bytes < 1) std::abort();
  const auto again = decode_parameters(encode(*got));
  if (!again || again->streams != got->streams || again->direction != got->direction) std::abort();
}

void results(const std::string& text) {
  const auto got = decode_results(text);
  if (got && !decode_results(encode(*got))) std::abort();
}

void frames(std::span<const std::byte> raw) {
  if (raw.size() >= 8) {
    const auto length = decode_length(raw.first<4>(), kMaxParameterBytes);
    if (length && (*length == 0 || *length > kMaxParameterBytes)) std::abort();
    describe(decode_server_error(raw.first<8>()));
  }
  is_cookie(raw);
  answer_to(raw);
  for (const bool wide : {false, true}) {
    const auto head = decode_head(raw, wide);
    if (head.has_value() != (raw.size() >= head_bytes(wide))) std::abort();
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(data, data + size);
  parameters(text);
  results(text);
  frames(std::as_bytes(std::span(data, size)));
  return 0;
}
