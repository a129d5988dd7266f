#include "capture/counter/sink.h"

namespace chokepoint::capture::counter {

Track Sink::track(const SeriesName& name, record::SeriesKind kind) {
  return {*writer_, producer_, name, kind};
}

Counter& Sink::counter(const SeriesName& name, Keep keep, Wrap wrap) {
  return counters_
      .try_emplace({name.name, name.subject}, track(name, record::SeriesKind::Counter), keep, wrap)
      .first->second;
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

void Sink::flush() {
  for (auto& [key, counter] : counters_) {
    counter.flush();
  }
  for (auto& [key, share] : shares_) {
    share.flush();
  }
}

}  // namespace chokepoint::capture::counter
