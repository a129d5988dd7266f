#include "preflight/launch/launcher_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/cli/text.h"

namespace chokepoint::preflight {
namespace {

constexpr std::size_t kMaxReasonBytes = 300;

struct Known {
  std::string_view words;
  ErrorKind kind;
  std::string_view next_step;  // {} is the host
};

constexpr std::array kKnown{
    Known{"Permission denied", ErrorKind::Permission,
          "'ssh {}' has to work without a password: ssh-copy-id {}"},
    Known{"Too many authentication failures", ErrorKind::Permission,
          "'ssh {}' has to work without a password: ssh-copy-id {}"},
    Known{"Host key verification failed", ErrorKind::Permission,
          "'ssh {}' by hand, once, and compare the key that it shows"},
    Known{"Could not resolve hostname", ErrorKind::NotFound, "is the name right?"},
    Known{"Connection refused", ErrorKind::Refused, "does sshd run there?"},
    Known{"timed out", ErrorKind::Timeout, "is it up, and is there a route to it?"},
    Known{"No route to host", ErrorKind::Unreachable, "is it up, and is there a route to it?"},
    Known{"Network is unreachable", ErrorKind::Unreachable, "is there a route to it?"},
    Known{"Task launch for", ErrorKind::Unreachable, "'scontrol show node {}'"},
    Known{"Unable to create step", ErrorKind::Unreachable,
          "is it in this job? 'scontrol show node {}'"},
};

const Known* known_in(std::string_view line) {
  const auto found = std::ranges::find_if(
      kKnown, [&](const Known& known) { return line.find(known.words) != line.npos; });
  return found == kKnown.end() ? nullptr : &*found;
}

std::string with_host(std::string_view text, std::string_view host) {
  std::string all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t gap = std::min(text.find("{}", at), text.size());
    all += text.substr(at, gap - at);
    all += gap < text.size() ? host : "";
    at = gap + 2;
  }
  return all;
}

// srun goes on for half a minute after it has printed this; ssh may speak of a way that it does not
// take.
bool is_final(std::string_view line) {
  return line.find("Task launch for") != line.npos ||
         line.find("Unable to create step") != line.npos;
}

// The error names the program anyway: "ssh: connect to host …".
std::string_view without_program(std::string_view line) {
  for (const std::string_view program : {"ssh: ", "chokepoint: ", "srun: error: ", "srun: "}) {
    if (line.starts_with(program)) {
      return line.substr(program.size());
    }
  }
  return line;
}

}  // namespace

void LauncherOutput::add(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t\r-");
  if (begin == std::string_view::npos) {
    return;
  }
  line = line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
  last_ = cli::printable(line.substr(0, kMaxReasonBytes));
  if (first_.empty()) {
    first_ = last_;
  }
  if (known_.empty() && known_in(last_) != nullptr) {
    known_ = last_;
  }
  if (last_.starts_with("chokepoint: ")) {
    own_ = last_;
  }
}

bool LauncherOutput::is_over() const { return is_final(known_); }

Error LauncherOutput::why(std::string_view program, const std::string& host,
                          const sys::ExitStatus& status) const {
  Error error{.kind = ErrorKind::Io,
              .operation = std::string(program),
              .subject = host,
              .reason = fmt::format("the agent ended, exit status {}", status.code)};
  if (last_.empty()) {
    return error;
  }
  const std::string& words = program == "ssh" ? last_ : first_;
  const std::string& reason = !known_.empty() ? known_ : !own_.empty() ? own_ : words;
  error.reason = without_program(reason);
  if (const Known* known = known_in(reason)) {
    error.kind = known->kind;
    error.next_step = with_host(known->next_step, host);
  }
  return error;
}

}  // namespace chokepoint::preflight
