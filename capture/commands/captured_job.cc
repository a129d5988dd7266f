#include "capture/commands/captured_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/record/names.h"
#include "capture/packet/address_text.h"

namespace chokepoint::capture {
namespace {

constexpr std::int64_t kSettleNs = 500'000'000;
constexpr std::int64_t kEstimateNs = 2'000'000'000;  // as run/steps.cc has it

}  // namespace

void CapturedJob::Rhythm::estimate(std::int64_t now_ns) {
  period.estimate(now_ns);
  period.report(now_ns, [this](const step::Step& step) { steps.push_back(step); });
}

void CapturedJob::Rhythm::finish() {
  period.report(std::numeric_limits<std::int64_t>::max(),
                [this](const step::Step& step) { steps.push_back(step); });
}

CapturedJob::CapturedJob(record::Sink& sink, std::int64_t wall_to_monotonic_ns, bool is_live)
    : sink_(sink),
      producer_(sink.producer("job")),
      wall_to_monotonic_ns_(wall_to_monotonic_ns),
      is_live_(is_live),
      collectives_([this](const record::Collective& row) { emitted_.push_back(row); },
                   gloo::Coming::Last) {}

std::int64_t CapturedJob::number_of(const packet::Ends& sending, std::int64_t t_ns) {
  const auto known = hosts_.find(sending.source);
  if (known != hosts_.end() || hosts_.size() == kMaxHosts) {
    return known == hosts_.end() ? 0 : known->second;
  }
  const auto number = static_cast<std::int64_t>(hosts_.size());
  hosts_[sending.source] = number;
  ranks_.push_back({.process = number, .rank = number});
  sink_.add(record::Event{.t_ns = t_ns,
                          .kind = std::string(record::kCapturedHost),
                          .subject = packet::text_of(sending.source, sending.is_ipv6),
                          .detail = fmt::format(R"({{"number":{}}})", number)});
  return number;
}

void CapturedJob::take(const record::Collective& part, std::int64_t end,
                       const packet::Ends& sending, std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  const std::int64_t number = number_of(sending, part.start_ns);
  now_ns += wall_to_monotonic_ns_;
  collectives_.take({.row = part, .end = end, .process = number}, now_ns);
  settle(now_ns);
}

void CapturedJob::settle(std::int64_t now_ns) {
  if (now_ns - settled_ns_ < kSettleNs) {
    return;
  }
  settled_ns_ = now_ns;
  collectives_.settle(ranks_, now_ns);
  pass_on(false);
}

void CapturedJob::pass_on(bool is_all) {
  if (!is_all && emitted_.empty()) {
    return;
  }
  std::ranges::sort(emitted_, {}, &record::Collective::start_ns);
  for (const record::Collective& row : emitted_) {
    push(row);
    cycle_.take(row, [this](const step::Step& step) { push_step(step); });
  }
  emitted_.clear();
}

void CapturedJob::take(const std::vector<observer::TrafficBin>& bins) {
  const std::lock_guard lock(mutex_);
  for (const observer::TrafficBin& bin : bins) {
    const std::int64_t t_ns = bin.time_ns + wall_to_monotonic_ns_;
    if (bin.bytes > 0) {
      of_gloo_.period.add(t_ns, bin.bytes);
    }
    of_all_.period.add(t_ns, bin.all_bytes);
    if (t_ns - estimated_ns_ >= kEstimateNs) {
      estimated_ns_ = t_ns;
      of_gloo_.estimate(t_ns);
      of_all_.estimate(t_ns);
    }
  }
}

void CapturedJob::finish() {
  const std::lock_guard lock(mutex_);
  collectives_.settle(ranks_, settled_ns_);
  collectives_.finish();
  pass_on(true);
  cycle_.finish([this](const step::Step& step) { push_step(step); });
  for (Rhythm* const rhythm : {&of_gloo_, &of_all_}) {
    rhythm->estimate(estimated_ns_);
    rhythm->finish();
  }
  for (const step::Step& step : hosts_.empty() ? of_all_.steps : of_gloo_.steps) {
    push_step(step);
  }
}

void CapturedJob::push(const auto& row) {
  while (!is_live_ && producer_.is_full<std::remove_cvref_t<decltype(row)>>()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  producer_.push(row);
}

void CapturedJob::push_step(const step::Step& step) {
  if (step.end_ns <= step.start_ns || step.merged < 1) {
    return;
  }
  std::int64_t& count = counts_[{step.rank.value_or(-1), step.source}];
  record::Step row{.start_ns = step.start_ns,
                   .end_ns = step.end_ns,
                   .merged = step.merged,
                   .number = step.number.value_or(count),
                   .source = step.source};
  count += step.merged;
  if (step.rank) {
    row.rank = *step.rank;
  }
  if (step.busy_ns) {
    row.busy_ns = *step.busy_ns;
  }
  push(row);
}

}  // namespace chokepoint::capture
