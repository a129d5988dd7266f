#include "analysis/web/query.h"

#include <algorithm>
#include <charconv>

#include "base/cli/text.h"

namespace chokepoint::analysis::web {
namespace {

constexpr std::size_t kMaxBytes = 4096;

std::optional<std::string> decoded(std::string_view text) {
  constexpr std::size_t kDigits = 2;
  constexpr int kHexadecimal = 16;
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      plain += text[at] == '+' ? ' ' : text[at];
      continue;
    }
    const std::string_view digits = text.substr(at + 1, kDigits);
    unsigned char byte = 0;
    const auto read =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, kHexadecimal);
    if (digits.size() != kDigits || read.ptr != digits.data() + kDigits) {
      return std::nullopt;
    }
    plain += static_cast<char>(byte);
    at += kDigits;
  }
  return plain;
}

bool is_text(const std::string& plain) {
  return plain.size() <= kMaxBytes && cli::valid_utf8(plain) == plain &&
         std::ranges::none_of(plain, [](unsigned char byte) { return byte < ' ' || byte == 0x7f; });
}

}  // namespace

std::optional<std::string> parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(part.size() + 1, query.size()));
    if (part.substr(0, part.find('=')) != name) {
      continue;
    }
    const std::size_t equals = part.find('=');
    const auto plain = decoded(equals == part.npos ? "" : part.substr(equals + 1));
    return plain && is_text(*plain) ? plain : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace chokepoint::analysis::web
