#include "base/steps/line_forms.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/sys/number.h"

namespace chokepoint::steps {
namespace {

// What the named groups matched; empty for a group that does not exist or matched nothing.
struct Groups {
  std::size_t begin = 0;  // of the match
  std::string_view step = {};
  std::string_view total = {};
  std::string_view samples = {};
  std::string_view sample_count = {};
  std::string_view seconds = {};
  std::string_view ms = {};
};

constexpr std::int64_t kMaxExpressionBytes = 4 << 20;
constexpr std::size_t kMaxCapturingGroups = 16;

using Member = std::string_view Groups::*;
constexpr std::array<std::pair<std::string_view, Member>, 6> kGroups = {{
    {"step", &Groups::step},
    {"total", &Groups::total},
    {"samples", &Groups::samples},
    {"sample_count", &Groups::sample_count},
    {"seconds", &Groups::seconds},
    {"ms", &Groups::ms},
}};

Member member_of(std::string_view name) {
  const auto* group = std::ranges::find(kGroups, name, &std::pair<std::string_view, Member>::first);
  return group == kGroups.end() ? nullptr : group->second;
}

std::unexpected<Error> mistake(const std::string& pattern, const std::string& reason) {
  return fail(ErrorKind::Usage, "", "'" + pattern + "'", reason,
              "named groups are (?P<step>…), (?P<samples>…), (?P<seconds>…), (?P<ms>…)");
}

// A regular expression with named groups: linear in the length of the line and bounded in memory,
// whatever the expression. Immutable.
class Expression {
 public:
  enum class Text { Utf8, Bytes };

  static Result<Expression> make(const std::string& pattern, Text text) {
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(kMaxExpressionBytes);
    options.set_encoding(text == Text::Utf8 ? re2::RE2::Options::EncodingUTF8
                                            : re2::RE2::Options::EncodingLatin1);
    auto expression = std::make_unique<re2::RE2>(pattern, options);
    if (!expression->ok()) {
      return mistake(pattern, expression->error());
    }
    if (expression->NumberOfCapturingGroups() >= static_cast<int>(kMaxCapturingGroups)) {
      return mistake(pattern, "too many groups");
    }
    for (const auto& [name, index] : expression->NamedCapturingGroups()) {
      if (member_of(name) == nullptr) {
        return mistake(pattern, "no group is called '" + name + "'");
      }
    }
    return Expression(std::move(expression));
  }

  std::optional<Groups> match(std::string_view line) const {
    std::array<re2::StringPiece, kMaxCapturingGroups> found;
    const re2::StringPiece text(line.data(), line.size());
    const int count = expression_->NumberOfCapturingGroups() + 1;
    if (!expression_->Match(text, 0, text.size(), re2::RE2::UNANCHORED, found.data(), count)) {
      return std::nullopt;
    }
    Groups groups{.begin = static_cast<std::size_t>(found[0].data() - line.data())};
    for (const auto& [name, index] : expression_->NamedCapturingGroups()) {
      const re2::StringPiece& piece = found.at(static_cast<std::size_t>(index));
      groups.*member_of(name) = {piece.data(), piece.size()};
    }
    return groups;
  }

  bool counts() const { return has_step_; }  // has a group for the step's number

 private:
  explicit Expression(std::unique_ptr<re2::RE2> expression)
      : expression_(std::move(expression)),
        has_step_(expression_->NamedCapturingGroups().contains("step")) {}

  std::unique_ptr<re2::RE2> expression_;
  bool has_step_ = false;
};

std::optional<double> mean_seconds(const Groups& groups) {
  if (const auto seconds = sys::parse_non_negative<double>(groups.seconds)) {
    return seconds;
  }
  const auto ms = sys::parse_non_negative<double>(groups.ms);
  return ms ? std::optional(*ms / 1e3) : std::nullopt;
}

// A user's own expression: one series, whatever the rest of the line.
class OwnForm final : public LineForms {
 public:
  explicit OwnForm(Expression expression) : expression_(std::move(expression)) {}

  std::optional<ParsedLine> parse(std::string_view line) const override {
    const std::optional<Groups> groups = expression_.match(line);
    if (!groups) {
      return std::nullopt;
    }
    ParsedLine result{.number = sys::parse_non_negative<std::int64_t>(groups->step),
                      .samples = sys::parse_non_negative<std::int64_t>(groups->samples),
                      .sample_count = sys::parse_non_negative<std::int64_t>(groups->sample_count),
                      .mean_seconds = mean_seconds(*groups)};
    const bool lacks_number = expression_.counts() && !result.number;
    return lacks_number ? std::nullopt : std::optional(result);
  }

  std::optional<ParsedLine> parse_open(std::string_view) const override { return std::nullopt; }

