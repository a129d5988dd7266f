#include "capture/step/output_steps.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "capture/step/count_sequence.h"
#include "capture/step/line_forms.h"
#include "capture/step/lines.h"

namespace chokepoint::capture::step {
namespace {

constexpr std::size_t kMostStreams = 4;
constexpr std::size_t kMostSeries = 16;
constexpr std::int64_t kSilentNs = 60'000'000'000;  // so long, and another may take its place

struct Series {
  std::uint64_t id = 0;
  CountSequence sequence = {};
  std::int64_t counted = 0;  // for lines without a number
  std::int64_t rows = 0;
  std::int64_t seen_ns = 0;
};

class FromOutput final : public OutputSteps {
 public:
  FromOutput(std::unique_ptr<LineForms> forms, std::optional<std::int64_t> samples_per_step)
      : forms_(std::move(forms)), samples_per_step_(samples_per_step) {}

  void take(std::int64_t t_ns, int stream, std::string_view bytes, const OnStep& on_step) override {
    Lines& lines = streams_[static_cast<std::size_t>(stream) % kMostStreams];
    lines.take(bytes, [&](std::string_view line) { take_line(t_ns, forms_->told(line)); });
    if (!lines.open().empty()) {
      take_line(t_ns, forms_->told_by_open(lines.open()));
    }
    for (Series& series : series_) {
      if (const std::optional<Step> step = series.sequence.end_piece(t_ns)) {
        ++series.rows;
        report(series, *step, on_step);
      }
    }
  }

 private:
  void take_line(std::int64_t t_ns, const std::optional<Told>& told) {
    if (!told || (told->sample_count && !samples_per_step_)) {
      return;
    }
    Series& series = find(told->series, t_ns);
    series.seen_ns = t_ns;
    series.sequence.take(t_ns, {.number = number_of(*told, series),
                                .samples = told->samples,
                                .mean_seconds = told->mean_seconds});
  }

  std::int64_t number_of(const Told& told, Series& series) const {
    if (told.number) {
      return *told.number;
    }
    return told.sample_count ? *told.sample_count / *samples_per_step_ : ++series.counted;
  }

  Series& find(std::uint64_t id, std::int64_t t_ns) {
    const auto found = std::ranges::find(series_, id, &Series::id);
    if (found != series_.end()) {
      return *found;
    }
    if (series_.size() == kMostSeries) {
      series_.erase(std::ranges::min_element(series_, {}, &Series::seen_ns));
    }
    series_.push_back({.id = id, .seen_ns = t_ns});
    return series_.back();
  }

  // Only one is believed, and nothing is told twice where another takes its place.
  void report(const Series& series, const Step& step, const OnStep& on_step) {
    const auto leader = std::ranges::find(series_, leader_, &Series::id);
    if (leader == series_.end() || series.rows > leader->rows ||
        step.end_ns - leader->seen_ns > kSilentNs) {
      leader_ = series.id;
    }
    if (series.id == leader_ && step.start_ns >= told_until_ns_) {
      told_until_ns_ = step.end_ns;
      on_step(step);
    }
  }

  std::unique_ptr<LineForms> forms_;
  std::optional<std::int64_t> samples_per_step_;
  std::array<Lines, kMostStreams> streams_ = {};
  std::vector<Series> series_ = {};
  std::optional<std::uint64_t> leader_ = {};
  std::int64_t told_until_ns_ = 0;
};

}  // namespace

Result<std::unique_ptr<OutputSteps>> OutputSteps::make(
    const std::string& expression, std::optional<std::int64_t> samples_per_step) {
  TRY(std::unique_ptr<LineForms> forms, LineForms::make(expression));
  return std::make_unique<FromOutput>(std::move(forms), samples_per_step);
}

}  // namespace chokepoint::capture::step
