#include "capture/step/line_forms.h"

#include <re2/set.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <functional>
#include <utility>
#include <vector>

#include "capture/step/expression.h"

namespace chokepoint::capture::step {
namespace {

template <class T>
std::optional<T> parsed(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = !text.empty() && error == std::errc() && end == text.data() + text.size();
  return is_whole && value >= 0 ? std::optional(value) : std::nullopt;
}

std::optional<double> mean_seconds(const Caught& caught) {
  if (const auto seconds = parsed<double>(caught.seconds)) {
    return seconds;
  }
  const auto ms = parsed<double>(caught.ms);
  return ms ? std::optional(*ms / 1e3) : std::nullopt;
}

// A user's own expression: one series, whatever stands around it.
class OwnForm final : public LineForms {
 public:
  explicit OwnForm(Expression expression) : expression_(std::move(expression)) {}

  std::optional<Told> told(std::string_view line) const override {
    const std::optional<Caught> caught = expression_.match(line);
    if (!caught) {
      return std::nullopt;
    }
    Told told{.number = parsed<std::int64_t>(caught->step),
              .samples = parsed<std::int64_t>(caught->samples),
              .sample_count = parsed<std::int64_t>(caught->sample_count),
              .mean_seconds = mean_seconds(*caught)};
    const bool lacks_number = expression_.counts() && !told.number;
    return lacks_number ? std::nullopt : std::optional(told);
  }

  std::optional<Told> told_by_open(std::string_view) const override { return std::nullopt; }

 private:
  Expression expression_;
};

struct Known {
  const char* pattern;
  bool is_bar = false;  // complete before its line is
};

// The most telling first.
constexpr std::array kKnown = {
    // tqdm, and with it Lightning, HF Trainer, ColossalAI:  40%|████ | 20/50 [00:01<00:02, …
    Known{R"(\d+%\|[^|]*\|\s*(?P<step>\d+)/(?P<total>\d+) \[)", true},
    // rich, and with it Lightning's other bar: Epoch 0/9 ━━━━╺━━ 115/938 0:00:01 • …
    Known{"\xe2\x94\x81\\s*(?P<step>\\d+)/(?P<total>\\d+)\\s+\\d+:\\d\\d:\\d\\d", true},
    // Keras: 10/100 [==>.......] - ETA: 5s
    Known{R"(^\s*(?P<step>\d+)/(?P<total>\d+) \[[=>.]+\])", true},
    // PyTorch's MNIST example: Train Epoch: 1 [640/60000 (1%)]
    Known{R"((?i:train epoch): ?\d+ \[\s*(?P<sample_count>\d+)/(?P<total>\d+) \()"},
    // PyTorch's ImageNet example, torchvision, MMEngine: Epoch: [0][  10/5005]
    Known{R"((?i:epoch)[^\[\]]*\[\d+\]\s*\[\s*(?P<step>\d+)/(?P<total>\d+)\])"},
    // Megatron-LM
    Known{R"((?i:iteration)\s+(?P<step>\d+)/\s*(?P<total>\d+) \|)"
          R"((?:.*elapsed time per iteration \(ms\): *(?P<ms>[0-9.]+))?)"},
    // DeepSpeed
    Known{R"(\bsteps: (?P<step>\d+) loss: .*iter time \(s\): *(?P<seconds>[0-9.]+))"},
    // step 17, step=17, "step": 17, iter 17/100
    Known{R"((?i:(?:\b|_)(?:step|iteration|iter|batch)s?)["']?\s*[:=#]?\s*[\[(]?\s*)"
          R"((?P<step>\d+)(?:\s*/\s*(?P<total>\d+))?(?:[^\w.%]|\.\s|\.?$))"},
    // [17/100]
    Known{R"((?:^|\s)\[\s*(?P<step>\d+)/(?P<total>\d+)\])"},
};

// What counts something else, by the words before the number.
constexpr const char* kOther =
    R"((?i)\b(?:val|valid\w*|eval\w*|test|testing|sanity|predict\w*|infer\w*|download\w*|load\w*|)"
    R"(fetch\w*|token\w*|map|filter|\w*process\w*|extract\w*|generat\w*|build\w*|compil\w*|)"
    R"(sampling|saving|shards?|total|max|num|warm\w*|every)(?:[^./\w]|$)|\bepochs?\s*:?\s*$)";

constexpr std::size_t kMostLabel = 48;

std::string_view label_of(std::string_view line, std::size_t begin) {
  const std::size_t from = begin > kMostLabel ? begin - kMostLabel : 0;
  return line.substr(from, begin - from);
}

bool is_letter(char byte) { return std::isalpha(static_cast<unsigned char>(byte)) != 0; }

// Words tell one bar or kind of line from another; numbers in them change from line to line.
std::string words_of(std::string_view label) {
  std::string words;
  std::size_t word = 0;
  for (const char byte : label) {
    if (is_letter(byte)) {
      words += byte;
      ++word;
    } else {
      words.resize(words.size() - (word == 1 ? 1 : 0));  // an exponent's e
      word = 0;
    }
  }
  return words;
}

class KnownForms final : public LineForms {
 public:
  KnownForms(std::vector<Expression> forms, Expression other, std::unique_ptr<re2::RE2::Set> any)
      : forms_(std::move(forms)), other_(std::move(other)), any_(std::move(any)) {}

