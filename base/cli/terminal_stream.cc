#include "base/cli/terminal_stream.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/cli/harmful.h"
#include "base/cli/text.h"

namespace chokepoint::cli {
namespace {

constexpr std::size_t kLongestLetter = 4;

// Bytes at the end of the text that may be the beginning of a letter.
std::size_t begun_at_end(std::string_view text) {
  for (std::size_t back = 1; back < kLongestLetter && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0U) != 0x80U) {
      const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
      return length > back ? back : 0;
    }
  }
  return 0;
}

void add_escaped(char32_t code, std::string& text) {
  if (code < 0x10000) {
    text += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code));
    return;
  }
  const std::uint32_t rest = code - 0x10000U;  // two halves of UTF-16
  text += fmt::format("\\u{:04x}\\u{:04x}", 0xD800U + (rest >> 10U), 0xDC00U + (rest & 0x3FFU));
}

}  // namespace

std::string escaped_for_terminal(std::string_view text) {
  std::string shown;
  each_letter(text, [&](std::string_view letter) {
    const char32_t code = code_of(letter);
    if (code >= 0x7F && is_harmful(code)) {
      add_escaped(code, shown);
    } else {
      shown += letter;
    }
  });
  return shown;
}

bool TerminalBuffer::put(std::string_view text) {
  const char* const bytes = text.data();
  const auto size = static_cast<std::streamsize>(text.size());
  return below_.sputn(bytes, size) == size;
}

std::streamsize TerminalBuffer::xsputn(const char* text, std::streamsize count) {
  begun_.append(text, static_cast<std::size_t>(count));
  const std::size_t whole = begun_.size() - begun_at_end(begun_);
  const bool is_put = put(escaped_for_terminal(std::string_view(begun_).substr(0, whole)));
  begun_.erase(0, whole);
  return is_put ? count : 0;
}

TerminalBuffer::int_type TerminalBuffer::overflow(int_type letter) {
  if (traits_type::eq_int_type(letter, traits_type::eof())) {
    return traits_type::not_eof(letter);
  }
  const char byte = traits_type::to_char_type(letter);
  return xsputn(&byte, 1) == 1 ? letter : traits_type::eof();
}

int TerminalBuffer::sync() { return below_.pubsync(); }

TerminalStream::TerminalStream(std::ostream& below)
    : std::ostream(nullptr), buffer_(*below.rdbuf()) {
  rdbuf(&buffer_);
  setf(below.flags() & std::ios_base::unitbuf);
  tie(below.tie());
}

}  // namespace chokepoint::cli
