#include "capture/counter/series.h"

#include <algorithm>
#include <cmath>

namespace chokepoint::capture::counter {
namespace {

constexpr std::int64_t kLongestSilenceNs = 10'000'000'000;
constexpr std::uint64_t kWrap = std::uint64_t{1} << 32;

double per_second(std::uint64_t growth, std::int64_t span_ns) {
  return span_ns > 0 ? static_cast<double>(growth) * 1e9 / static_cast<double>(span_ns) : 0;
}

}  // namespace

std::int64_t Track::register_series() {
  return writer_->add(record::Series{.name = name_.name,
                                     .subject = name_.subject,
                                     .unit = name_.unit,
                                     .kind = kind_,
                                     .source = name_.source});
}

void Counter::see(std::int64_t now_ns, std::uint64_t reading, bool is_worth_a_row) {
  follow(reading);
  const Point now{now_ns, value()};
  if (!first_) {
    first_ = seen_ = now;
    if (keep_ == Keep::Always) {
      tell(now, 0, record::kUnknownReal);
    }
    return;
  }
  growth_per_s_ = per_second(now.value - seen_.value, now_ns - seen_.t_ns);
  const Point& last = told_ ? *told_ : *first_;
  if (now.value != last.value && (is_worth_a_row || now_ns - last.t_ns >= kLongestSilenceNs)) {
    if (!told_ || told_->t_ns != seen_.t_ns) {
      tell(seen_, 0, record::kUnknownReal);
    }
    tell(now, now_ns - seen_.t_ns, growth_per_s_);
  }
  seen_ = now;
}

// Smaller than before: it went past its 32 bits, it began anew, or the kernel summed up its cores
// while they counted. The last is a small step back and no news.
void Counter::follow(std::uint64_t reading) {
  if (first_ && reading < reading_) {
    if (wrap_ == Wrap::At32Bits && reading_ < kWrap && reading_ - reading > kWrap / 2) {
      carried_ += kWrap;
    } else if (!is_new_ && reading >= reading_ / 2) {
      return;
    } else {
      carried_ += reading_;
    }
  }
  reading_ = reading;
  is_new_ = false;
}

void Counter::flush() {
  if (told_ && told_->t_ns != seen_.t_ns) {
    tell(seen_, 0, record::kUnknownReal);
  }
}

void Counter::tell(const Point& point, std::int64_t span_ns, double growth_per_s) {
  track_.push(record::CounterSample{.t_ns = point.t_ns,
                                    .bin_ns = span_ns,
                                    .value = static_cast<double>(point.value),
                                    .peak_per_s = growth_per_s});
  told_ = point;
}

void Level::see(std::int64_t now_ns, double value) {
  if (!told_ || std::abs(value - *told_) > tolerance_) {
    track_.push(record::GaugeSample{.t_ns = now_ns, .value = value, .peak = value});
    told_ = value;
  }
}

void Share::see(std::int64_t now_ns, std::int64_t span_ns, double value) {
  latest_ = value;
  if (pending_.merged > 0 && (std::abs(value - pending_.value) > tolerance_ ||
                              pending_.bin_ns + span_ns > kLongestSilenceNs)) {
    flush();
  }
  if (pending_.merged == 0) {
    pending_ = {.t_ns = now_ns, .bin_ns = span_ns, .merged = 1, .value = value, .peak = value};
    return;
  }
  const auto count = static_cast<double>(pending_.merged);
  pending_.value = (pending_.value * count + value) / (count + 1);
  pending_.peak = std::max(pending_.peak, value);
  pending_.bin_ns += now_ns - pending_.t_ns;
  pending_.t_ns = now_ns;
  ++pending_.merged;
}

void Share::flush() {
  if (pending_.merged > 0) {
    track_.push(pending_);
    pending_.merged = 0;
  }
}

}  // namespace chokepoint::capture::counter