  std::optional<Told> told(std::string_view line) const override { return first(line, false); }
  std::optional<Told> told_by_open(std::string_view line) const override {
    return first(line, true);
  }

 private:
  std::optional<Told> first(std::string_view line, bool only_bars) const {
    if (std::ranges::none_of(line, [](char byte) { return byte >= '0' && byte <= '9'; })) {
      return std::nullopt;
    }
    std::vector<int> matching;
    any_->Match(re2::StringPiece(line.data(), line.size()), &matching);
    std::ranges::sort(matching);
    for (const int index : matching) {
      const auto form = static_cast<std::size_t>(index);
      if (kKnown.at(form).is_bar || !only_bars) {
        return told_by(form, line);
      }
    }
    return std::nullopt;
  }

  std::optional<Told> told_by(std::size_t form, std::string_view line) const {
    const std::optional<Caught> caught = forms_[form].match(line);
    if (!caught || other_.match(label_of(line, caught->begin))) {
      return std::nullopt;
    }
    Told told{.form = form,
              .number = parsed<std::int64_t>(caught->step),
              .sample_count = parsed<std::int64_t>(caught->sample_count),
              .mean_seconds = mean_seconds(*caught)};
    told.series = std::hash<std::string>()(words_of(label_of(line, caught->begin)) + '/' +
                                           std::string(caught->total) + '/' + std::to_string(form));
    return told.number || told.sample_count ? std::optional(told) : std::nullopt;
  }

  std::vector<Expression> forms_;
  Expression other_;
  std::unique_ptr<re2::RE2::Set> any_;
};

Result<std::unique_ptr<LineForms>> make_known() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  auto any = std::make_unique<re2::RE2::Set>(options, re2::RE2::UNANCHORED);
  std::vector<Expression> forms;
  for (const Known& known : kKnown) {
    Result<Expression> form = Expression::make(known.pattern, Expression::Text::Bytes);
    if (!form || any->Add(known.pattern, nullptr) < 0) {
      return form ? fail(ErrorKind::Malformed, "", known.pattern, "not understood")
                  : fail(form.error());
    }
    forms.push_back(std::move(*form));
  }
  Result<Expression> other = Expression::make(kOther, Expression::Text::Bytes);
  if (!other || !any->Compile()) {
    return other ? fail(ErrorKind::Exhausted, "", "forms of output", "too large")
                 : fail(other.error());
  }
  return std::make_unique<KnownForms>(std::move(forms), std::move(*other), std::move(any));
}

}  // namespace

Result<std::unique_ptr<LineForms>> LineForms::make(const std::string& expression) {
  if (expression.empty()) {
    return make_known();
  }
  TRY(Expression own, Expression::make(expression, Expression::Text::Utf8));
  return std::make_unique<OwnForm>(std::move(own));
}

}  // namespace chokepoint::capture::step
