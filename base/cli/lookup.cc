#include "base/cli/lookup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/cli/spelling.h"

namespace chokepoint::cli {
namespace {

// How many of the words name this command: all of its own, or none.
std::size_t words_matched(const std::string& name, const std::vector<std::string>& words) {
  const std::size_t space = name.find(' ');
  if (space == std::string::npos) {
    return words[0] == name ? 1 : 0;
  }
  return words.size() > 1 && words[0] == name.substr(0, space) && words[1] == name.substr(space + 1)
             ? 2
             : 0;
}

}  // namespace

std::vector<Registered> registered(const Registry& registry) {
  std::vector<Registered> commands;
  for (const CommandFactory& make : registry) {
    commands.push_back({make, make()->summary()});
  }
  return commands;
}

std::optional<Match> match(const std::vector<Registered>& commands,
                           const std::vector<std::string>& words) {
  for (const Registered& command : commands) {
    if (const std::size_t matched = words_matched(command.summary.name, words)) {
      return Match{&command, matched};
    }
  }
  return std::nullopt;
}

Error unknown_command(const std::vector<Registered>& commands,
                      const std::vector<std::string>& words) {
  std::vector<std::string> names;
  std::vector<std::string> family;
  for (const Registered& command : commands) {
    names.push_back(command.summary.name);
    if (command.summary.name.starts_with(words[0] + " ")) {
      family.push_back("'" + command.summary.name + "'");
    }
  }
  const bool has_second = words.size() > 1 && !words[1].starts_with('-');
  const std::string two_words = has_second ? words[0] + " " + words[1] : words[0];
  if (const std::string near = nearest(two_words, names); !near.empty()) {
    return {ErrorKind::Usage,  "",
            two_words,         0,
            "unknown command", fmt::format("did you mean '{}'?", near)};
  }
  if (!family.empty()) {
    return {ErrorKind::Usage,
            "",
            two_words,
            0,
            has_second ? "unknown command" : "needs a second word",
            fmt::format("there is {}", fmt::join(family, ", "))};
  }
  const std::string near = nearest(words[0], names);
  return {ErrorKind::Usage,
          "",
          words[0],
          0,
          "unknown command",
          near.empty() ? "'--help' lists them" : fmt::format("did you mean '{}'?", near)};
}

}  // namespace chokepoint::cli
