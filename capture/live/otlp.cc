#include "capture/live/otlp.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <utility>

#include "base/sys/signals.h"
#include "capture/live/line.h"
#include "capture/live/metrics.h"

namespace chokepoint::capture::live {
namespace {

constexpr std::chrono::seconds kSendEvery{10};
constexpr std::chrono::seconds kSendTimeout{4};
// Of all that is sent at the job's end: half of the time that a job's end may take in all.
constexpr std::chrono::seconds kLastSendTimeout{1};
constexpr std::size_t kMaxStepsWaiting = 16'384;

}  // namespace

Result<> OtlpSender::check(const std::string& url) {
  TRY(otlp::Collector::of(url));
  return {};
}

Result<std::unique_ptr<OtlpSender>> OtlpSender::open(const std::string& url, const std::string& run,
                                                     const sys::Clock& clock) {
  TRY(otlp::Collector collector, otlp::Collector::of(url));
  return std::unique_ptr<OtlpSender>(new OtlpSender(std::move(collector), run, clock));
}

OtlpSender::OtlpSender(otlp::Collector collector, std::string run, const sys::Clock& clock)
    : collector_(std::move(collector)),
      run_(std::move(run)),
      clock_(clock),
      began_ns_(clock.monotonic_ns()),
      abort_(::eventfd(0, EFD_CLOEXEC)) {
  const sys::SignalsHeld held;
  thread_ = std::thread([this] { work(); });
}

OtlpSender::~OtlpSender() { finish(); }

void OtlpSender::take(const step::Step& step) {
  const std::lock_guard lock(mutex_);
  if (steps_.size() >= kMaxStepsWaiting) {
    steps_.erase(steps_.begin(), steps_.begin() + kMaxStepsWaiting / 2);
    loss_reason_ = "steps ended faster than they could be sent";
  }
  steps_.push_back(step);
}

void OtlpSender::update(const Figures& figures) {
  const std::lock_guard lock(mutex_);
  figures_ = figures;
}

void OtlpSender::finish() {
  {
    std::unique_lock lock(mutex_);
    is_stopping_ = true;
    changed_.notify_all();
    if (!changed_.wait_for(lock, kLastSendTimeout, [&] { return is_over_; })) {
      ::eventfd_write(abort_.get(), 1);
    }
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

// A remark is written to the record once for each text, so it counts nothing.
std::string OtlpSender::remark() const {
  const std::lock_guard lock(mutex_);
  return loss_reason_.empty() ? "" : "OTLP: not all reached the collector: " + loss_reason_;
}

void OtlpSender::work() {
  std::unique_lock lock(mutex_);
  for (bool is_last = false; !is_last;) {
    changed_.wait_for(lock, kSendEvery, [&] { return is_stopping_; });
    is_last = is_stopping_;
    const std::vector<step::Step> steps = std::exchange(steps_, {});
    const Figures figures = figures_;
    lock.unlock();
    send(steps, figures, is_last);
    lock.lock();
  }
  is_over_ = true;
  changed_.notify_all();
}

std::int64_t OtlpSender::wall_ns(std::int64_t t_ns) const {
  return clock_.wall_ns() - (clock_.monotonic_ns() - t_ns);
}

std::vector<otlp::Span> OtlpSender::spans_of(const std::vector<step::Step>& steps,
                                             const Figures& figures, bool is_last) const {
  const otlp::Id trace = otlp::trace_of(run_);
  const std::uint64_t parent = otlp::span_of(run_ + " node " + figures.node);
  std::vector<otlp::Span> spans;
  // The best source that is known by now, as the live line shows it.
  for (const step::Step& step : steps) {
    if (step.source != figures.steps.source) {
      continue;
    }
    otlp::Attributes attributes{{"chokepoint.node", figures.node},
                                {"chokepoint.step.source", std::string(name_of(step.source))}};
    if (step.number) {
      attributes.emplace_back("chokepoint.step.number", *step.number);
    }
    if (step.rank) {
      attributes.emplace_back("chokepoint.rank", std::int64_t{*step.rank});
    }
    if (step.merged > 1) {
      attributes.emplace_back("chokepoint.step.merged", step.merged);
    }
    spans.push_back(
        {.trace = trace,
         .id = otlp::span_of(fmt::format("{} {} {} {} {}", run_, figures.node, step.start_ns,
                                         step.number.value_or(-1), step.rank.value_or(-1))),
         .parent = parent,
         .name = "step",
         .start_ns = wall_ns(step.start_ns),
         .end_ns = wall_ns(step.end_ns),
         .attributes = std::move(attributes)});
  }
  if (is_last) {
    spans.push_back({.trace = trace,
                     .id = parent,
                     .name = "node " + figures.node,
                     .start_ns = wall_ns(began_ns_),
                     .end_ns = clock_.wall_ns(),
                     .attributes = {{"chokepoint.node", figures.node}}});
  }
  return spans;
}

void OtlpSender::send(const std::vector<step::Step>& steps, const Figures& figures, bool is_last) {
  otlp::Resource resource{.attributes = {{"service.name", std::string("chokepoint")},
                                         {"chokepoint.run", run_},
                                         {"host.name", figures.node}},
                          .program_version = figures.program_version};
  for (const auto& [key, value] : figures.labels) {
    resource.attributes.emplace_back("chokepoint.label." + key, value);
  }
  const auto points = otlp::points_of(metrics_of(figures), wall_ns(began_ns_), clock_.wall_ns());
  if (!points.empty() && collector_.takes(otlp::Signal::Metrics)) {
    send_document(otlp::Signal::Metrics,
                  otlp::metrics_document(resource, points, otlp::Form::Protobuf));
  }
  if (!collector_.takes(otlp::Signal::Traces)) {
    return;
  }
  const std::vector<otlp::Span> spans = spans_of(steps, figures, is_last);
  for (std::size_t at = 0; at < spans.size(); at += otlp::kSpansOfDocument) {
    const auto from = spans.begin() + static_cast<std::ptrdiff_t>(at);
    const auto count = std::min(otlp::kSpansOfDocument, spans.size() - at);
    const std::vector<otlp::Span> part(from, from + static_cast<std::ptrdiff_t>(count));
    if (!send_document(otlp::Signal::Traces,
                       otlp::traces_document(resource, part, otlp::Form::Protobuf))) {
      return;  // each of the others would wait as long
    }
  }
}

net::Deadline OtlpSender::deadline() const { return net::Deadline::of(kSendTimeout, abort_.get()); }

bool OtlpSender::send_document(otlp::Signal signal, const std::string& document) {
  const Result<> sent = collector_.send(signal, document, deadline());
  if (!sent) {
    const std::lock_guard lock(mutex_);
    loss_reason_ = sent.error().kind == ErrorKind::Interrupted ? "the job ended meanwhile"
                                                               : describe(sent.error());
  }
  return sent.has_value();
}

}  // namespace chokepoint::capture::live
