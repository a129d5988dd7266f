#include "capture/source/privileges.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "base/sys/root.h"

namespace chokepoint::capture::source {
namespace {

constexpr const char* kGiveUpPrivileges = "give up privileges";
// A thread that was joined is still listed for a moment.
constexpr int kMaxWaits = 100;
constexpr std::chrono::milliseconds kWait{1};

Result<> set_capabilities(std::uint32_t kept) {
  __user_cap_header_struct head{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> before{};
  if (syscall(SYS_capget, &head, before.data()) != 0) {
    return fail(from_errno(errno, kGiveUpPrivileges, "this thread"));
  }
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> after{};
  after[0].permitted = before[0].permitted & kept;
  after[0].effective = before[0].effective & kept;
  if (syscall(SYS_capset, &head, after.data()) != 0) {
    return fail(from_errno(errno, kGiveUpPrivileges, "this thread"));
  }
  return {};
}

// The kernel sets capabilities of one thread, the calling one.
bool has_none_but(const std::string& status, std::uint64_t kept) {
  const std::size_t at = status.find("CapPrm:");
  return at != std::string::npos && (std::stoull(status.substr(at + 7), nullptr, 16) & ~kept) == 0;
}

std::optional<std::string> thread_with_more(std::uint64_t kept) {
  const sys::Root root;
  for (const std::string& thread : root.list("/proc/self/task")) {
    const auto status = root.read("/proc/self/task/" + thread + "/status");
    if (status && !has_none_but(*status, kept)) {
      return thread;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<> give_up_privileges(Keep keep) {
  const std::uint32_t kept = keep == Keep::Files ? 1U << CAP_DAC_OVERRIDE : 0;
  TRY(set_capabilities(kept));
  std::optional<std::string> thread = thread_with_more(kept);
  for (int i = 0; thread && i < kMaxWaits; ++i) {
    std::this_thread::sleep_for(kWait);
    thread = thread_with_more(kept);
  }
  return thread ? fail(ErrorKind::Busy, kGiveUpPrivileges, "thread " + *thread,
                       "it was started before")
                : Result<>();
}

}  // namespace chokepoint::capture::source
