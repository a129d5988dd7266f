#include "capture/step/output_steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "base/steps/line_forms.h"

namespace chokepoint::capture::step {
namespace {

using steps::LineForms;
using steps::ParsedLine;

constexpr std::int64_t kMaxRise = 100'000;  // a larger one means that another number is printed
constexpr double kMaxBusyShare = 1.1;       // of the time since the line before

// A number in the job's output that counts its steps, followed from line to line.
//
//   rises by k     k steps, over in the time since the line before
//   stays          the same step, printed again: by another rank, or a bar that is redrawn
//   falls, soon    a rank that is late with its line
//   falls, later   a new epoch, once the number rises from there; between epochs there is no step
//
// Lines of one piece of output have one time, so their steps are merged into one. The duration that
// lines print is used only for merged steps: these may not fill the time since the line before.
class CountSequence {
 public:
  struct Line {
    std::int64_t number = 0;
    std::optional<std::int64_t> samples = {};
    std::optional<double> mean_seconds = {};
  };

  void take(std::int64_t t_ns, const Line& line) {
    const Count count{.t_ns = t_ns, .number = line.number};
    if (!last_ || line.number - last_->number > kMaxRise) {
      begin_at(count);
    } else if (line.number > last_->number) {
      rise(*last_, line);
      last_ = count;
      restart_.reset();
    } else {
      fall(t_ns, line);
    }
  }

  // After the last line of a piece.
  std::optional<Step> end_piece(std::int64_t t_ns) {
    if (risen_ == 0 || t_ns <= base_ns_) {
      return std::nullopt;
    }
    Step step{.start_ns = base_ns_,
              .end_ns = t_ns,
              .number = last_->number,
              .source = record::StepSource::Output,
              .merged = risen_,
              .busy_ns = printed_busy_ns(t_ns - base_ns_)};
    if (samples_ > 0) {
      step.samples = samples_;
    }
    keep_gap(t_ns - base_ns_);
    base_ns_ = t_ns;
    risen_ = 0;
    return step;
  }

 private:
  struct Count {
    std::int64_t t_ns = 0;
    std::int64_t number = 0;
  };

  void begin_at(const Count& count) {
    last_ = count;
    restart_.reset();
    base_ns_ = count.t_ns;
    risen_ = 0;
  }

  void rise(const Count& from, const Line& line) {
    const std::int64_t steps = line.number - from.number;
    if (risen_ == 0) {
      busy_seconds_ = 0;
      samples_ = 0;
    }
    risen_ += steps;
    samples_ += line.samples.value_or(0);
    const bool is_complete = line.mean_seconds && busy_seconds_ >= 0;
    busy_seconds_ =
        is_complete ? busy_seconds_ + *line.mean_seconds * static_cast<double>(steps) : -1;
  }

  // Also if the number stays: an epoch of two steps ends with the number of the epoch before.
  void fall(std::int64_t t_ns, const Line& line) {
    const std::int64_t since_ns = t_ns - last_->t_ns;
    if (since_ns * 2 < usual_gap_ns()) {
      return;
    }
    const bool is_over = line.number < last_->number || since_ns * 2 > usual_gap_ns() * 3;
    if (restart_ && line.number > restart_->number && is_over) {
      const Count from = *restart_;
      begin_at({.t_ns = t_ns, .number = line.number});
      base_ns_ = from.t_ns;
      rise(from, line);
    } else if (line.number < (restart_ ? restart_->number : last_->number)) {
      restart_ = {.t_ns = t_ns, .number = line.number};
    }
  }

  void keep_gap(std::int64_t gap_ns) {
    gaps_ns_.at(gaps_ % gaps_ns_.size()) = gap_ns;
    ++gaps_;
  }

  std::int64_t usual_gap_ns() const {
    const std::size_t held = std::min(gaps_, gaps_ns_.size());
    std::array<std::int64_t, 9> sorted{};
    sorted.fill(INT64_MAX);
    std::copy_n(gaps_ns_.begin(), held, sorted.begin());
    std::ranges::sort(sorted);
    return held == 0 ? 0 : sorted.at(held / 2);
  }

  std::optional<std::int64_t> printed_busy_ns(std::int64_t gap_ns) const {
    const double busy_ns = busy_seconds_ * 1e9;
    const bool is_plausible =
        risen_ > 1 && busy_ns > 0 && busy_ns <= kMaxBusyShare * static_cast<double>(gap_ns);
    return is_plausible ? std::optional(std::llround(busy_ns)) : std::nullopt;
  }

  std::optional<Count> last_;     // the highest number, and when it was first seen
  std::optional<Count> restart_;  // where it fell to, without having risen since
  std::int64_t base_ns_ = 0;      // where the next step begins
  std::int64_t risen_ = 0;        // in this piece
  std::int64_t samples_ = 0;
  double busy_seconds_ = 0;  // of the risen; negative: not all lines print it
  std::array<std::int64_t, 9> gaps_ns_ = {};
  std::size_t gaps_ = 0;
};

// Assembles pieces of output to lines, which end with a line feed or the carriage return of a
// progress bar. Colour codes are left out. Of an endless line the beginning is stored. Fixed
// memory.
class Lines {
 public:
  static constexpr std::size_t kMaxLineBytes = 1'024;

