#include "capture/commands/watch.h"

#include <poll.h>

#include <algorithm>
#include <array>

#include "base/cli/context.h"
#include "capture/commands/live_view.h"

namespace chokepoint::capture {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kRefreshLive{1000};
constexpr milliseconds kRefreshFile{200};

enum class Event { Over, Interrupt, Time };

Event wait(int over, int interrupt, milliseconds most) {
  std::array<pollfd, 2> watched{{{over, POLLIN, 0}, {interrupt, POLLIN, 0}}};
  poll(watched.data(), watched.size(), static_cast<int>(most.count()));
  if (watched[0].revents != 0) {
    return Event::Over;
  }
  return watched[1].revents != 0 ? Event::Interrupt : Event::Time;
}

}  // namespace

bool watch(observer::Observer& observer, const WatchOptions& options, int interrupt,
           const cli::Context& context) {
  LiveView view(context, options);
  cli::Progress progress(context, "reading", 0);
  const std::int64_t end_ns = context.clock.monotonic_ns() + options.most_time.count();
  const bool is_timed = options.is_live && options.most_time.count() > 0;
  for (milliseconds next = options.is_live ? kRefreshLive : kRefreshFile;;) {
    const auto left = std::chrono::ceil<milliseconds>(
        nanoseconds(std::max<std::int64_t>(end_ns - context.clock.monotonic_ns(), 0)));
    const Event event =
        wait(observer.descriptor(), interrupt, is_timed ? std::min(next, left) : next);
    if (event != Event::Time) {
      observer.stop();
      return event == Event::Interrupt;
    }
    if (is_timed && context.clock.monotonic_ns() >= end_ns) {
      observer.stop();
      return false;
    }
    if (options.is_live) {
      view.refresh(observer);
    } else {
      progress.update(observer.course().progress().frames, "frames");
    }
  }
}

}  // namespace chokepoint::capture
