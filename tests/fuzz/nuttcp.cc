// A nuttcp server or client may be anybody: whatever comes as a greeting, a parameter line, an
// answer or results is a value within its bounds or an error, and no text of the peer's reaches the
// terminal unfiltered.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "probe/nuttcp/messages.h"
#include "probe/nuttcp/protocol.h"

namespace {

using namespace chokepoint::probe::nuttcp;

void clean(const std::string& text) {
  if (std::ranges::any_of(text, [](char c) { return c < ' ' || c > '~'; })) std::abort();
}

void greetings(const std::string& text) {
  if (const auto version = read_hello(text); !version) {
    clean(version.error().reason);
  }
  if (const auto answer = read_answer(text); !answer) {
    clean(answer.error().reason);
  }
  if (std::ranges::count(refusal(text), '\n') != 3) std::abort();
}

void parameters(const std::string& text) {
  const auto got = decode_parameters(text);
  if (!got) {
    if (got.error().reason.empty()) std::abort();
    return;
  }
  if (got->streams < 1 || got->streams > kMaxStreams || got->block_bytes < 1) std::abort();
  if (!got->blocks && !(got->time_s > 0)) std::abort();
  if (!decode_parameters(encode(*got)) && got->time_s >= 1e-6) std::abort();
  opening_text(*got, {}, "peer");
  closing_text(*got, {.bytes = 1, .calls = 1, .seconds = got->time_s});
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(data, data + size);
  greetings(text);
  parameters(text);
  if (const auto results = read_results(text)) {
    results->bytes();
    results->datagrams(1000);
  }
  mark_of(std::as_bytes(std::span(data, size)));
  return 0;
}
