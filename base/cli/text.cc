#include "base/cli/text.h"

#include <algorithm>

#include "base/cli/harmful.h"

namespace chokepoint::cli {
namespace {

constexpr int kNarrowestText = 20;

}  // namespace

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::vector<std::string> broken(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    const std::string_view word = text.substr(start, end - start);
    std::string& line = lines.back();
    if (!line.empty() && width_of(line) + 1 + width_of(word) > width) {
      lines.emplace_back(word);
    } else {
      line.append(line.empty() ? "" : " ").append(word);
    }
    start = end + 1;
  }
  return lines;
}

std::string wrapped(std::string_view text, int width, int indent) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  const auto room = static_cast<std::size_t>(std::max(width - indent, kNarrowestText));
  std::string result;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    for (const std::string& line : broken(text.substr(start, end - start), room)) {
      result.append(line.empty() ? "" : margin).append(line).append("\n");
    }
    start = end + 1;
  }
  return result;
}

namespace {

constexpr std::string_view kInstead = "\u00B7";

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char letter) { return (letter & 0x80) == 0; });
}

// Of a sequence that begins with this byte; 0 where none does.
std::size_t length_of(unsigned char first) {
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xC2 && first < 0xE0) {
    return 2;
  }
  if (first >= 0xE0 && first < 0xF0) {
    return 3;
  }
  return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

// Neither longer than it need be, nor half of a pair, nor past the last letter there is.
bool is_second(unsigned char first, unsigned char second) {
  const unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  return second >= least && second <= most;
}

}  // namespace

std::size_t letter_length(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const std::size_t length = length_of(byte(0));
  if (length < 2) {
    return length;
  }
  if (text.size() < length || !is_second(byte(0), byte(1))) {
    return 0;
  }
  for (std::size_t at = 2; at < length; ++at) {
    if ((byte(at) & 0xC0) != 0x80) {
      return 0;
    }
  }
  return length;
}

std::string valid_utf8(std::string_view text) {
  if (is_ascii(text)) {
    return std::string(text);
  }
  std::string valid;
  each_letter(text, [&](std::string_view letter) { valid += letter; });
  return valid;
}

std::string printable(std::string_view text) {
  std::string shown;
  each_letter(text, [&](std::string_view letter) {
    shown += letter == kNoLetter || is_harmful(code_of(letter)) ? kInstead : letter;
  });
  return shown;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows of the optimal string alignment table: two back, one back, current.
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    above[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  // One slip in three letters may still be the same word; more is another word.
  const std::size_t most = std::max<std::size_t>(1, word.size() / 3);
  std::string best;
  std::size_t best_distance = most + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace chokepoint::cli
