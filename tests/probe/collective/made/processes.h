// Ranks of a test in processes of their own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace chokepoint::probe::collective {

// Ends with the status that `part` gives.
template <class Part>
pid_t elsewhere(const Part& part) {
  const pid_t child = fork();
  if (child == 0) {
    std::_Exit(part());
  }
  return child;
}

// As a shell tells it: 128 and the signal's number where it was killed.
inline int status_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace chokepoint::probe::collective
