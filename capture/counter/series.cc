#include "capture/counter/series.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/record/series_table.h"

namespace chokepoint::capture::counter {
namespace {

constexpr std::int64_t kMaxSilenceNs = 10'000'000'000;
constexpr std::uint64_t kWrap = std::uint64_t{1} << 32;

double per_second(std::uint64_t growth, std::int64_t span_ns) {
  return span_ns > 0 ? static_cast<double>(growth) * 1e9 / static_cast<double>(span_ns) : 0;
}

}  // namespace

std::int64_t Track::register_series() {
  const record::SeriesDescription* row = record::describe_series(name_.name);
  const bool has_unit = !name_.unit.empty() || row == nullptr;
  return writer_->add(record::Series{.name = name_.name,
                                     .subject = name_.subject,
                                     .unit = has_unit ? name_.unit : std::string(row->unit),
                                     .kind = kind_,
                                     .source = name_.source});
}

void Counter::see(std::int64_t now_ns, std::uint64_t reading, bool is_worth_a_row) {
  follow(reading);
  const Point now{now_ns, value()};
  if (!first_) {
    first_ = seen_ = now;
    if (first_row_ == FirstRow::Always) {
      write(now, 0, record::kUnknownReal);
    }
    return;
  }
  growth_per_s_ = per_second(now.value - seen_.value, now_ns - seen_.t_ns);
  const Point& last = written_ ? *written_ : *first_;
  if (now.value != last.value && (is_worth_a_row || now_ns - last.t_ns >= kMaxSilenceNs)) {
    if (!written_ || written_->t_ns != seen_.t_ns) {
      write(seen_, 0, record::kUnknownReal);
    }
    write(now, now_ns - seen_.t_ns, growth_per_s_);
  }
  seen_ = now;
}

// A reading below the one before: the counter wrapped at 32 bits, started again from 0, or the
// kernel summed up its cores while they counted. The last is a small step back, and is ignored.
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
  if (written_ && written_->t_ns != seen_.t_ns) {
    write(seen_, 0, record::kUnknownReal);
  }
}

void Counter::write(const Point& point, std::int64_t span_ns, double growth_per_s) {
  track_.push(record::CounterSample{.t_ns = point.t_ns,
                                    .bin_ns = span_ns,
                                    .value = static_cast<double>(point.value),
                                    .peak_per_s = growth_per_s});
  written_ = point;
}

void Level::see(std::int64_t now_ns, double value) {
  if (!written_ || std::abs(value - *written_) > tolerance_) {
    track_.push(record::GaugeSample{.t_ns = now_ns, .value = value, .peak = value});
    written_ = value;
  }
}

void Share::see(std::int64_t now_ns, std::int64_t span_ns, double value) {
  latest_ = value;
  if (pending_.merged > 0 && (std::abs(value - pending_.value) > tolerance_ ||
                              pending_.bin_ns + span_ns > kMaxSilenceNs)) {
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

Track Sink::track(const SeriesName& name, record::SeriesKind kind) {
  return {*writer_, producer_, name, kind};
}

Counter& Sink::counter(const SeriesName& name, FirstRow first_row, Wrap wrap) {
  const auto [place, is_new] = counters_.try_emplace(
      {name.name, name.subject}, track(name, record::SeriesKind::Counter), first_row, wrap);
  if (is_new) {
    const record::SeriesDescription* row = record::describe_series(name.name);
    if (row != nullptr && !row->metric.name.empty()) {
      metrics_[row].push_back({name.subject, &place->second});
    }
  }
  return place->second;
}

Level& Sink::level(const SeriesName& name, double tolerance) {
  return levels_
      .try_emplace({name.name, name.subject}, track(name, record::SeriesKind::Gauge), tolerance)
      .first->second;
}

Share& Sink::share(const SeriesName& name, double tolerance) {
  return shares_
      .try_emplace({name.name, name.subject}, track(name, record::SeriesKind::Gauge), tolerance)
      .first->second;
}

std::optional<double> Sink::growth_per_s(std::string_view name, const std::string& subject) const {
  const auto found = counters_.find({std::string(name), subject});
  return found == counters_.end() ? std::nullopt : std::optional(found->second.growth_per_s());
}

std::optional<double> Sink::latest_share(std::string_view name, const std::string& subject) const {
  const auto found = shares_.find({std::string(name), subject});
  return found == shares_.end() ? std::nullopt : found->second.latest();
}

void Sink::event(std::int64_t now_ns, std::string_view kind, std::string_view subject,
                 std::string detail) {
  writer_->add(record::Event{.t_ns = now_ns,
                             .kind = std::string(kind),
                             .subject = std::string(subject),
                             .detail = std::move(detail)});
}

void Sink::remark(const std::string& text) {
  if (remarked_.insert(text).second) {
    remarks_.push_back(text);
  }
}

std::vector<SeriesValue> Sink::metrics() const {
  // A device has all of its metrics or none: what is 0 so far is the beginning of a rate.
  std::set<std::pair<std::string_view, std::string_view>> active;  // label, subject
  for (const auto& [row, all] : metrics_) {
    for (const Metric& each : all) {
      if (each.counter->value() > 0) {
        active.emplace(row->metric.label, each.subject);
      }
    }
  }
  std::vector<SeriesValue> values;
  for (const auto& [row, all] : metrics_) {
    const auto first = static_cast<std::ptrdiff_t>(values.size());
    for (const Metric& each : all) {
      if (active.contains({row->metric.label, each.subject})) {
        values.push_back({row, each.subject, static_cast<double>(each.counter->value())});
      }
    }
    if (values.size() - static_cast<std::size_t>(first) > kMaxSubjects) {
      std::ranges::stable_sort(values.begin() + first, values.end(), std::greater(),
                               &SeriesValue::value);
      values.resize(static_cast<std::size_t>(first) + kMaxSubjects);
    }
  }
  return values;
}

void Sink::flush() {
  for (auto& [key, counter] : counters_) {
    counter.flush();
  }
  for (auto& [key, share] : shares_) {
    share.flush();
  }
}

std::vector<bool> busiest_of(const std::vector<std::uint64_t>& growths, std::size_t most) {
  std::vector<std::size_t> order(growths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t count = std::min(most, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count),
                            std::greater(), [&](std::size_t i) { return growths[i]; });
  std::vector<bool> is_busiest(growths.size());
  for (std::size_t i = 0; i < count; ++i) {
    is_busiest[order[i]] = growths[order[i]] > 0;
  }
  return is_busiest;
}

}  // namespace chokepoint::capture::counter
