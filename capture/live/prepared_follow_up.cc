#include "capture/live/prepared_follow_up.h"

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <string_view>
#include <tuple>

#include "base/net/deadline.h"
#include "base/sys/process.h"

namespace chokepoint::capture::live {
namespace {

using net::Deadline;

constexpr std::string_view kVerdict = "the verdict";
// What was interrupted removes what it has not finished.
constexpr std::chrono::milliseconds kMostToEnd{600};

}  // namespace

Result<PreparedFollowUp> PreparedFollowUp::fork(const cli::Context& context,
                                                const std::string& folder, const FollowUp& wanted) {
  TRY(sys::Pipe begin, sys::open_pipe("start", kVerdict));
  TRY(sys::Pipe end, sys::open_pipe("start", kVerdict));
  TRY(sys::Process::fork([&] {
    begin.write.reset();
    end.read.reset();
    char byte = 0;
    if (read(begin.read.get(), &byte, 1) == 1) {
      follow_up(context, folder, wanted,
                {.until = Deadline::Clock::time_point::max(), .interrupt = begin.read.get()});
    }
    return 0;
  }));
  return PreparedFollowUp(std::move(begin), std::move(end.read));
}

void PreparedFollowUp::run(int interrupt) {
  constexpr char kBegin = 1;
  if (write(begin_.write.get(), &kBegin, 1) == 1) {
    std::ignore = net::wait_for(
        end_.get(), POLLIN, {.until = Deadline::Clock::time_point::max(), .interrupt = interrupt},
        "await", kVerdict);
  }
  begin_.write.reset();
  std::ignore = net::wait_for(end_.get(), POLLIN, Deadline::of(kMostToEnd), "await", kVerdict);
}

}  // namespace chokepoint::capture::live
