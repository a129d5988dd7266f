#include "analysis/live/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/math/units.h"
#include "base/net/address.h"
#include "base/net/http.h"
#include "base/sys/number.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kMaxResponseBytes = std::size_t{4} << 20;
constexpr std::size_t kMaxMetrics = 20'000;
constexpr std::size_t kMaxLabels = 64;
constexpr std::size_t kMaxRecentSteps = 64;
// In a row: with all cores in use a host may be late with one response.
constexpr int kMaxFailures = 3;
constexpr std::string_view kPrefix = "chokepoint_";
constexpr std::string_view kPath = "/metrics";

// Reads a line of the text form of Prometheus from its front on.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : left_(line) {}

  std::optional<Metric> metric() {
    Metric metric{.name = std::string(until("{ "))};
    if (take('{') && !read_labels(metric)) {
      return std::nullopt;
    }
    skip_spaces();
    const auto value = sys::parse_number<double>(until(" "));
    if (!value || !std::isfinite(*value)) {
      return std::nullopt;
    }
    metric.value = *value;
    return metric;
  }

 private:
  bool take(char letter) {
    const bool is_there = left_.starts_with(letter);
    left_.remove_prefix(is_there ? 1 : 0);
    return is_there;
  }

  std::string_view until(std::string_view ends) {
    const std::string_view word = left_.substr(0, left_.find_first_of(ends));
    left_.remove_prefix(word.size());
    return word;
  }

  void skip_spaces() { left_.remove_prefix(std::min(left_.find_first_not_of(' '), left_.size())); }

  bool read_labels(Metric& metric) {
    while (!take('}')) {
      skip_spaces();
      const std::string name(until("="));
      if (!take('=') || !take('"') || metric.labels.size() == kMaxLabels) {
        return false;
      }
      const std::optional<std::string> text = quoted();
      if (!text) {
        return false;
      }
      metric.labels.emplace(name, *text);
      take(',');
    }
    return true;
  }

  // Up to the closing quote; \\, \" and \n are escaped.
  std::optional<std::string> quoted() {
    std::string text;
    while (!left_.empty()) {
      const char letter = left_.front();
      left_.remove_prefix(1);
      if (letter == '"') {
        return text;
      }
      if (letter != '\\') {
        text += letter;
      } else if (!left_.empty()) {
        text += left_.front() == 'n' ? '\n' : left_.front();
        left_.remove_prefix(1);
      }
    }
    return std::nullopt;
  }

  std::string_view left_;
};

const Metric* find(const Metrics& metrics, std::string_view name) {
  const auto found = std::ranges::find_if(metrics, [&](const Metric& metric) {
    return std::string_view(metric.name).substr(kPrefix.size()) == name;
  });
  return found == metrics.end() ? nullptr : &*found;
}

std::optional<double> value_of(const Metrics& metrics, std::string_view name, double factor = 1) {
  const Metric* metric = find(metrics, name);
  return metric == nullptr ? std::nullopt : std::optional(metric->value * factor);
}

// Of all with this name together.
std::optional<double> sum_of(const Metrics& metrics, std::string_view name) {
  std::optional<double> sum;
  for (const Metric& metric : metrics) {
    if (std::string_view(metric.name).substr(kPrefix.size()) == name) {
      sum = sum.value_or(0) + metric.value;
    }
  }
  return sum;
}

// Between two responses; empty where the counter began anew.
std::optional<double> growth_of(const Metrics& now, const Metrics& before, std::string_view name) {
  const std::optional<double> after = sum_of(now, name);
  const std::optional<double> earlier = sum_of(before, name);
  return after && earlier && *after >= *earlier ? std::optional(*after - *earlier) : std::nullopt;
}

// By the node's own clock: its figures are some time old when they are scraped.
std::optional<double> rate_mbps(const Metrics& now, const Metrics& before, std::string_view name) {
  const auto bytes = growth_of(now, before, name);
  const auto seconds = growth_of(now, before, "run_elapsed_seconds");
  return bytes && seconds && *seconds > 0
             ? std::optional(*bytes * math::kBits / math::kMega / *seconds)
             : std::nullopt;
}

void take_step_metrics(const Metrics& metrics, LiveNode& live) {
  constexpr double kMsPerSecond = 1e3;
  const Metric* steps = find(metrics, "steps_total");
  if (steps == nullptr) {
    return;
  }
  if (const auto source = steps->labels.find("source"); source != steps->labels.end()) {
    live.step_source = source->second;
  }
  if (steps->value >= 0 && steps->value < kMaxCount) {
    live.step = static_cast<std::int64_t>(steps->value);
  }
  live.step_ms = value_of(metrics, "step_seconds", kMsPerSecond);
  live.median_ms = value_of(metrics, "step_median_seconds", kMsPerSecond);
}

