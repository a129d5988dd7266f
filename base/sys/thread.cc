#include "base/sys/thread.h"

#include <pthread.h>

#include <new>
#include <system_error>
#include <utility>

#include "base/sys/signals.h"

namespace chokepoint::sys {

Result<std::thread> start_thread(const char* name, std::move_only_function<void()> body) {
  const SignalsHeld held;
  try {
    return std::thread([name, work = std::move(body)]() mutable {
      pthread_setname_np(pthread_self(), name);
      work();
    });
  } catch (const std::system_error& error) {
    Error failed = from_errno(error.code().value(), "start thread", name);
    failed.kind = ErrorKind::Exhausted;
    failed.next_step = "raise the limit on processes (ulimit -u, TasksMax) or free memory";
    return fail(std::move(failed));
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::Exhausted, "start thread", name, "there is no memory left");
  }
}

}  // namespace chokepoint::sys
