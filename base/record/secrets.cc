#include "base/record/secrets.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace chokepoint::record {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

bool is_flag(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

// Lower case, and '-' for what else parts words.
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char letter : name) {
    const bool is_upper = letter >= 'A' && letter <= 'Z';
    plain += is_upper ? static_cast<char>(letter + ('a' - 'A')) : letter;
  }
  std::ranges::replace(plain, '_', '-');
  std::ranges::replace(plain, '.', '-');
  return plain;
}

void erase_all(std::string& text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word)) {
    text.erase(at, word.size());
  }
}

enum class Sort { Plain, Secret, Tokens };

// Of a flag or a variable, by its name.
Sort sort_of(std::string_view name) {
  constexpr std::array<std::string_view, 6> kWords{"password", "passwd", "secret",
                                                   "api-key",  "apikey", "credential"};
  std::string plain = plain_name(name);
  const auto has = [&plain](std::string_view word) { return plain.find(word) != plain.npos; };
  if (std::ranges::any_of(kWords, has) || (!is_flag(name) && name.find("KEY") != name.npos)) {
    return Sort::Secret;
  }
  for (const std::string_view harmless : {"tokenizer", "tokenize", "tokenization"}) {
    erase_all(plain, harmless);
  }
  if (!has("token")) {
    return Sort::Plain;
  }
  return has("tokens") ? Sort::Tokens : Sort::Secret;
}

bool is_number(std::string_view value) {
  return !value.empty() && value.find_first_not_of("0123456789_.,kKmMbBtTeE+") == value.npos;
}

bool hides(Sort sort, std::string_view value) {
  return sort == Sort::Secret || (sort == Sort::Tokens && !is_number(value));
}

// Of a word of a shell's line: with blanks inside of its quotes, which may begin within the word.
std::size_t shell_word_length(std::string_view line) {
  char quote = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char letter = line[at];
    if (quote == 0 && kBlanks.find(letter) != kBlanks.npos) {
      return at;
    }
    if (letter == '\\' && quote != '\'') {
      ++at;
    } else if (quote == 0 && (letter == '\'' || letter == '"')) {
      quote = letter;
    } else if (letter == quote) {
      quote = 0;
    }
  }
  return line.size();
}

// Argument after argument, or word after word of a shell's line.
class SecretMask {
 public:
  std::string word(std::string_view text) {
    const Sort before = std::exchange(next_, Sort::Plain);
    if (before != Sort::Plain && !is_flag(text)) {
      return hides(before, text) ? kMasked : std::string(text);
    }
    const std::size_t equals = text.find('=');
    const Sort sort = sort_of(text.substr(0, equals));
    if (equals != text.npos && hides(sort, text.substr(equals + 1))) {
      return std::string(text.substr(0, equals + 1)) + kMasked;
    }
    if (equals == text.npos && is_flag(text)) {
      next_ = sort;
    }
    return std::string(text);
  }

  std::string line(std::string_view text) {
    std::string shown;
    while (!text.empty()) {
      const std::size_t blanks = std::min(text.find_first_not_of(kBlanks), text.size());
      shown += text.substr(0, blanks);
      text.remove_prefix(blanks);
      const std::size_t length = std::max<std::size_t>(shell_word_length(text), 1);
      shown += text.empty() ? std::string() : word(text.substr(0, length));
      text.remove_prefix(std::min(length, text.size()));
    }
    return shown;
  }

 private:
  Sort next_ = Sort::Plain;  // of the value that may follow
};

// sh -c, bash -lc: a line follows.
bool asks_for_shell(std::string_view word) {
  return word.size() > 1 && word.size() <= 4 && word[0] == '-' && word[1] != '-' &&
         word.ends_with('c');
}

}  // namespace

std::vector<std::string> masked(std::span<const std::string> arguments) {
  SecretMask mask;
  std::vector<std::string> shown;
  bool is_line = false;
  for (const std::string& argument : arguments) {
    shown.push_back(is_line ? SecretMask().line(argument) : mask.word(argument));
    is_line = asks_for_shell(argument);
  }
  return shown;
}

}  // namespace chokepoint::record