Error no_response(std::string reason, const std::string& subject) {
  return {.kind = ErrorKind::Unreachable,
          .operation = "",
          .subject = subject,
          .reason = std::move(reason)};
}

}  // namespace

std::vector<Metric> parse_metrics(std::string_view text) {
  std::vector<Metric> metrics;
  while (!text.empty() && metrics.size() < kMaxMetrics) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = line.substr(0, line.find_last_not_of(" \r") + 1);
    if (!line.starts_with(kPrefix)) {
      continue;
    }
    if (auto metric = LineReader(line).metric()) {
      metrics.push_back(*std::move(metric));
    }
  }
  return metrics;
}

LiveNode live_node(const Metrics& now, const Metrics& before) {
  LiveNode live;
  if (const Metric* info = find(now, "run_info")) {
    const auto name = info->labels.find("node");
    live.name = name == info->labels.end() ? "" : name->second;
  }
  live.elapsed_s = value_of(now, "run_elapsed_seconds");
  take_step_metrics(now, live);
  live.sent_mbps = rate_mbps(now, before, "job_sent_bytes_total");
  live.received_mbps = rate_mbps(now, before, "job_received_bytes_total");
  const auto sent = growth_of(now, before, "sent_packets_total");
  const auto resent = growth_of(now, before, "retransmitted_packets_total");
  if (sent && resent && *sent > 0) {
    live.retransmitted_percent = math::kPercent * *resent / *sent;
  }
  live.core_percent = value_of(now, "busiest_core_ratio", math::kPercent);
  live.gpu_percent = value_of(now, "gpu_ratio", math::kPercent);
  const auto stalled_s = value_of(now, "job_stalled_seconds");
  live.stalled_s = stalled_s && *stalled_s > 0 ? stalled_s : std::nullopt;
  return live;
}

Result<Scraper> Scraper::of(std::string_view address) {
  constexpr std::string_view kScheme = "http://";
  std::string_view place = address;
  place.remove_prefix(place.starts_with(kScheme) ? kScheme.size() : 0);
  if (place.ends_with(kPath)) {
    place.remove_suffix(kPath.size());
  }
  if (place.ends_with('/')) {
    place.remove_suffix(1);
  }
  const auto parsed = net::parse_host_port(place, 0);
  if (!parsed || parsed->port == 0) {
    return fail(ErrorKind::Usage, "", std::string(address), "not an address of metrics",
                "give HOST:PORT, as in 'run --metrics :9464' on that host");
  }
  return Scraper(parsed->host, parsed->port);
}

std::string Scraper::address() const {
  return net::HttpPlace{.host = host_, .port = port_}.authority();
}

Result<std::string> Scraper::fetch(std::chrono::milliseconds wait) const {
  TRY(net::HttpAnswer response,
      net::exchange({.host = host_, .port = port_, .path = std::string(kPath)}, {},
                    kMaxResponseBytes, net::Deadline::of(wait)));
  if (response.status != 200) {
    return fail(no_response("serves no metrics of chokepoint", address()));
  }
  return std::move(response.body);
}

LiveNode Scraper::read(std::chrono::milliseconds wait) {
  const Result<std::string> text = fetch(wait);
  Metrics now = text ? parse_metrics(*text) : Metrics();
  if (!text || find(now, "run_info") == nullptr) {
    Error why = text ? no_response("serves no metrics of chokepoint", address()) : text.error();
    why.operation.clear();
    why.subject.clear();
    if (!before_.empty() && ++failures_ < kMaxFailures) {
      last_.trouble = describe(why);
      return last_;
    }
    return {.name = name_.empty() ? address() : name_,
            .state = NodeState::Silent,
            .trouble = describe(why)};
  }
  LiveNode live = live_node(now, before_);
  if (live.step_ms && growth_of(now, before_, "steps_total").value_or(1) > 0) {
    recent_ms_.push_back(*live.step_ms);
    if (recent_ms_.size() > kMaxRecentSteps) {
      recent_ms_.erase(recent_ms_.begin());
    }
  }
  live.recent_ms = recent_ms_;
  name_ = live.name;
  before_ = std::move(now);
  failures_ = 0;
  last_ = live;
  return live;
}

}  // namespace chokepoint::analysis
