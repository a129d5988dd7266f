#include "base/cli/flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
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
  last_is_positional_ = false;
  return groups_.back().flags.emplace_back(std::move(flag));
}

Flags& Flags::formerly(std::string_view name) {
  former_names_.push_back({std::string(name), groups_.back().flags.back().name});
  return *this;
}

Flags& Flags::always(std::string_view name) {
  former_names_.push_back({std::string(name), ""});
  return *this;
}

Flags& Flags::a_run() {
  (last_is_positional_ ? positionals_.back().is_run : groups_.back().flags.back().is_run) = true;
  return *this;
}

Flags& Flags::add_positional(Positional positional) {
  positionals_.push_back(std::move(positional));
  last_is_positional_ = true;
  return *this;
}

void Flags::intercept(
    const std::function<Result<>(const Flag&, const std::string&)>& flag,
    const std::function<Result<>(const Positional&, const std::string&)>& positional) {
  for (FlagGroup& group : groups_) {
    for (Flag& each : group.flags) {
      each.store = [flag, as_defined = each](const std::string& text) {
        return flag(as_defined, text);
      };
    }
  }
  for (Positional& each : positionals_) {
    each.store = [positional, as_defined = each](const std::string& text) {
      return positional(as_defined, text);
    };
  }
}

Flags& Flags::toggle(std::string_view name, bool* target, std::string help) {
  add(name, "", std::move(help)).store = [target](const std::string&) -> Result<> {
    *target = true;
    return {};
  };
  return *this;
}

