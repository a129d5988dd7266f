#include "tests/capture/job/shell_in_terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

namespace chokepoint::capture::job {
namespace {

constexpr int kPatience_ms = 10'000;

[[noreturn]] void become_shell() {
  setenv("RUN_JOB", RUN_JOB, 1);
  setenv("PS1", kPrompt, 1);
  setenv("TERM", "xterm", 1);
  setenv("HISTFILE", "/dev/null", 1);
  setenv("LESSHISTFILE", "-", 1);
  execlp("bash", "bash", "--norc", "--noprofile", "--noediting", "-i", nullptr);
  _exit(99);
}

}  // namespace

ShellInTerminal::ShellInTerminal() {
  winsize size{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
  int screen = -1;
  pid_ = forkpty(&screen, nullptr, nullptr, &size);
  if (pid_ == 0) {
    become_shell();
  }
  if (pid_ < 0) {
    throw std::runtime_error("forkpty");
  }
  fcntl(screen, F_SETFD, FD_CLOEXEC);
  screen_.reset(screen);
  read_until(kPrompt);
  // What is typed shall not look like what is printed.
  command("stty -echo");
  command("bind 'set enable-bracketed-paste off' 2>/dev/null");
}

ShellInTerminal::~ShellInTerminal() {
  screen_.reset();
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void ShellInTerminal::type(const std::string& keys) const {
  if (write(screen_.get(), keys.data(), keys.size()) != static_cast<ssize_t>(keys.size())) {
    throw std::runtime_error("typing");
  }
}

std::string ShellInTerminal::read_until(const std::string& word) {
  std::array<char, 4096> chunk{};
  while (ahead_.find(word) == std::string::npos) {
    pollfd one{screen_.get(), POLLIN, 0};
    const bool has_more = poll(&one, 1, kPatience_ms) > 0;
    const ssize_t got = has_more ? read(screen_.get(), chunk.data(), chunk.size()) : 0;
    if (got <= 0) {
      return "nothing more after: " + std::exchange(ahead_, "");
    }
    ahead_.append(chunk.data(), static_cast<std::size_t>(got));
  }
  const std::size_t end = ahead_.find(word) + word.size();
  std::string shown = ahead_.substr(0, end);
  ahead_.erase(0, end);
  return shown;
}

std::string ShellInTerminal::command(const std::string& line) {
  type(line + "\n");
  return read_until(kPrompt);
}

void ShellInTerminal::resize(int rows, int columns) const {
  const winsize size{.ws_row = static_cast<unsigned short>(rows),
                     .ws_col = static_cast<unsigned short>(columns),
                     .ws_xpixel = 0,
                     .ws_ypixel = 0};
  ioctl(screen_.get(), TIOCSWINSZ, &size);
}

}  // namespace chokepoint::capture::job
