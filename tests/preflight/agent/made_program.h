// What an agent starts in place of this program: it does what the name of its peer says.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/sys/process.h"
#include "tests/fakes/temporary_file.h"

namespace chokepoint::fakes {

class MadeProgram {
 public:
  MadeProgram() : file_(kScript) { chmod(file_.path().c_str(), 0700); }
  const std::string& path() const { return file_.path(); }

 private:
  static constexpr const char* kScript = R"sh(#!/bin/sh
case "$3" in
  fine) echo '{"schema": "made/1", "line": "'"$*"'"}' ;;
  key) read -r key; echo '{"schema": "made/1", "key": "'"$key"'"}' ;;
  found) echo '{"schema": "made/1"}'; exit 3 ;;
  told) echo '{"schema": "made/1", "error": "wrong data"}'; exit 1 ;;
  fails) echo earlier >&2; echo 'chokepoint: probe tcp: b: no route to host' >&2; exit 1 ;;
  refuses) echo 'chokepoint: probe tcp: b:7411: connection refused; does serve run?' >&2; exit 1 ;;
  usage) echo 'chokepoint: --what: no such flag' >&2; exit 2 ;;
  silent) exit 1 ;;
  garbage) echo 'no document' ;;
  list) echo '["schema"]' ;;
  nameless) echo '{"schema": 1}' ;;
  large) head -c 5000000 /dev/zero | tr '\0' ' ' ;;
  noisy) head -c 300000 /dev/zero | tr '\0' '\n' >&2; printf 'the \033[31mend' >&2; exit 1 ;;
  killed) kill -9 $$ ;;
  interrupted) echo '{"schema": "made/1"}'; exit 130 ;;
  closed) exec >&- 2>&-; sleep 600 ;;
  waits) echo 'waiting: another test is running' >&2; sleep 600 & sleep 600 ;;
  stubborn) trap '' TERM; (trap '' TERM; sleep 600) & sleep 600; sleep 600 ;;
esac
)sh";
  TemporaryFile file_;
};

inline std::vector<pid_t> own_descendants() { return sys::descendants(getpid(), sys::Root("/")); }

// Whether there are as many, soon.
inline bool awaits_descendants(std::size_t least) {
  for (int i = 0; i < 400; ++i) {
    if (own_descendants().size() >= least) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  return false;
}

inline bool awaits_none() {
  for (int i = 0; i < 400; ++i) {
    if (own_descendants().empty()) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  return false;
}

}  // namespace chokepoint::fakes