 private:
  Expression expression_;
};

struct KnownForm {
  const char* pattern;
  bool is_bar = false;  // valid before its line has ended
};

// The most specific first.
constexpr std::array kKnown = {
    // tqdm, and with it Lightning, HF Trainer, ColossalAI:  40%|████ | 20/50 [00:01<00:02, …
    KnownForm{R"(\d+%\|[^|]*\|\s*(?P<step>\d+)/(?P<total>\d+) \[)", true},
    // rich, and with it Lightning's other bar: Epoch 0/9 ━━━━╺━━ 115/938 0:00:01 • …
    KnownForm{"\xe2\x94\x81\\s*(?P<step>\\d+)/(?P<total>\\d+)\\s+\\d+:\\d\\d:\\d\\d", true},
    // Keras: 10/100 [==>.......] - ETA: 5s
    KnownForm{R"(^\s*(?P<step>\d+)/(?P<total>\d+) \[[=>.]+\])", true},
    // PyTorch's MNIST example: Train Epoch: 1 [640/60000 (1%)]
    KnownForm{R"((?i:train epoch): ?\d+ \[\s*(?P<sample_count>\d+)/(?P<total>\d+) \()"},
    // PyTorch's ImageNet example, torchvision, MMEngine: Epoch: [0][  10/5005]
    KnownForm{R"((?i:epoch)[^\[\]]*\[\d+\]\s*\[\s*(?P<step>\d+)/(?P<total>\d+)\])"},
    // Megatron-LM
    KnownForm{R"((?i:iteration)\s+(?P<step>\d+)/\s*(?P<total>\d+) \|)"
              R"((?:.*elapsed time per iteration \(ms\): *(?P<ms>[0-9.]+))?)"},
    // DeepSpeed
    KnownForm{R"(\bsteps: (?P<step>\d+) loss: .*iter time \(s\): *(?P<seconds>[0-9.]+))"},
    // step 17, step=17, "step": 17, iter 17/100
    KnownForm{R"((?i:(?:\b|_)(?:step|iteration|iter|batch)s?)["']?\s*[:=#]?\s*[\[(]?\s*)"
              R"((?P<step>\d+)(?:\s*/\s*(?P<total>\d+))?(?:[^\w.%]|\.\s|\.?$))"},
    // [17/100]
    KnownForm{R"((?:^|\s)\[\s*(?P<step>\d+)/(?P<total>\d+)\])"},
};

// Words before the number which show that something else than steps is counted.
constexpr const char* kOther =
    R"((?i)\b(?:val|valid\w*|eval\w*|test|testing|sanity|predict\w*|infer\w*|download\w*|load\w*|)"
    R"(fetch\w*|token\w*|map|filter|\w*process\w*|extract\w*|generat\w*|build\w*|compil\w*|)"
    R"(sampling|saving|shards?|total|max|num|warm\w*|every)(?:[^./\w]|$)|\bepochs?\s*:?\s*$)";

constexpr std::size_t kMaxLabelBytes = 48;

std::string_view label_of(std::string_view line, std::size_t begin) {
  const std::size_t from = begin > kMaxLabelBytes ? begin - kMaxLabelBytes : 0;
  return line.substr(from, begin - from);
}

bool is_letter(char byte) { return std::isalpha(static_cast<unsigned char>(byte)) != 0; }

// The letters of a label, which distinguish bars and kinds of lines; its numbers change.
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

  std::optional<ParsedLine> parse(std::string_view line) const override {
    return first(line, false);
  }
  std::optional<ParsedLine> parse_open(std::string_view line) const override {
    return first(line, true);
  }

 private:
  std::optional<ParsedLine> first(std::string_view line, bool only_bars) const {
    if (std::ranges::none_of(line, [](char byte) { return byte >= '0' && byte <= '9'; })) {
      return std::nullopt;
    }
    std::vector<int> matching;
    any_->Match(re2::StringPiece(line.data(), line.size()), &matching);
    std::ranges::sort(matching);
    for (const int index : matching) {
      const auto form = static_cast<std::size_t>(index);
      if (kKnown.at(form).is_bar || !only_bars) {
        return parse_form(form, line);
      }
    }
    return std::nullopt;
  }

  std::optional<ParsedLine> parse_form(std::size_t form, std::string_view line) const {
    const std::optional<Groups> groups = forms_[form].match(line);
    if (!groups || other_.match(label_of(line, groups->begin))) {
      return std::nullopt;
    }
    ParsedLine result{.number = sys::parse_non_negative<std::int64_t>(groups->step),
                      .sample_count = sys::parse_non_negative<std::int64_t>(groups->sample_count),
                      .mean_seconds = mean_seconds(*groups)};
    result.series =
        std::hash<std::string>()(words_of(label_of(line, groups->begin)) + '/' +
                                 std::string(groups->total) + '/' + std::to_string(form));
    return result.number || result.sample_count ? std::optional(result) : std::nullopt;
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
  for (const KnownForm& known : kKnown) {
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

}  // namespace chokepoint::steps
