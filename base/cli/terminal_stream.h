// A stream to a terminal: what others wrote (names, labels, commands, texts in a JSON document) may
// hold control characters of eight bits, marks that turn the direction of writing and invisible
// characters, which a terminal acts upon. They are written as JSON escapes them; see harmful.h. All
// that a command prints goes through one of these where standard output or error is a terminal.
// One thread at a time, as the stream below it.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace chokepoint::cli {

// Letters of harmful.h as JSON escapes them, but those of ASCII below DEL, with which a program
// draws itself. A JSON document stays the same document.
std::string escaped_for_terminal(std::string_view text);

class TerminalBuffer final : public std::streambuf {
 public:
  // What is below outlives this.
  explicit TerminalBuffer(std::streambuf& below) : below_(below) {}
  TerminalBuffer(const TerminalBuffer&) = delete;
  TerminalBuffer& operator=(const TerminalBuffer&) = delete;
  ~TerminalBuffer() override { sync(); }

 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override;
  int_type overflow(int_type letter) override;
  int sync() override;

 private:
  bool put(std::string_view text);

  std::streambuf& below_;
  std::string begun_;  // of a letter whose end has not come yet
};

// The stream below may be flushed after each piece, as standard error is; this one then is, too.
class TerminalStream final : public std::ostream {
 public:
  explicit TerminalStream(std::ostream& below);
  TerminalStream(const TerminalStream&) = delete;
  TerminalStream& operator=(const TerminalStream&) = delete;
  ~TerminalStream() override = default;

 private:
  TerminalBuffer buffer_;
};

}  // namespace chokepoint::cli
