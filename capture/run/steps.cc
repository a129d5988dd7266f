#include "capture/run/steps.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace chokepoint::capture::run {
namespace {

constexpr std::int64_t kEstimateIntervalNs = 2'000'000'000;
constexpr std::size_t kMaxWaiting = 65'536;  // of each kind, between two polls

}  // namespace

Result<std::unique_ptr<Steps>> Steps::make(const Options& options, const sys::Clock& clock,
                                           record::Writer& writer) {
  TRY(std::unique_ptr<step::OutputSteps> output,
      step::OutputSteps::make(options.step_expression, options.samples_per_step));
  std::unique_ptr<Steps> steps(new Steps(options, writer, std::move(output)));
  Result<std::unique_ptr<step::Marks>> marks =
      step::Marks::listen(options.runtime_folder, clock, writer);
  if (marks) {
    steps->marks_ = std::move(*marks);
  } else {
    steps->remark_ = "no marks: " + describe(marks.error());
  }
  return steps;
}

Steps::Steps(const Options& options, record::Writer& writer,
             std::unique_ptr<step::OutputSteps> output)
    : ledger_(writer, options.samples_per_step),
      on_step_([this](const step::Step& step) {
        ledger_.take(step);
        if (listener_) {
          listener_(step);
        }
      }),
      output_(std::move(output)) {}

std::filesystem::path Steps::marks_path() const {
  return marks_ ? marks_->path() : std::filesystem::path();
}

void Steps::take_output(const job::OutputPiece& piece) {
  output_->take(piece.t_ns, piece.stream == job::Stream::Out ? 0 : 1, piece.bytes, on_step_);
}

bool Steps::take_marks(const job::JobProcesses& processes) {
  return marks_ && marks_->take(processes, on_step_);
}

void Steps::take(const record::Collective& collective) {
  const std::lock_guard lock(mutex_);
  if (collectives_.size() < kMaxWaiting) {
    collectives_.push_back(collective);
  }
}

void Steps::take(const step::TaggedCall& call) {
  const std::lock_guard lock(mutex_);
  if (calls_.size() < kMaxWaiting) {
    calls_.push_back(call);
  }
}

void Steps::take(const std::vector<observer::TrafficBin>& bins) {
  const std::lock_guard lock(mutex_);
  if (bins_.size() < kMaxWaiting) {
    bins_.insert(bins_.end(), bins.begin(), bins.end());
  }
}

void Steps::poll(std::int64_t now_ns) {
  std::vector<record::Collective> collectives;
  std::vector<step::TaggedCall> calls;
  std::vector<observer::TrafficBin> bins;
  {
    const std::lock_guard lock(mutex_);
    collectives.swap(collectives_);
    calls.swap(calls_);
    bins.swap(bins_);
  }
  std::ranges::sort(collectives, {}, &record::Collective::start_ns);
  for (const record::Collective& collective : collectives) {
    cycle_.take(collective, on_step_);
  }
  std::ranges::sort(calls, {}, &step::TaggedCall::t_ns);
  for (const step::TaggedCall& call : calls) {
    tagged_.take(call, on_step_);
  }
  for (const observer::TrafficBin& bin : bins) {
    traffic_.add(bin.time_ns, bin.bytes);
  }
  if (now_ns - estimated_ns_ >= kEstimateIntervalNs) {
    estimated_ns_ = now_ns;
    traffic_.estimate(now_ns);
    traffic_.report(now_ns, on_step_);
  }
}

void Steps::finish(std::int64_t now_ns) {
  estimated_ns_ = now_ns - kEstimateIntervalNs;
  poll(now_ns);
  cycle_.finish(on_step_);
  traffic_.report(std::numeric_limits<std::int64_t>::max(), on_step_);
}

}  // namespace chokepoint::capture::run
