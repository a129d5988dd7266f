#include "preflight/judge/shell.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace chokepoint::preflight {
namespace {

constexpr std::string_view kPlain = "_-./=:,@%+";

bool is_plain(const std::string& word) {
  return !word.empty() && std::ranges::all_of(word, [](unsigned char letter) {
    return std::isalnum(letter) != 0 ||
           kPlain.find(static_cast<char>(letter)) != std::string_view::npos;
  });
}

}  // namespace

std::string shell_word(const std::string& word) {
  if (is_plain(word)) {
    return word;
  }
  std::string text = "'";
  for (const char letter : word) {
    text += letter == '\'' ? "'\\''" : std::string(1, letter);
  }
  return text + "'";
}

// A name that begins with a dash would be an option.
std::string on_host(const std::string& host, const std::string& command) {
  return std::string("ssh ") + (host.starts_with('-') ? "-- " : "") + shell_word(host) + " " +
         shell_word(command);
}

std::string with_note(const std::string& command, const std::string& note) {
  return note.empty() ? command : command + std::string(kNote) + note;
}

}  // namespace chokepoint::preflight
