#include "capture/stall/kernel_stacks.h"

#include <fmt/format.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/sys/number.h"
#include "capture/counter/kernel_file.h"
#include "capture/stall/py_spy.h"

namespace chokepoint::capture::stall {
namespace {

constexpr std::size_t kMaxWordBytes = 96;
constexpr std::size_t kMaxKernelFrames = 12;
constexpr std::size_t kMaxKernelThreads = 16;  // that are described
constexpr std::size_t kMaxThreadsRead = 512;   // a rank of PyTorch has some hundred

// Of the calls in which a program waits; others have their number.
std::string call_text(std::int64_t number) {
  using Call = std::pair<std::int64_t, std::string_view>;
  constexpr std::array kCalls{
      Call{SYS_read, "read"},
      Call{SYS_write, "write"},
      Call{SYS_pread64, "pread64"},
      Call{SYS_pwrite64, "pwrite64"},
      Call{SYS_readv, "readv"},
      Call{SYS_writev, "writev"},
      Call{SYS_openat, "openat"},
      Call{SYS_close, "close"},
      Call{SYS_fsync, "fsync"},
      Call{SYS_fdatasync, "fdatasync"},
      Call{SYS_flock, "flock"},
      Call{SYS_fcntl, "fcntl"},
      Call{SYS_ioctl, "ioctl"},
      Call{SYS_futex, "futex"},
      Call{SYS_ppoll, "ppoll"},
      Call{SYS_pselect6, "pselect6"},
      Call{SYS_epoll_pwait, "epoll_pwait"},
      Call{SYS_nanosleep, "nanosleep"},
      Call{SYS_clock_nanosleep, "clock_nanosleep"},
      Call{SYS_recvfrom, "recvfrom"},
      Call{SYS_recvmsg, "recvmsg"},
      Call{SYS_sendto, "sendto"},
      Call{SYS_sendmsg, "sendmsg"},
      Call{SYS_connect, "connect"},
      Call{SYS_accept, "accept"},
      Call{SYS_accept4, "accept4"},
      Call{SYS_wait4, "wait4"},
      Call{SYS_waitid, "waitid"},
      Call{SYS_munmap, "munmap"},
#ifdef SYS_poll
      Call{SYS_poll, "poll"},
      Call{SYS_select, "select"},
      Call{SYS_epoll_wait, "epoll_wait"},
      Call{SYS_open, "open"},
#endif
  };
  const auto* const found = std::ranges::find(kCalls, number, &Call::first);
  return found == kCalls.end() ? fmt::format("system call {}", number) : std::string(found->second);
}

// Functions of the kernel in which a pool's thread waits for work, or a library's for events.
bool is_idle(const record::StackThread& thread) {
  constexpr std::array<std::string_view, 9> kIdle{
      "futex",     "do_futex", "ep_poll",           "do_epoll_wait",  "poll_schedule_timeout",
      "do_select", "do_poll",  "hrtimer_nanosleep", "do_sigtimedwait"};
  return thread.state == "S" &&
         (thread.waits_in.empty() || std::ranges::any_of(kIdle, [&](std::string_view beginning) {
            return thread.waits_in.starts_with(beginning);
          }));
}

std::string word_of(const sys::Root& root, const std::string& path) {
  return cleaned(root.text(path).value_or(""), kMaxWordBytes);
}

// "7 (any name) S 1 …": the letter.
std::string state_in(std::string_view stat) {
  const std::size_t bracket = stat.rfind(") ");
  return bracket == std::string_view::npos ? "" : cleaned(stat.substr(bracket + 2, 1), 1);
}

// "230 0x0 …"; "running", or "-1 …" outside of any.
std::string call_in(std::string_view text) {
  const auto number = sys::parse_number<std::int64_t>(counter::Words(text).next());
  return number && *number >= 0 ? call_text(*number) : "";
}

// "[<0>] hrtimer_nanosleep+0xb5/0x130" a line.
std::vector<std::string> kernel_frames_in(std::string_view stack) {
  std::vector<std::string> frames;
  for (counter::Words lines = counter::lines_of(stack); frames.size() < kMaxKernelFrames;) {
    const std::string_view line = lines.next();
    if (line.empty()) {
      break;
    }
    const std::size_t begin = line.find("] ");
    const std::string_view name = begin == std::string_view::npos ? line : line.substr(begin + 2);
    frames.push_back(cleaned(name.substr(0, name.find('+')), kMaxWordBytes));
  }
  return frames;
}

std::string folder_of(std::int64_t pid, std::int64_t thread) {
  return fmt::format("/proc/{}/task/{}/", pid, thread);
}

// What it takes to know whether it is idle.
record::StackThread brief_thread(const sys::Root& root, std::int64_t pid, std::int64_t thread) {
  const std::string folder = folder_of(pid, thread);
  const std::string waits_in = word_of(root, folder + "wchan");
  return {.id = thread,
          .state = state_in(root.text(folder + "stat").value_or("")),
          .waits_in = waits_in == "0" ? "" : waits_in};
}

void add_details(const sys::Root& root, std::int64_t pid, record::StackThread& thread) {
  const std::string folder = folder_of(pid, thread.id);
  thread.name = word_of(root, folder + "comm");
  thread.system_call = call_in(root.text(folder + "syscall").value_or(""));
  thread.kernel = kernel_frames_in(root.text(folder + "stack").value_or(""));
}

}  // namespace

record::StackThread kernel_thread(const sys::Root& root, std::int64_t pid, std::int64_t thread) {
  record::StackThread found = brief_thread(root, pid, thread);
  add_details(root, pid, found);
  return found;
}

record::Stacks kernel_stacks(const sys::Root& root, std::int64_t pid) {
  record::Stacks stacks{.pid = pid, .threads = {kernel_thread(root, pid, pid)}};
  std::vector<std::string> names = root.list(fmt::format("/proc/{}/task", pid));
  std::erase(names, fmt::format("{}", pid));
  for (const std::string& name : names) {
    const auto id = sys::parse_number<std::int64_t>(name);
    const bool is_read = id && names.size() <= kMaxThreadsRead;
    record::StackThread thread = is_read ? brief_thread(root, pid, *id) : record::StackThread{};
    if (!is_read || is_idle(thread) || stacks.threads.size() == kMaxKernelThreads) {
      ++stacks.idle_threads;
    } else if (!thread.state.empty()) {
      add_details(root, pid, thread);
      stacks.threads.push_back(std::move(thread));
    }
  }
  return stacks;
}

}  // namespace chokepoint::capture::stall
