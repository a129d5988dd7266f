#include "capture/job/direct_start.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "base/sys/process.h"

namespace chokepoint::capture::job {
namespace {

// Relays and the watch end once this process's ends of their sockets are closed. What is not reaped
// by then is a child that the command does not know.
void reap_former_children() {
  using namespace std::chrono_literals;
  const auto until = std::chrono::steady_clock::now() + 200ms;
  while (waitpid(-1, nullptr, WNOHANG) >= 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(5ms);
  }
}

}  // namespace

Error become(const std::vector<std::string>& command) {
  reap_former_children();
  prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
  sys::ignore_children_as_before();
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) {
    words.push_back(const_cast<char*>(word.c_str()));
  }
  words.push_back(nullptr);
  execvp(words.front(), words.data());
  return from_errno(errno, "start", command.front());
}

}  // namespace chokepoint::capture::job
