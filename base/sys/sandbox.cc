#include "base/sys/sandbox.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/sys/root.h"
#include "base/sys/sanitizers.h"

namespace chokepoint::sys {
namespace {

constexpr const char* kGiveUp = "give up privileges";
constexpr uid_t kNobody = 65'534;  // the kernel's overflowuid, and nobody on Debian and Fedora
// A thread that was joined is still listed for a moment.
constexpr int kMaxWaits = 100;
constexpr std::chrono::milliseconds kWait{1};

using Capabilities = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

std::unexpected<Error> failed() { return fail(from_errno(errno, kGiveUp, "this process")); }

// The caller's own, so that nobody else's processes share its user. EINVAL: this user namespace has
// no such user. EPERM: a container without the right to change users.
Result<> become_nobody() {
  if (geteuid() != 0) {
    return {};
  }
  if (setgroups(0, nullptr) != 0 && errno != EPERM) {
    return failed();
  }
  const bool is_done =
      setresgid(kNobody, kNobody, kNobody) == 0 && setresuid(kNobody, kNobody, kNobody) == 0;
  return is_done || errno == EINVAL || errno == EPERM ? Result<>() : failed();
}

// What a program started later could get. Needs CAP_SETPCAP: who lacks it is held by no_new_privs.
void bound_capabilities() {
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0;
       ++capability) {
    prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
}

Result<> drop_capabilities() {
  __user_cap_header_struct head{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const Capabilities none{};
  return syscall(SYS_capset, &head, none.data()) == 0 ? Result<>() : failed();
}

// The kernel changes users and capabilities of one thread, the calling one.
bool has_capabilities(const std::string& status) {
  const std::size_t at = status.find("CapPrm:");
  return at == std::string::npos || std::stoull(status.substr(at + 7), nullptr, 16) != 0;
}

std::optional<std::string> thread_with_capabilities() {
  const Root root;
  for (const std::string& thread : root.list("/proc/self/task")) {
    const auto status = root.read("/proc/self/task/" + thread + "/status");
    if (status && has_capabilities(*status)) {
      return thread;
    }
  }
  return std::nullopt;
}

Result<> check_threads() {
  std::optional<std::string> thread = thread_with_capabilities();
  for (int i = 0; thread && i < kMaxWaits; ++i) {
    std::this_thread::sleep_for(kWait);
    thread = thread_with_capabilities();
  }
  return thread ? fail(ErrorKind::Busy, kGiveUp, "thread " + *thread, "it was started before")
                : Result<>();
}

// What reading packets and pipes, computing, threads and the C library need. Nothing that opens a
// file or socket, starts a program or touches another process.
constexpr std::array kAllowed{SCMP_SYS(read),
                              SCMP_SYS(readv),
                              SCMP_SYS(pread64),
                              SCMP_SYS(write),
                              SCMP_SYS(writev),
                              SCMP_SYS(close),
                              SCMP_SYS(lseek),
                              SCMP_SYS(fstat),
                              SCMP_SYS(newfstatat),
                              SCMP_SYS(statx),
                              SCMP_SYS(poll),
                              SCMP_SYS(ppoll),
                              SCMP_SYS(recvmsg),
                              SCMP_SYS(recvfrom),
                              SCMP_SYS(getsockopt),
                              SCMP_SYS(shutdown),
                              SCMP_SYS(dup),
                              SCMP_SYS(eventfd2),
                              SCMP_SYS(pipe2),
                              SCMP_SYS(munmap),
                              SCMP_SYS(mremap),
                              SCMP_SYS(madvise),
                              SCMP_SYS(brk),
                              SCMP_SYS(futex),
                              SCMP_SYS(set_robust_list),
                              SCMP_SYS(rseq),
                              SCMP_SYS(membarrier),
                              SCMP_SYS(sched_yield),
                              SCMP_SYS(sched_getaffinity),
                              SCMP_SYS(exit),
                              SCMP_SYS(exit_group),
                              SCMP_SYS(clock_gettime),
                              SCMP_SYS(clock_getres),
                              SCMP_SYS(clock_nanosleep),
                              SCMP_SYS(nanosleep),
                              SCMP_SYS(gettimeofday),
                              SCMP_SYS(time),
                              SCMP_SYS(rt_sigaction),
                              SCMP_SYS(rt_sigprocmask),
                              SCMP_SYS(rt_sigreturn),
                              SCMP_SYS(sigaltstack),
                              SCMP_SYS(restart_syscall),
                              SCMP_SYS(tgkill),
                              SCMP_SYS(getpid),
                              SCMP_SYS(gettid),
                              SCMP_SYS(getuid),
                              SCMP_SYS(geteuid),
                              SCMP_SYS(getrandom),
                              SCMP_SYS(getrusage),
                              SCMP_SYS(uname),
                              SCMP_SYS(sysinfo)};

using Filter = std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, void (*)(scmp_filter_ctx)>;

constexpr scmp_arg_cmp argument_is(unsigned argument, scmp_datum_t value) {
  return {.arg = argument, .op = SCMP_CMP_EQ, .datum_a = value, .datum_b = 0};
}

constexpr scmp_arg_cmp argument_has(unsigned argument, scmp_datum_t mask, scmp_datum_t bits) {
  return {.arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = bits};
}

bool allow(const Filter& filter, int call, const std::vector<scmp_arg_cmp>& conditions = {}) {
  return seccomp_rule_add_array(filter.get(), SCMP_ACT_ALLOW, call,
                                static_cast<unsigned>(conditions.size()), conditions.data()) == 0;
}

// Memory that can be run is what an attacker wants; a thread is a clone that shares memory. clone3
// keeps its flags in memory, where a filter cannot look: the C library falls back on clone.
bool allow_bounded_calls(const Filter& filter, const Sandbox& sandbox) {
  constexpr scmp_datum_t kIsThread = CLONE_VM | CLONE_THREAD;
  bool is_done = allow(filter, SCMP_SYS(mmap), {argument_has(2, PROT_EXEC, 0)}) &&
                 allow(filter, SCMP_SYS(mprotect), {argument_has(2, PROT_EXEC, 0)}) &&
                 allow(filter, SCMP_SYS(clone), {argument_has(0, kIsThread, kIsThread)}) &&
                 seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0 &&
                 allow(filter, SCMP_SYS(prctl), {argument_is(0, PR_SET_NAME)}) &&
                 allow(filter, SCMP_SYS(setsockopt),
                       {argument_is(1, SOL_SOCKET), argument_is(2, SO_ATTACH_FILTER)}) &&
                 allow(filter, SCMP_SYS(ioctl), {argument_is(1, TIOCGWINSZ)}) &&
                 // libpcap asks whether an interface that went down is still there.
                 allow(filter, SCMP_SYS(ioctl), {argument_is(1, SIOCGIFFLAGS)}) &&
                 allow(filter, SCMP_SYS(ioctl), {argument_is(1, TCGETS)}) &&
                 allow(filter, SCMP_SYS(fcntl), {argument_is(1, F_GETFL)}) &&
                 allow(filter, SCMP_SYS(fcntl), {argument_is(1, F_DUPFD_CLOEXEC)});
  if (sandbox.connected_to >= 0) {
    const auto socket = static_cast<scmp_datum_t>(sandbox.connected_to);
    is_done = is_done && allow(filter, SCMP_SYS(sendmsg), {argument_is(0, socket)});
  }
  return is_done;
}

Result<> limit_calls(const Sandbox& sandbox) {
  const Filter filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)), seccomp_release);
  bool is_done = filter != nullptr;
  for (const int call : kAllowed) {
    // Another architecture may not have it.
    is_done = is_done && (allow(filter, call) || call < 0);
  }
  if (!is_done || !allow_bounded_calls(filter, sandbox)) {
    return fail(ErrorKind::Unsupported, kGiveUp, "system calls", "the filter cannot be made");
  }
  const int status = seccomp_load(filter.get());
  // A kernel or container without filters: the rest is still given up.
  const bool has_none = status == -EINVAL || status == -ENOSYS;
  return status == 0 || has_none ? Result<>() : fail(from_errno(-status, kGiveUp, "system calls"));
}

}  // namespace

Result<> enter_sandbox(const Sandbox& sandbox) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return failed();
  }
  bound_capabilities();
  TRY(become_nobody());
  TRY(drop_capabilities());
  TRY(check_threads());
  return kIsSanitized ? Result<>() : limit_calls(sandbox);
}

bool gives_capabilities(const std::filesystem::path& program) {
  return getxattr(program.c_str(), "security.capability", nullptr, 0) > 0 &&
         access(program.c_str(), X_OK) == 0;
}

bool has_capability(unsigned capability) {
  __user_cap_header_struct head{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  Capabilities own{};
  return syscall(SYS_capget, &head, own.data()) == 0 &&
         (own[capability / 32].effective >> (capability % 32) & 1U) != 0;
}

}  // namespace chokepoint::sys
