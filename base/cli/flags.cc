#include "base/cli/flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>

#include <boost/program_options.hpp>

#include "base/cli/text.h"
#include "base/sys/number.h"

namespace chokepoint::cli {
namespace {

// A flag whose text is turned into a value by a parser that may refuse it.
template <class T, class Parser>
std::function<Result<>(const std::string&)> stored(T* target, Parser parser) {
  return [=](const std::string& text) -> Result<> {
    TRY(auto value, parser(text));
    *target = value;
    return {};
  };
}

template <class T>
Result<T> parse_number(const std::string& text, std::string_view what) {
  const std::optional<T> value = sys::parse_number<T>(text);
  return value ? Result<T>(*value) : fail(ErrorKind::Usage, "", text, fmt::format("not {}", what));
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

namespace {

namespace po = boost::program_options;

std::unexpected<Error> misuse(std::string_view subject, std::string_view reason,
                              std::string_view next_step) {
  return fail(ErrorKind::Usage, "", subject, reason, next_step);
}

po::options_description described(const Flags& flags) {
  po::options_description description;
  for (const FlagGroup& group : flags.groups()) {
    for (const Flag& flag : group.flags) {
      const std::string name = flag.letter == 0 ? flag.name : flag.name + "," + flag.letter;
      // A switch is told from an option by its placeholder: only options have one.
      const po::value_semantic* semantic =
          flag.value.empty() ? static_cast<po::value_semantic*>(new po::untyped_value(true))
                             : po::value<std::string>();
      description.add_options()(name.c_str(), semantic, flag.help.c_str());
    }
  }
  return description;
}

const Flag* find(const Flags& flags, const std::string& name) {
  for (const FlagGroup& group : flags.groups()) {
    const auto flag = std::ranges::find(group.flags, name, &Flag::name);
    if (flag != group.flags.end()) {
      return &*flag;
    }
  }
  return nullptr;
}

std::unexpected<Error> unknown(const Flags& flags, const std::string& typed) {
  std::vector<std::string> names;
  for (const FlagGroup& group : flags.groups()) {
    for (const Flag& flag : group.flags) {
      names.push_back("--" + flag.name);
    }
  }
  const std::string near = nearest(typed, names);
  return misuse(typed, "unknown option",
                near.empty() ? "--help lists them" : fmt::format("did you mean '{}'?", near));
}

Result<> store_flags(const Flags& flags, const po::parsed_options& parsed) {
  for (const po::option& option : parsed.options) {
    if (option.position_key >= 0) {
      continue;
    }
    const Flag* flag = find(flags, option.string_key);
    if (flag == nullptr) {
      return unknown(flags, "--" + option.string_key);
    }
    const Result<> stored = flag->store(option.value.empty() ? "" : option.value.front());
    if (!stored) {
      return misuse(fmt::format("--{} {}", flag->name, stored.error().subject),
                    stored.error().reason, stored.error().next_step);
    }
  }
  return {};
}

Result<> store_positionals(const Flags& flags, const std::vector<std::string>& words) {
  std::size_t next = 0;
  for (const Positional& positional : flags.positionals()) {
    if (positional.verbatim) {
      continue;
    }
    if (next == words.size() && positional.required) {
      return misuse(positional.name, "missing", "--help shows what it is");
    }
    const std::size_t end = positional.repeats ? words.size() : std::min(next + 1, words.size());
    for (; next < end; ++next) {
      if (const Result<> stored = positional.store(words[next]); !stored) {
        return misuse(fmt::format("{} {}", positional.name, stored.error().subject),
                      stored.error().reason, stored.error().next_step);
      }
    }
  }
  if (next < words.size()) {
    return misuse(words[next], "no argument is expected here", "--help shows what can be given");
  }
  return {};
}

Result<> store_rest(const Positional& positional, const std::vector<std::string>& words) {
  if (words.empty() && positional.required) {
    return misuse(positional.name, "missing", "give the command to run after '--'");
  }
  for (const std::string& word : words) {
    if (const Result<> stored = positional.store(word); !stored) {
      return stored;
    }
  }
  return {};
}

Result<po::parsed_options> parsed_by_boost(const Flags& flags, const po::options_description& known,
                                           const std::vector<std::string>& words) {
  using po::command_line_style::allow_guessing;
  using po::command_line_style::unix_style;
  try {
    return po::command_line_parser(words).options(known).style(unix_style & ~allow_guessing).run();
  } catch (const po::unknown_option& error) {
    return unknown(flags, error.get_option_name());
  } catch (const po::error_with_option_name& error) {
    const auto* value = dynamic_cast<const po::invalid_command_line_syntax*>(&error);
    const bool missing = value != nullptr && value->kind() == po::invalid_syntax::missing_parameter;
    return misuse(error.get_option_name(), missing ? "needs a value" : "cannot be given like this",
                  "--help shows how");
  } catch (const po::error& error) {
    return misuse("", error.what(), "--help shows what can be given");
  }
}

}  // namespace

Result<> parse(const Flags& flags, const std::vector<std::string>& arguments) {
  const auto& positionals = flags.positionals();
  const bool takes_rest = !positionals.empty() && positionals.back().verbatim;
  const auto divider = std::ranges::find(arguments, "--");
  const std::vector<std::string> words(arguments.begin(), divider);
  std::vector<std::string> after(divider == arguments.end() ? divider : divider + 1,
                                 arguments.end());

  const po::options_description known = described(flags);
  TRY(const po::parsed_options parsed, parsed_by_boost(flags, known, words));
  if (const Result<> stored = store_flags(flags, parsed); !stored) {
    return stored;
  }
  std::vector<std::string> loose;
  for (const po::option& option : parsed.options) {
    if (option.position_key >= 0) {
      loose.insert(loose.end(), option.value.begin(), option.value.end());
    }
  }
  if (!takes_rest) {
    loose.insert(loose.end(), after.begin(), after.end());
    return store_positionals(flags, loose);
  }
  const Result<> stored = store_positionals(flags, loose);
  return stored ? store_rest(positionals.back(), after) : stored;
}

}  // namespace chokepoint::cli