Flags& Flags::note_setting(bool* target) {
  Flag& flag = groups_.back().flags.back();
  flag.is_setting = target;
  flag.store = [target, store = std::move(flag.store)](const std::string& text) {
    *target = false;
    return store(text);
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
  // 0 and -1 mean none, or a value that is chosen: the help describes that.
  flag.default_text = *target > 0 ? fmt::format("{}", *target) : "";
  flag.form = ValueForm::Whole;
  flag.least = least;
  flag.most = most;
  flag.store = stored(target, [=](const std::string& text) -> Result<std::int64_t> {
    const auto number = sys::parse_number<std::int64_t>(text);
    const bool is_whole =
        !text.empty() && text.find_first_not_of("-0123456789") == std::string::npos;
    if (!number && !is_whole) {
      return fail(ErrorKind::Usage, "", text, "not a whole number",
                  fmt::format("give {} to {}", least, most));
    }
    if (!number || *number < least || *number > most) {
      return fail(ErrorKind::Usage, "", text, "out of range",
                  fmt::format("give {} to {}", least, most));
    }
    return *number;
  });
  return *this;
}

Flags& Flags::option(std::string_view name, double* target, std::string value, std::string help) {
  Flag& flag = add(name, std::move(value), std::move(help));
  flag.default_text = *target > 0 ? fmt::format("{}", *target) : "";
  flag.form = ValueForm::Number;
  flag.store = stored(
      target, [](const std::string& text) { return parse_number<double>(text, "a number"); });
  return *this;
}

Flags& Flags::percent(std::string_view name, double* target, std::string help) {
  Flag& flag = add(name, "PERCENT", std::move(help));
  flag.default_text = *target > 0 ? fmt::format("{}", *target) : "";
  flag.store = stored(target, math::parse_percent);
  return *this;
}

Flags& Flags::short_time(std::string_view name, std::chrono::nanoseconds* target,
                         std::string help) {
  Flag& flag = add(name, "TIME", std::move(help));
  flag.default_text = target->count() <= 0 ? "" : math::format_duration(*target);
  flag.store = stored(target, math::parse_short_duration);
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
  flag.default_text = target->count() <= 0 ? "" : math::format_duration(*target);
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
  return add_positional({.name = std::move(name),
                         .help = std::move(help),
                         .required = required,
                         .store = [target](const std::string& text) -> Result<> {
                           *target = text;
                           return {};
                         }});
}

Flags& Flags::positional(std::string name, std::vector<std::string>* target, std::string help,
                         bool required) {
  return add_positional({.name = std::move(name),
                         .help = std::move(help),
                         .required = required,
                         .repeats = true,
                         .store = [target](const std::string& text) -> Result<> {
                           target->push_back(text);
                           return {};
                         }});
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

// Boost owns what is returned.
const po::value_semantic* semantic_of(bool is_switch) {
  return is_switch ? static_cast<po::value_semantic*>(new po::untyped_value(true))
                   : po::value<std::string>();
}

template <class Key, class Member>
const Flag* find_by(const Flags& flags, const Key& key, Member member) {
  for (const FlagGroup& group : flags.groups()) {
    const auto flag = std::ranges::find(group.flags, key, member);
    if (flag != group.flags.end()) {
      return &*flag;
    }
  }
  return nullptr;
}

const FormerName* find_former(const Flags& flags, const std::string& name) {
  const auto former = std::ranges::find(flags.former_names(), name, &FormerName::name);
  return former == flags.former_names().end() ? nullptr : &*former;
}

// By its name, or the one that it had.
const Flag* find(const Flags& flags, const std::string& name) {
  const FormerName* former = find_former(flags, name);
  return find_by(flags, former == nullptr ? name : former->now, &Flag::name);
}

const Flag* find(const Flags& flags, char letter) { return find_by(flags, letter, &Flag::letter); }

po::options_description described(const Flags& flags) {
  po::options_description description;
  for (const FlagGroup& group : flags.groups()) {
    for (const Flag& flag : group.flags) {
      const std::string name = flag.letter == 0 ? flag.name : flag.name + "," + flag.letter;
      // Only options have a placeholder; a flag without one is a switch.
      description.add_options()(name.c_str(), semantic_of(flag.value.empty()), flag.help.c_str());
    }
  }
  for (const FormerName& former : flags.former_names()) {
    const Flag* flag = find(flags, former.name);
    description.add_options()(former.name.c_str(),
                              semantic_of(flag == nullptr || flag->value.empty()), "");
  }
  return description;
}

// What users of other tools type, and what it is called here.
struct Foreign {
  std::string_view typed;
  std::string_view name;  // of a flag; where a command has none of it, the next entry counts
  std::string_view tool;
};

constexpr std::array kForeign{Foreign{"-R", "receive", "iperf3"},
                              Foreign{"--reverse", "receive", "iperf3"},
                              Foreign{"-P", "streams", "iperf3"},
                              Foreign{"--parallel", "streams", "iperf3"},
                              Foreign{"-b", "rate", "iperf3"},
                              Foreign{"--bitrate", "rate", "iperf3"},
                              Foreign{"-b", "both", "perftest"},
                              Foreign{"--bidir", "both", "iperf3"},
                              Foreign{"-d", "both", "iperf3"},
                              Foreign{"-i", "interval", "iperf3"},
                              Foreign{"-w", "window", "iperf3"},
                              Foreign{"-n", "bytes", "iperf3"},
                              Foreign{"-M", "mss", "iperf3"},
                              Foreign{"-C", "congestion", "iperf3"},
                              Foreign{"--duration", "time", "iperf3"},
                              Foreign{"-D", "time", "perftest"},
                              Foreign{"-s", "bytes", "perftest"},
                              Foreign{"-x", "gid-index", "perftest"},
                              Foreign{"-q", "queue-pairs", "perftest"},
                              Foreign{"-m", "mtu", "perftest"},
                              Foreign{"-e", "bytes", "nccl-tests"},
                              Foreign{"-f", "bytes", "nccl-tests"},
                              Foreign{"-g", "gpu", "nccl-tests"},
                              Foreign{"-w", "warm-up", "nccl-tests"},
                              Foreign{"-o", "out", ""},
                              Foreign{"-o", "output", ""},
                              Foreign{"--out", "output", ""},
                              Foreign{"--output", "out", ""},
                              Foreign{"--record", "out", ""},
                              Foreign{"--out", "record", ""},
                              Foreign{"-o", "record", ""},
                              Foreign{"-n", "node", ""},
                              Foreign{"-f", "format", ""}};

// What another tool calls one of these flags, or does with that letter.
std::string foreign_hint(const Flags& flags, const std::string& typed) {
  for (const Foreign& each : kForeign) {
    if (each.typed == typed && find(flags, std::string(each.name)) != nullptr) {
      return fmt::format("{}{} is --{} here",
                         each.tool.empty() ? "" : std::string(each.tool) + "'s ", typed, each.name);
    }
  }
  if (typed == "-c" || typed == "--client") {
    return "give the host alone";
  }
  if (typed == "-s" || typed == "--server") {
    return "the other side is 'chokepoint serve'";
  }
  if (typed == "-u" || typed == "--udp") {
    return "'chokepoint probe udp' does that";
  }
  if (typed == "--follow") {
    return "'chokepoint live' follows a run";
  }
  return typed == "--json" ? "'chokepoint record show --json' and 'diagnose --json' print one" : "";
}

std::unexpected<Error> unknown(const Flags& flags, const std::string& typed) {
  if (const std::string hint = foreign_hint(flags, typed); !hint.empty()) {
    return misuse(typed, "unknown option", hint);
  }
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

std::string notice_of(const FormerName& former) {
  return former.now.empty() ? fmt::format("--{} is always so", former.name)
                            : fmt::format("--{} is now --{}", former.name, former.now);
}

Result<Notices> store_flags(const Flags& flags, const po::parsed_options& parsed) {
  Notices notices;
  for (const po::option& option : parsed.options) {
    if (option.position_key >= 0) {
      continue;
    }
    const FormerName* former = find_former(flags, option.string_key);
    if (former != nullptr) {
      notices.push_back(notice_of(*former));
    }
    const Flag* flag = find(flags, option.string_key);
    if (flag == nullptr && former != nullptr) {
      continue;
    }
    if (flag == nullptr) {
      return unknown(flags, "--" + option.string_key);
    }
    const Result<> stored = flag->store(option.value.empty() ? "" : option.value.front());
    if (!stored) {
      return misuse(fmt::format("--{} {}", flag->name, stored.error().subject),
                    stored.error().reason, stored.error().next_step);
    }
  }
  return notices;
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
      if (words[next].empty()) {
        return misuse(positional.name, "is empty", "is a variable not set?");
      }
      if (const Result<> stored = positional.store(words[next]); !stored) {
        return misuse(fmt::format("{} {}", positional.name, stored.error().subject),
                      stored.error().reason, stored.error().next_step);
      }
    }
  }
  if (next < words.size()) {
    const std::string& taken = next > 0 ? words[next - 1] : words[next];
    return misuse(words[next], "no argument is expected here",
                  next > 0
                      ? fmt::format("'{}' was taken for {}", taken, flags.positionals().back().name)
                      : "--help shows what can be given");
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
    const bool missing =
        value != nullptr && (value->kind() == po::invalid_syntax::missing_parameter ||
                             value->kind() == po::invalid_syntax::empty_adjacent_parameter);
    return misuse(error.get_option_name(), missing ? "needs a value" : "cannot be given like this",
                  "--help shows how");
  } catch (const po::error& error) {
    return misuse("", error.what(), "--help shows what can be given");
  }
}

// The flag that takes the next word for its value; nullptr if there is none.
const Flag* expecting_value(const Flags& flags, std::string_view word) {
  if (word.starts_with("--")) {
    const Flag* flag = find(flags, std::string(word.substr(2)));
    return flag != nullptr && !flag->value.empty() ? flag : nullptr;
  }
  for (std::size_t place = 1; word.starts_with('-') && place < word.size(); ++place) {
    const Flag* flag = find(flags, word[place]);
    if (flag == nullptr || !flag->value.empty()) {
      return flag != nullptr && place + 1 == word.size() ? flag : nullptr;
    }
  }
  return nullptr;
}

bool is_flag(const Flags& flags, std::string_view word) {
  return word.starts_with("--") &&
         find(flags, std::string(word.substr(2, word.find('=') - 2))) != nullptr;
}

using Words = std::vector<std::string>;

// The first word that is neither a flag nor the value of one, or "--".
Result<Words::const_iterator> first_argument(const Flags& flags, const Words& words) {
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (*word == "--" || !word->starts_with('-') || *word == "-") {
      return word;
    }
    const auto value = word + 1;
    if (const Flag* flag = expecting_value(flags, *word);
        flag != nullptr && value != words.end() && *value != "--") {
      if (is_flag(flags, *value)) {
        return misuse("--" + flag->name, "needs a value",
                      fmt::format("'{}' is the next option", *value));
      }
      word = value;
    }
  }
  return words.end();
}

}  // namespace

