#include "base/cli/defaults.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>

#include "base/cli/text.h"
#include "base/sys/file.h"

namespace chokepoint::cli {
namespace {

constexpr std::string_view kSystemFile = "/etc/chokepoint.toml";
constexpr std::string_view kUserFile = "chokepoint.toml";
constexpr std::size_t kMaxFileBytes = 64 << 10;
constexpr const char* kReadDefaults = "read defaults";

struct Value {
  std::string text = {};
  std::string from = {};  // for errors: the file, or the variable
};
using Values = std::map<std::string, Value, std::less<>>;

std::unexpected<Error> wrong(const std::string& from, std::string_view reason,
                             std::string_view next_step) {
  return fail(ErrorKind::Usage, kReadDefaults, from, reason, next_step);
}

std::vector<std::string_view> known_names() {
  std::vector<std::string_view> names;
  for (const Default& each : defaults()) {
    names.push_back(each.option);
  }
  return names;
}

Result<std::string> text_of(const toml::node& node, const std::string& from,
                            std::string_view name) {
  if (const auto text = node.value_exact<std::string>()) {
    return *text;
  }
  if (const auto number = node.value_exact<std::int64_t>()) {
    return fmt::format("{}", *number);
  }
  return wrong(from, fmt::format("'{}' is neither a text nor a number", name),
               fmt::format("write {} = \"…\"", name));
}

Result<> add_file(const std::filesystem::path& path, Values& values) {
  std::error_code problem;
  if (!std::filesystem::exists(path, problem)) {
    return {};
  }
  const std::string from = path.string();
  TRY(const std::string content, sys::read_input(path, kMaxFileBytes, kReadDefaults));
  const toml::parse_result parsed = toml::parse(content);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return wrong(fmt::format("{}:{}", from, error.source().begin.line), error.description(),
                 "lines are like: key-file = \"/etc/chokepoint.key\"");
  }
  for (const auto& [key, node] : parsed.table()) {
    const std::string name(key.str());
    if (std::ranges::find(defaults(), name, &Default::option) == defaults().end()) {
      return wrong(from, fmt::format("there is no setting '{}'", printable(name)),
                   fmt::format("there are {}", fmt::join(known_names(), ", ")));
    }
    TRY(std::string text, text_of(node, from, name));
    values[name] = {std::move(text), from};
  }
  return {};
}

std::string variable_of(std::string_view option) {
  std::string name = "CHOKEPOINT_";
  for (const char letter : option) {
    name += letter == '-' ? '_' : static_cast<char>(std::toupper(letter));
  }
  return name;
}

std::optional<std::filesystem::path> user_file(const Context& context) {
  const auto folder = context.environment("XDG_CONFIG_HOME");
  if (folder && !folder->empty()) {
    return std::filesystem::path(*folder) / kUserFile;
  }
  const auto home = context.environment("HOME");
  return home && !home->empty()
             ? std::optional(std::filesystem::path(*home) / ".config" / kUserFile)
             : std::nullopt;
}

Result<Values> all_values(const Context& context) {
  Values values;
  TRY(add_file(context.root.at(std::string(kSystemFile)), values));
  if (const auto file = user_file(context)) {
    TRY(add_file(*file, values));
  }
  for (const std::string_view option : known_names()) {
    const std::string variable = variable_of(option);
    if (auto text = context.environment(variable)) {
      values[std::string(option)] = {*std::move(text), variable};
    }
  }
  return values;
}

// Before "--", behind which words are of another program.
bool is_given(const std::vector<std::string>& arguments, std::string_view option) {
  const std::string flag = "--" + std::string(option);
  const auto end = std::ranges::find(arguments, "--");
  return std::any_of(arguments.begin(), end, [&](const std::string& word) {
    return word == flag || word.starts_with(flag + "=");
  });
}

bool takes(const Default& each, const std::string& command) {
  const std::string first = " " + command.substr(0, command.find(' ')) + " ";
  return (" " + std::string(each.commands) + " ").find(first) != std::string::npos;
}

const Flag* flag_named(const Flags& flags, std::string_view name) {
  for (const FlagGroup& group : flags.groups()) {
    for (const Flag& flag : group.flags) {
      if (flag.name == name) {
        return &flag;
      }
    }
  }
  return nullptr;
}

}  // namespace

const std::vector<Default>& defaults() {
  static const std::vector<Default> all{
      {"key-file", "serve probe rdma preflight ask", {"insecure-open", "leash", "launch"}},
      {"history",
       "probe rdma doctor preflight run history web mcp diagnose compare report",
       {"no-history"}},
      {"metrics", "run", {}},
      {"port", "serve probe rdma preflight ask", {}},
  };
  return all;
}

Result<> apply_defaults(const std::string& command, const Flags& flags,
                        const std::vector<std::string>& arguments, const Context& context) {
  const auto is_wanted = [&](const Default& each) {
    return takes(each, command) && flag_named(flags, each.option) != nullptr &&
           std::ranges::none_of(
               each.instead, [&](std::string_view option) { return is_given(arguments, option); });
  };
  if (std::ranges::none_of(defaults(), is_wanted)) {
    return {};
  }
  TRY(const Values values, all_values(context));
  for (const Default& each : defaults()) {
    const auto value = values.find(each.option);
    if (value == values.end() || !is_wanted(each)) {
      continue;
    }
    const Flag* flag = flag_named(flags, each.option);
    if (Result<> stored = flag->store(value->second.text); !stored) {
      return wrong(value->second.from, fmt::format("{}: {}", each.option, stored.error().reason),
                   stored.error().next_step);
    }
    if (flag->is_setting != nullptr) {
      *flag->is_setting = true;
    }
  }
  return {};
}

}  // namespace chokepoint::cli
