// A job prints what it likes: any bytes, cut anywhere, from several streams. Steps never end before
// they begin, nor begin before the one before has ended, and a piece costs time by its length only.
#include "capture/step/output_steps.h"

#include <algorithm>
#include <cstdlib>

#include "capture/step/marks.h"

namespace {

using namespace chokepoint::capture::step;

void check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

constexpr const char* kOwn = R"(t(?P<step>\d+) (?P<samples>\d+) (?P<ms>[\d.]+))";

}  // namespace

// The input is pieces: how much later and which stream, length, bytes.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const bool is_own = size > 0 && (data[0] & 1) != 0;
  const auto steps = *OutputSteps::make(is_own ? kOwn : "", 64);
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  read_mark(rest);
  std::int64_t now_ns = 1;
  std::int64_t until_ns = 0;
  while (rest.size() >= 2) {
    const auto first = static_cast<unsigned char>(rest[0]);
    const std::size_t length =
        std::min<std::size_t>(static_cast<unsigned char>(rest[1]), rest.size() - 2);
    now_ns += std::int64_t{first >> 2} * 10'000'000;
    steps->take(now_ns, (first >> 1) & 1, rest.substr(2, length), [&](const Step& step) {
      check(step.start_ns < step.end_ns && step.merged > 0);
      check(step.start_ns >= until_ns && step.end_ns <= now_ns);
      check(step.busy_ns.value_or(1) > 0 && step.samples.value_or(1) >= 0);
      until_ns = step.end_ns;
    });
    rest.remove_prefix(2 + length);
  }
  return 0;
}