Result<Notices> parse(const Flags& flags, const std::vector<std::string>& arguments) {
  const auto& positionals = flags.positionals();
  const bool takes_rest = !positionals.empty() && positionals.back().verbatim;
  TRY(const auto first, first_argument(flags, arguments));
  // A command line to start may stand without "--" where no other argument is expected.
  const bool is_divided = !takes_rest || positionals.size() > 1;
  const auto divider = is_divided ? std::ranges::find(arguments, "--") : first;
  const bool has_divider = divider != arguments.end() && *divider == "--";
  const Words words(arguments.begin(), divider);
  const Words after(has_divider ? divider + 1 : divider, arguments.end());

  const po::options_description known = described(flags);
  TRY(const po::parsed_options parsed, parsed_by_boost(flags, known, words));
  TRY(Notices notices, store_flags(flags, parsed));
  std::vector<std::string> loose;
  for (const po::option& option : parsed.options) {
    if (option.position_key >= 0) {
      loose.insert(loose.end(), option.value.begin(), option.value.end());
    }
  }
  if (!takes_rest) {
    loose.insert(loose.end(), after.begin(), after.end());
  }
  TRY(store_positionals(flags, loose));
  if (takes_rest) {
    TRY(store_rest(positionals.back(), after));
  }
  return notices;
}

}  // namespace chokepoint::cli
