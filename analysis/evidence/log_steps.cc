#include "analysis/evidence/log_steps.h"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

#include "base/sys/number.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kMaxSequences = 256;
constexpr std::size_t kMaxPrintedLines = std::size_t{1} << 20;  // of a sequence
constexpr std::size_t kMinPrinted = 8;
constexpr std::int64_t kMaxRise = 100'000;  // a larger one means that another number is printed
constexpr double kMaxStepSeconds = 86'400;
constexpr std::int64_t kSecondNs = 1'000'000'000;
// Clocks of whole seconds are read over spans in which a second is a tenth.
constexpr std::int64_t kMinCoarseNs = 10 * kSecondNs;

enum class Clock : std::uint8_t { Printed, Time, Bar };

struct Moment {
  std::int64_t t_ns = 0;
  std::uint64_t ordinal = 0;
};

}  // namespace

// The words behind which a step's duration stands. Immutable.
class LogSteps::Durations {
 public:
  Durations() {
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_encoding(re2::RE2::Options::EncodingLatin1);
    duration_ = std::make_unique<re2::RE2>(
        R"((?i)(?:^|[^a-z0-9])(?:(?:step|iter|iteration|batch)[_ ]?time|time(?:[_ ]?per[_ ]?)"
        R"((?:step|iter|iteration|batch))?|dt|took|duration)(?:[_ ]?\(?(ms|s|sec)\)?)?["']?\s*[:=]?\s*)"
        R"(([0-9]+\.?[0-9]*(?:e-?[0-9]+)?)\s*(ms|us|s|sec|seconds)?(?:[^a-z0-9:/.%]|$))",
        options);
    bar_ = std::make_unique<re2::RE2>(R"(\[(?:(\d{1,4}):)?(\d{1,2}):(\d\d)<)", options);
  }

  std::optional<double> seconds_in(std::string_view line) const {
    re2::StringPiece before;
    re2::StringPiece value;
    re2::StringPiece behind;
    if (!re2::RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), *duration_, &before,
                                &value, &behind)) {
      return std::nullopt;
    }
    const auto number =
        sys::parse_non_negative<double>(std::string_view(value.data(), value.size()));
    const re2::StringPiece& unit = behind.empty() ? before : behind;
    const std::string_view name(unit.data(), unit.size());
    const double scale = name == "ms" || name == "MS" ? 1e-3 : name == "us" ? 1e-6 : 1;
    return number ? std::optional(*number * scale) : std::nullopt;
  }

  std::optional<std::int64_t> bar_ns_in(std::string_view line) const {
    re2::StringPiece hours;
    re2::StringPiece minutes;
    re2::StringPiece seconds;
    if (!re2::RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), *bar_, &hours, &minutes,
                                &seconds)) {
      return std::nullopt;
    }
    const auto number = [](const re2::StringPiece& text) {
      return sys::parse_number<std::int64_t>(std::string_view(text.data(), text.size()))
          .value_or(0);
    };
    return ((number(hours) * 60 + number(minutes)) * 60 + number(seconds)) * kSecondNs;
  }

 private:
  std::unique_ptr<re2::RE2> duration_;
  std::unique_ptr<re2::RE2> bar_;
};

// One number that rises from line to line, and what the lines say of time.
class LogSteps::Sequence {
 public:
  void add(const CountedLine& line, std::int64_t in_year_ns, std::uint64_t number) {
    const std::int64_t rise = line.number - last_;
    last_ = line.number;
    const bool begins = lines_.empty();
    if (begins || rise <= 0 || rise > kMaxRise) {
      if (rise == 0 && !begins) {
        return;  // printed again
      }
      forget_times();  // a new epoch: what lies between is no step
    }
    const std::uint64_t count =
        begins || rise <= 0 || rise > kMaxRise ? 1 : static_cast<std::uint64_t>(rise);
    ordinal_ += count;
    if (lines_.size() >= kMaxPrintedLines) {
      return;
    }
    const bool has_duration = line.seconds && *line.seconds > 0 && *line.seconds < kMaxStepSeconds;
    Line& own = lines_.emplace_back();
    own.printed = {.line = number,
                   .ordinal = ordinal_,
                   .count = count,
                   .ms = has_duration ? 1e3 * *line.seconds : 0};
    add_clock(line, in_year_ns, own);
  }

