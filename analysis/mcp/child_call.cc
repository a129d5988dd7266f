#include "analysis/mcp/child_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/cli/command.h"
#include "base/cli/text.h"
#include "base/sys/descriptor.h"
#include "base/sys/process.h"

namespace chokepoint::analysis::mcp {
namespace {

// An assistant's client has keys of services in its environment. What a command needs: its programs
// and libraries, where copies of records may lie, and what sanitizers and coverage are told.
std::vector<std::string> inherited_variables() {
  return {"PATH",          "HOME",         "TMPDIR",          "TZ",
          "LANG",          "LC_ALL",       "LD_LIBRARY_PATH", "ASAN_OPTIONS",
          "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"};
}

// As a variable, since a server's URL may have a password.
std::pair<std::string, std::string> history_for(const std::vector<std::string>& words,
                                                const std::string& place) {
  static constexpr std::array<std::string_view, 5> kReaders{"history", "web", "diagnose", "compare",
                                                            "report"};
  auto variable = history::nothing();
  if (!words.empty() && std::ranges::find(kReaders, words.front()) != kReaders.end()) {
    variable.second = place;
  }
  return variable;
}

CallOutcome failed(std::string text) { return {.has_failed = true, .out = std::move(text)}; }

// A letter that the bound on the output cut is replaced; line ends stay.
std::string trimmed(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \n");
  return cli::valid_utf8(last == std::string_view::npos ? "" : text.substr(0, last + 1));
}

std::string why_failed(const ChildCall& call, const Error& error) {
  switch (error.kind) {
    case ErrorKind::Timeout:
      return fmt::format("took longer than {} s, and was ended",
                         std::chrono::duration_cast<std::chrono::seconds>(call.most_time).count());
    case ErrorKind::Malformed:
      return fmt::format("printed more than {} bytes, and was ended: ask for less",
                         call.most_bytes);
    default:
      return describe(error);
  }
}

}  // namespace

CallOutcome ChildCall::operator()(const std::vector<std::string>& words) const {
  Result<sys::Pipe> nothing = sys::open_pipe("start", words.empty() ? "" : words.front());
  if (!nothing) {
    return failed(describe(nothing.error()));
  }
  nothing->write.reset();  // the child's input has ended
  sys::Spawn spawn{.command = {program},
                   .environment = {sys::tie_to_this_process(), history_for(words, history)},
                   .inherited = inherited_variables(),
                   .folder = folder,
                   .in = nothing->read.get()};
  spawn.command.insert(spawn.command.end(), words.begin(), words.end());
  Result<sys::Captured> done =
      sys::capture_output(std::move(spawn), most_time, most_bytes, interrupt);
  if (!done) {
    return failed(why_failed(*this, done.error()));
  }
  const int code = done->status.code;
  if (code == static_cast<int>(cli::ExitCode::Done) ||
      code == static_cast<int>(cli::ExitCode::Found)) {
    return {.out = std::move(done->out), .messages = trimmed(done->err)};
  }
  const std::string said = trimmed(done->err);
  return failed(!said.empty()              ? said
                : done->status.signal != 0 ? fmt::format("ended by signal {}", done->status.signal)
                                           : fmt::format("ended with exit code {}", code));
}

}  // namespace chokepoint::analysis::mcp