  // Calls `on_line(std::string_view line)` for each line that ends in these bytes.
  template <class OnLine>
  void take(std::string_view bytes, OnLine&& on_line) {
    for (const char byte : bytes) {
      if (byte == '\n' || byte == '\r') {
        if (size_ > 0) {
          on_line(open());
        }
        size_ = 0;
        escape_ = Escape::None;
      } else {
        add(byte);
      }
    }
  }

  // The line that has no end yet. A bar gets its end only when it is redrawn.
  std::string_view open() const { return {line_.data(), size_}; }

 private:
  enum class Escape : std::uint8_t { None, Begun, Control };

  void add(char byte) {
    switch (escape_) {
      case Escape::None:
        if (byte == '\x1b') {
          escape_ = Escape::Begun;
        } else if (size_ < kMaxLineBytes) {
          line_[size_++] = byte;
        }
        return;
      case Escape::Begun:
        escape_ = byte == '[' ? Escape::Control : Escape::None;
        return;
      case Escape::Control:
        escape_ = byte >= '@' && byte <= '~' ? Escape::None : Escape::Control;
        return;
    }
  }

  std::array<char, kMaxLineBytes> line_ = {};
  std::size_t size_ = 0;
  Escape escape_ = Escape::None;
};

constexpr std::size_t kMaxStreams = 4;
constexpr std::size_t kMaxSeries = 16;
constexpr std::int64_t kMaxSilentNs = 60'000'000'000;  // then another series may lead

struct Series {
  std::uint64_t id = 0;
  CountSequence sequence = {};
  std::int64_t counted = 0;  // for lines without a number
  std::int64_t rows = 0;
  std::int64_t seen_ns = 0;
};

class SeriesOutputSteps final : public OutputSteps {
 public:
  SeriesOutputSteps(std::unique_ptr<LineForms> forms, std::optional<std::int64_t> samples_per_step)
      : forms_(std::move(forms)), samples_per_step_(samples_per_step) {}

  void take(std::int64_t t_ns, int stream, std::string_view bytes, const OnStep& on_step) override {
    Lines& lines = streams_[static_cast<std::size_t>(stream) % kMaxStreams];
    lines.take(bytes, [&](std::string_view line) { take_line(t_ns, forms_->parse(line)); });
    if (!lines.open().empty()) {
      take_line(t_ns, forms_->parse_open(lines.open()));
    }
    for (Series& series : series_) {
      if (const std::optional<Step> step = series.sequence.end_piece(t_ns)) {
        ++series.rows;
        report(series, *step, on_step);
      }
    }
  }

 private:
  void take_line(std::int64_t t_ns, const std::optional<ParsedLine>& line) {
    if (!line || (line->sample_count && !samples_per_step_)) {
      return;
    }
    Series& series = find(line->series, t_ns);
    series.seen_ns = t_ns;
    series.sequence.take(t_ns, {.number = number_of(*line, series),
                                .samples = line->samples,
                                .mean_seconds = line->mean_seconds});
  }

  std::int64_t number_of(const ParsedLine& line, Series& series) const {
    if (line.number) {
      return *line.number;
    }
    return line.sample_count ? *line.sample_count / *samples_per_step_ : ++series.counted;
  }

  Series& find(std::uint64_t id, std::int64_t t_ns) {
    const auto found = std::ranges::find(series_, id, &Series::id);
    if (found != series_.end()) {
      return *found;
    }
    if (series_.size() == kMaxSeries) {
      series_.erase(std::ranges::min_element(series_, {}, &Series::seen_ns));
    }
    series_.push_back({.id = id, .seen_ns = t_ns});
    return series_.back();
  }

  // Only the leading series is reported, and no span of time twice if another series takes the
  // lead.
  void report(const Series& series, const Step& step, const OnStep& on_step) {
    const auto leader = std::ranges::find(series_, leader_, &Series::id);
    if (leader == series_.end() || series.rows > leader->rows ||
        step.end_ns - leader->seen_ns > kMaxSilentNs) {
      leader_ = series.id;
    }
    if (series.id == leader_ && step.start_ns >= reported_until_ns_) {
      reported_until_ns_ = step.end_ns;
      on_step(step);
    }
  }

  std::unique_ptr<LineForms> forms_;
  std::optional<std::int64_t> samples_per_step_;
  std::array<Lines, kMaxStreams> streams_ = {};
  std::vector<Series> series_ = {};
  std::optional<std::uint64_t> leader_ = {};
  std::int64_t reported_until_ns_ = 0;
};

}  // namespace

Result<std::unique_ptr<OutputSteps>> OutputSteps::make(
    const std::string& expression, std::optional<std::int64_t> samples_per_step) {
  TRY(std::unique_ptr<LineForms> forms, LineForms::make(expression));
  return std::make_unique<SeriesOutputSteps>(std::move(forms), samples_per_step);
}

}  // namespace chokepoint::capture::step
