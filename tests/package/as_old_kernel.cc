// as_old_kernel COMMAND…: runs it as on Linux 4.18, the oldest that chokepoint promises to run on:
// system calls that came later do not exist.
#include <seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>

namespace {

// By number, which all machines have in common from here on: pidfd_send_signal() came with
// Linux 5.1. rseq() and io_pgetevents() are 4.18's own.
constexpr int kFirstNewer = 424;
constexpr int kLastKnown = 470;

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    fputs("usage: as_old_kernel COMMAND…\n", stderr);
    return 2;
  }
  const scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  for (int number = kFirstNewer; number <= kLastKnown; ++number) {
    if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), number, 0) != 0) {
      fputs("as_old_kernel: a rule was refused\n", stderr);
      return 1;
    }
  }
  if (seccomp_load(filter) != 0) {
    fputs("as_old_kernel: the filter was refused\n", stderr);
    return 1;
  }
  execvp(words[1], words + 1);
  perror(words[1]);
  return 1;
}
