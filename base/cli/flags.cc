#include "base/cli/flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <type_traits>

#include "base/cli/spelling.h"

namespace chokepoint::cli {
namespace {

// A flag whose text is turned into a value by a parser that may refuse it.
template <class T, class Parser>
std::function<Result<>(const std::string&)> stored(T* target, Parser parser) {
  return [=](const std::string& text) -> Result<> {
    auto value = parser(text);
    if (!value) {
      return std::unexpected(value.error());
    }
    *target = *value;
    return {};
  };
}

template <class T>
Result<T> parse_number(const std::string& text, std::string_view what) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return fail(ErrorKind::Usage, "", text, fmt::format("not {}", what));
  }
  return value;
}

}  // namespace

Flags& Flags::group(std::string title) {
  groups_.push_back({std::move(title), {}});
  return *this;
}

Flag& Flags::add(std::string_view name, std::string value, std::string help) {
  if (groups_.empty()) {
    group("Options");
  }
  Flag flag;
  const std::size_t comma = name.find(',');
  flag.name = name.substr(0, comma);
  flag.letter = comma == std::string_view::npos ? '\0' : name[comma + 1];
  flag.value = std::move(value);
  flag.help = std::move(help);
  return groups_.back().flags.emplace_back(std::move(flag));
}

Flags& Flags::toggle(std::string_view name, bool* target, std::string help) {
  add(name, "", std::move(help)).store = [target](const std::string&) -> Result<> {
    *target = true;
    return {};
  };
  return *this;
}

Flags& Flags::option(std::string_view name, std::string* target, std::string value,
                     std::string help) {
  Flag& flag = add(name, std::move(value), std::move(help));
  flag.default_text = *target;
  flag.store = [target](const std::string& text) -> Result<> {
    *target = text;
    return {};
  };
  return *this;
}

Flags& Flags::option(std::string_view name, std::vector<std::string>* target, std::string value,
                     std::string help) {
  Flag& flag = add(name, std::move(value), std::move(help));
  flag.repeats = true;
  flag.store = [target](const std::string& text) -> Result<> {
    target->push_back(text);
    return {};
  };
  return *this;
}

Flags& Flags::option(std::string_view name, std::int64_t* target, std::string value,
                     std::string help, std::int64_t least, std::int64_t most) {
  Flag& flag = add(name, std::move(value), std::move(help));
  flag.default_text = fmt::format("{}", *target);
  flag.store = stored(target, [=](const std::string& text) -> Result<std::int64_t> {
    Result<std::int64_t> number = parse_number<std::int64_t>(text, "a whole number");
    if (number && (*number < least || *number > most)) {
      return fail(ErrorKind::Usage, "", text, "out of range",
                  fmt::format("give {} to {}", least, most));
    }
    return number;
  });
  return *this;
}

Flags& Flags::option(std::string_view name, double* target, std::string value, std::string help) {
  Flag& flag = add(name, std::move(value), std::move(help));
  flag.default_text = fmt::format("{}", *target);
  flag.store = stored(
      target, [](const std::string& text) { return parse_number<double>(text, "a number"); });
  return *this;
}

Flags& Flags::option(std::string_view name, math::Bytes* target, std::string value,
                     std::string help) {
  Flag& flag = add(name, std::move(value), std::move(help));
  flag.default_text =
      target->count == 0 ? "" : math::format_bytes(static_cast<double>(target->count));
  flag.store = stored(target, math::parse_bytes);
  return *this;
}

Flags& Flags::option(std::string_view name, math::Rate* target, std::string value,
                     std::string help) {
  Flag& flag = add(name, std::move(value), std::move(help));
  flag.default_text =
      target->bits_per_second == 0 ? "" : math::format_rate(target->bits_per_second);
  flag.store = stored(target, math::parse_rate);
  return *this;
}

Flags& Flags::option(std::string_view name, std::chrono::nanoseconds* target, std::string value,
                     std::string help) {
  Flag& flag = add(name, std::move(value), std::move(help));
  flag.default_text = target->count() == 0 ? "" : math::format_duration(*target);
  flag.store = stored(target, math::parse_duration);
  return *this;
}

Flags& Flags::choice(std::string_view name, std::string* target, std::vector<std::string> choices,
                     std::string help) {
  Flag& flag = add(name, fmt::format("{}", fmt::join(choices, "|")), std::move(help));
  flag.default_text = *target;
  flag.choices = choices;
  flag.store = [target, choices = std::move(choices)](const std::string& text) -> Result<> {
    if (std::ranges::find(choices, text) == choices.end()) {
      const std::string near = nearest(text, choices);
      return fail(ErrorKind::Usage, "", text, "not one of the choices",
                  near.empty() ? fmt::format("give {}", fmt::join(choices, " or "))
                               : fmt::format("did you mean '{}'?", near));
    }
    *target = text;
    return {};
  };
  return *this;
}

Flags& Flags::positional(std::string name, std::string* target, std::string help, bool required) {
  positionals_.push_back({.name = std::move(name),
                          .help = std::move(help),
                          .required = required,
                          .store = [target](const std::string& text) -> Result<> {
                            *target = text;
                            return {};
                          }});
  return *this;
}

Flags& Flags::positional(std::string name, std::vector<std::string>* target, std::string help,
                         bool required) {
  positionals_.push_back({.name = std::move(name),
                          .help = std::move(help),
                          .required = required,
                          .repeats = true,
                          .store = [target](const std::string& text) -> Result<> {
                            target->push_back(text);
                            return {};
                          }});
  return *this;
}

Flags& Flags::rest(std::string name, std::vector<std::string>* target, std::string help,
                   bool required) {
  positional(std::move(name), target, std::move(help), required);
  positionals_.back().verbatim = true;
  return *this;
}

}  // namespace chokepoint::cli
