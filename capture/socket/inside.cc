#include "capture/socket/inside.h"

#include <sched.h>

#include <cerrno>
#include <system_error>
#include <thread>

namespace chokepoint::capture::socket {
namespace {

constexpr const char* kOperation = "enter network namespace";

}  // namespace

Result<> inside(int network, const std::function<void()>& work) {
  int code = 0;
  try {
    std::thread([&] {
      code = setns(network, CLONE_NEWNET) == 0 ? 0 : errno;
      if (code == 0) {
        work();
      }
    }).join();
  } catch (const std::system_error& error) {
    return fail(from_errno(error.code().value(), kOperation, "thread"));
  }
  return code == 0 ? Result<>() : fail(from_errno(code, kOperation, "of the job"));
}

}  // namespace chokepoint::capture::socket
