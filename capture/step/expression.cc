#include "capture/step/expression.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <utility>

namespace chokepoint::capture::step {
namespace {

constexpr std::int64_t kMostMemory = 4 << 20;
constexpr std::size_t kMostCapturingGroups = 16;

using Member = std::string_view Caught::*;
constexpr std::array<std::pair<std::string_view, Member>, 6> kGroups = {{
    {"step", &Caught::step},
    {"total", &Caught::total},
    {"samples", &Caught::samples},
    {"sample_count", &Caught::sample_count},
    {"seconds", &Caught::seconds},
    {"ms", &Caught::ms},
}};

Member member_of(std::string_view name) {
  const auto* group = std::ranges::find(kGroups, name, &std::pair<std::string_view, Member>::first);
  return group == kGroups.end() ? nullptr : group->second;
}

std::unexpected<Error> mistake(const std::string& pattern, const std::string& reason) {
  return fail(ErrorKind::Usage, "", "'" + pattern + "'", reason,
              "named groups are (?P<step>…), (?P<samples>…), (?P<seconds>…), (?P<ms>…)");
}

}  // namespace

Expression::Expression(std::unique_ptr<re2::RE2> expression)
    : expression_(std::move(expression)),
      has_step_(expression_->NamedCapturingGroups().contains("step")) {}
Expression::Expression(Expression&&) noexcept = default;
Expression::~Expression() = default;

Result<Expression> Expression::make(const std::string& pattern, Text text) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMostMemory);
  options.set_encoding(text == Text::Utf8 ? re2::RE2::Options::EncodingUTF8
                                          : re2::RE2::Options::EncodingLatin1);
  auto expression = std::make_unique<re2::RE2>(pattern, options);
  if (!expression->ok()) {
    return mistake(pattern, expression->error());
  }
  if (expression->NumberOfCapturingGroups() >= static_cast<int>(kMostCapturingGroups)) {
    return mistake(pattern, "more groups than anybody needs");
  }
  for (const auto& [name, index] : expression->NamedCapturingGroups()) {
    if (member_of(name) == nullptr) {
      return mistake(pattern, "no group is called '" + name + "'");
    }
  }
  return Expression(std::move(expression));
}

std::optional<Caught> Expression::match(std::string_view line) const {
  std::array<re2::StringPiece, kMostCapturingGroups> found;
  const re2::StringPiece text(line.data(), line.size());
  const int groups = expression_->NumberOfCapturingGroups() + 1;
  if (!expression_->Match(text, 0, text.size(), re2::RE2::UNANCHORED, found.data(), groups)) {
    return std::nullopt;
  }
  Caught caught{.begin = static_cast<std::size_t>(found[0].data() - line.data())};
  for (const auto& [name, index] : expression_->NamedCapturingGroups()) {
    const re2::StringPiece& piece = found.at(static_cast<std::size_t>(index));
    caught.*member_of(name) = {piece.data(), piece.size()};
  }
  return caught;
}

}  // namespace chokepoint::capture::step
