#include "preflight/launch/script.h"

#include <fmt/format.h>

namespace chokepoint::preflight {
namespace {

// Neither line end nor quote, backslash or exclamation mark: csh and fish read those their own way.
constexpr std::string_view kAgent =
    "port=$1 copy=$2; shift 2; "
    "[ -z \"$copy\" ] || "
    "set -- \"$@\" \"${XDG_CACHE_HOME:-$HOME/.cache}/chokepoint/agents/$copy/bin/chokepoint\"; "
    "for program in \"$@\"; do "
    "if \"$program\" serve --help </dev/null 2>/dev/null | grep -q -e --leash; then "
    "echo chokepoint-agent: starts; "
    "exec \"$program\" serve --leash --quiet --port \"$port\"; "
    "fi; done; "
    "echo \"chokepoint-agent: absent on $(uname -s) $(uname -m)\"; exit 97";

constexpr std::string_view kCopy =
    "set -e; umask 077; all=${XDG_CACHE_HOME:-${HOME:?}/.cache}/chokepoint/agents; into=$all/$1; "
    "if [ -x \"$into/bin/chokepoint\" ]; then exit 0; fi; "
    "mkdir -p \"$all\"; new=$(mktemp -d \"$all/.new-XXXXXX\"); "
    "clean() { rm -rf \"$new\"; }; trap clean EXIT; trap \"exit 1\" HUP INT TERM; "
    "tar -xzf - -C \"$new\" --strip-components=1; "
    "\"$new/bin/chokepoint\" --version >/dev/null; "
    "mv -T \"$new\" \"$into\" 2>/dev/null || [ -x \"$into/bin/chokepoint\" ]";

Words shell(std::string_view script, Words words) {
  Words all{"/bin/sh", "-c", std::string(script), "chokepoint"};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

}  // namespace

std::string quoted(std::string_view word) {
  std::string text = "'";
  for (const char c : word) {
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return text + "'";
}

Words agent_words(std::uint16_t port, std::string_view copy, const Words& programs) {
  Words words{fmt::format("{}", port), std::string(copy)};
  words.insert(words.end(), programs.begin(), programs.end());
  return shell(kAgent, std::move(words));
}

Words copy_words(std::string_view copy) { return shell(kCopy, {std::string(copy)}); }

std::string as_line(const Words& words) {
  std::string line = "exec";
  for (const std::string& word : words) {
    line += " " + preflight::quoted(word);
  }
  return line;
}

}  // namespace chokepoint::preflight