  // How many times are known, and the times.
  std::vector<PrintedSteps> take() const {
    std::vector<PrintedSteps> by_duration;
    std::vector<PrintedSteps> by_clock;
    for (const Line& each : lines_) {
      if (each.printed.ms > 0) {
        by_duration.push_back(each.printed);
      }
      if (each.clock_ms > 0) {
        by_clock.push_back(each.printed);
        by_clock.back().count = each.clock_count;
        by_clock.back().ms = each.clock_ms;
      }
    }
    const bool is_elapsed = rises_throughout(by_duration);
    return !is_elapsed && by_duration.size() * 2 >= lines_.size() &&
                   by_duration.size() >= by_clock.size() / 2
               ? by_duration
               : by_clock;
  }

  std::size_t lines() const { return lines_.size(); }

 private:
  struct Line {
    PrintedSteps printed = {};
    double clock_ms = 0;  // of each step since the moment before; 0: not known
    std::uint64_t clock_count = 0;
  };

  void forget_times() { moment_.reset(); }

  // Since the moment before, once enough time has passed for the clock.
  void add_clock(const CountedLine& line, std::int64_t in_year_ns, Line& own) {
    const bool is_bar = in_year_ns < 0 && line.bar_ns;
    const std::int64_t t_ns = is_bar ? *line.bar_ns : in_year_ns;
    if (t_ns < 0) {
      return;
    }
    is_coarse_ = is_coarse_ && t_ns % kSecondNs == 0;
    if (!moment_ || t_ns < moment_->t_ns) {
      moment_ = Moment{t_ns, ordinal_};
      return;
    }
    const std::int64_t passed_ns = t_ns - moment_->t_ns;
    if (passed_ns <= 0 || (is_coarse_ && passed_ns < kMinCoarseNs)) {
      return;
    }
    own.clock_count = ordinal_ - moment_->ordinal;
    own.clock_ms = own.clock_count > 0
                       ? static_cast<double>(passed_ns) / 1e6 / static_cast<double>(own.clock_count)
                       : 0;
    moment_ = Moment{t_ns, ordinal_};
  }

  // Then it is the time since the job began.
  static bool rises_throughout(const std::vector<PrintedSteps>& steps) {
    return steps.size() > 2 && std::ranges::is_sorted(steps, std::less<>(), &PrintedSteps::ms) &&
           steps.back().ms > 2 * steps.front().ms;
  }

  std::vector<Line> lines_;
  std::optional<Moment> moment_;
  std::int64_t last_ = 0;
  std::uint64_t ordinal_ = 0;
  bool is_coarse_ = true;
};

LogSteps::LogSteps() : durations_(std::make_unique<Durations>()) {
  if (auto forms = steps::LineForms::make("")) {
    forms_ = *std::move(forms);
  }
}

LogSteps::~LogSteps() = default;

std::optional<CountedLine> LogSteps::parse(std::string_view line) const {
  const auto parsed = forms_ == nullptr ? std::nullopt : forms_->parse(line);
  if (!parsed || !parsed->number) {
    return std::nullopt;
  }
  return CountedLine{
      .series = parsed->series,
      .number = *parsed->number,
      .seconds = parsed->mean_seconds ? parsed->mean_seconds : durations_->seconds_in(line),
      .bar_ns = durations_->bar_ns_in(line)};
}

void LogSteps::add(const CountedLine& step, std::optional<std::int64_t> rank,
                   std::int64_t in_year_ns, std::uint64_t line) {
  const std::pair key(step.series, rank.value_or(-1));
  if (sequences_.size() < kMaxSequences || sequences_.contains(key)) {
    sequences_[key].add(step, in_year_ns, line);
  }
}

std::vector<PrintedSteps> LogSteps::take() {
  std::vector<PrintedSteps> best;
  for (const auto& [key, sequence] : sequences_) {
    std::vector<PrintedSteps> own = sequence.take();
    if (own.size() > best.size()) {
      best = std::move(own);
    }
  }
  return best.size() >= kMinPrinted ? best : std::vector<PrintedSteps>{};
}

}  // namespace chokepoint::analysis
