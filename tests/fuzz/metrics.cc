// What answers at an address of metrics: whatever the text, metrics in bounded number, finite, and
// a node that can be shown.
#include "analysis/live/metrics.h"

#include <cmath>
#include <cstdlib>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace chokepoint::analysis;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto now = parse_metrics(text.substr(size / 2));
  const auto before = parse_metrics(text.substr(0, size / 2));
  for (const Metric& metric : now) {
    if (!std::isfinite(metric.value) || metric.labels.size() > 64) std::abort();
  }
  const LiveNode node = live_node(now, before);
  if (node.sent_mbps && !(*node.sent_mbps >= 0)) std::abort();
  return 0;
}
