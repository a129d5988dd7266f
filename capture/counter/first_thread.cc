#include "capture/counter/first_thread.h"

#include <fmt/format.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>

namespace chokepoint::capture::counter {
namespace {

// Functions of the kernel in which a thread sleeps that waits for a file system or its device.
// Names as in /proc/PID/wchan of Linux 5.10 to 6.18.
constexpr std::array<std::string_view, 24> kFileWaits{"folio_wait",
                                                      "wait_on_page",
                                                      "__lock_page",
                                                      "filemap_",
                                                      "io_schedule",
                                                      "bit_wait_io",
                                                      "wait_on_bit",
                                                      "__wait_on_buffer",
                                                      "submit_bio_wait",
                                                      "blkdev_issue_flush",
                                                      "__iomap_dio",
                                                      "iomap_dio",
                                                      "blkdev_direct",
                                                      "jbd2_",
                                                      "ext4_",
                                                      "xfs_",
                                                      "btrfs_",
                                                      "f2fs_",
                                                      "balance_dirty",
                                                      "fuse_",
                                                      "request_wait_answer",
                                                      "rpc_wait",
                                                      "nfs",
                                                      "cifs_"};
// Those in which it waits for what it wrote.
constexpr std::array<std::string_view, 6> kWriteWaits{
    "jbd2_log_wait", "folio_wait_writeback", "wait_on_page_writeback",
    "balance_dirty", "blkdev_issue_flush",   "file_write_and_wait"};

// Those of poll() and of reading a pipe.
constexpr std::array<std::string_view, 4> kQueueWaits{"poll_schedule_timeout", "do_poll",
                                                      "pipe_read", "anon_pipe_read"};

// Those of receiving from a socket, and of connecting one.
constexpr std::array<std::string_view, 4> kSocketWaits{
    "sk_wait_data", "__skb_wait_for_more_packets", "inet_wait_for_connect", "inet_stream_connect"};

template <std::size_t Count>
bool has_prefix_in(std::string_view name, const std::array<std::string_view, Count>& beginnings) {
  return std::ranges::any_of(
      beginnings, [&](std::string_view beginning) { return name.starts_with(beginning); });
}

bool writes(std::int64_t system_call) {
  constexpr std::array kWrites{
      SYS_write,     SYS_pwrite64,  SYS_writev, SYS_pwritev, SYS_pwritev2,
      SYS_fsync,     SYS_fdatasync, SYS_sync,   SYS_syncfs,  SYS_sync_file_range,
      SYS_fallocate, SYS_ftruncate, SYS_close,  SYS_msync,   SYS_copy_file_range,
      SYS_unlinkat,  SYS_renameat2};
  return std::ranges::count(kWrites, system_call) > 0;
}

// Whether its first argument is a file's descriptor.
bool is_of_descriptor(std::int64_t system_call) {
  constexpr std::array kOthers{SYS_sync,       SYS_openat, SYS_unlinkat,   SYS_renameat2, SYS_msync,
                               SYS_newfstatat, SYS_statx,  SYS_readlinkat, SYS_mmap};
  return std::ranges::count(kOthers, system_call) == 0;
}

// Without the right to read wchan, an uninterruptible sleep (state D) is assumed to be one.
bool is_of_files(char state, std::string_view waits_in) {
  const bool is_hidden = waits_in.empty() || waits_in == "0";
  return is_hidden ? state == 'D' : has_prefix_in(waits_in, kFileWaits);
}

bool is_frozen(std::string_view waits_in) {
  return waits_in.starts_with("do_freezer_trap") || waits_in.starts_with("__refrigerator");
}

}  // namespace

std::string_view name_of(Doing doing) {
  constexpr std::array<std::string_view, 6> kNames{"runs",  "sleeps", "rests",
                                                   "reads", "writes", "stopped"};
  return kNames.at(static_cast<std::size_t>(doing));
}

FirstThread::FirstThread(const sys::Root& root, pid_t pid)
    : pid_(pid),
      stat_file_(root, fmt::format("/proc/{}/stat", pid)),
      waits_in_(root, fmt::format("/proc/{}/wchan", pid)) {}

std::optional<FirstThread::SystemCall> FirstThread::system_call_in(std::string_view text) {
  Words words(text);
  const auto number = sys::parse_number<std::int64_t>(words.next());
  if (!number || *number < 0) {
    return std::nullopt;  // "running", or "-1" outside of any
  }
  const std::string_view first = words.next();
  return SystemCall{
      .number = *number,
      .first = first.starts_with("0x") ? number_in(first.substr(2), 16) : std::nullopt};
}

std::optional<FirstThread::Stat> FirstThread::stat(std::string& buffer) {
  constexpr std::size_t kWordsBeforeTimes = 10;  // between the state and utime
  const Result<std::string_view> text = stat_file_.read(buffer);
  const std::size_t bracket = text ? text->rfind(") ") : std::string_view::npos;
  if (bracket == std::string_view::npos || bracket + 2 >= text->size()) {
    return std::nullopt;
  }
  Words words(text->substr(bracket + 3));
  words.skip(kWordsBeforeTimes);
  const auto user = sys::parse_number<std::uint64_t>(words.next());
  const auto system = sys::parse_number<std::uint64_t>(words.next());
  return Stat{.state = text->at(bracket + 2), .cpu_ticks = user.value_or(0) + system.value_or(0)};
}

std::optional<FirstThread::SystemCall> FirstThread::system_call(const sys::Root& root) const {
  const auto text = root.text(fmt::format("/proc/{}/syscall", pid_));
  return text ? system_call_in(*text) : std::nullopt;
}

std::optional<ThreadSample> FirstThread::sample(const sys::Root& root,
                                                const host::ProcessMounts& mounts,
                                                std::string& buffer) {
  const std::optional<Stat> found = stat(buffer);
  if (!found) {
    return std::nullopt;
  }
  ThreadSample sample{.cpu_ticks = found->cpu_ticks};
  const char state = found->state;
  if (state == 'R' || state == 'T' || state == 't') {
    sample.doing = state == 'R' ? Doing::Runs : Doing::Stopped;
  } else if (state == 'S' || state == 'D') {
    add_sleep(root, mounts, state, waits_in_.read(buffer).value_or(""), sample);
  }
  return sample;
}

void FirstThread::add_sleep(const sys::Root& root, const host::ProcessMounts& mounts, char state,
                            std::string_view waits_in, ThreadSample& sample) const {
  if (is_of_files(state, waits_in)) {
    return add_files(root, mounts, waits_in, sample);
  }
  sample.doing = is_frozen(waits_in)                         ? Doing::Stopped
                 : waits_in.starts_with("hrtimer_nanosleep") ? Doing::Rests
                                                             : Doing::Sleeps;
  sample.is_at_queue = has_prefix_in(waits_in, kQueueWaits);
  sample.is_at_socket = has_prefix_in(waits_in, kSocketWaits);
}

std::optional<ThreadDetail> FirstThread::inspect(const sys::Root& root,
                                                 const host::ProcessMounts& mounts,
                                                 std::string& buffer) {
  const std::optional<ThreadSample> found = sample(root, mounts, buffer);
  const std::optional<Stat> now = found ? stat(buffer) : std::nullopt;
  if (!now) {
    return std::nullopt;
  }
  ThreadDetail close{.sample = *found, .state = now->state};
  const std::string_view waits_in = waits_in_.read(buffer).value_or("");
  close.waits_in = waits_in == "0" ? "" : std::string(waits_in);
  if (const auto call = system_call(root)) {
    close.system_call = call->number;
    close.file = file_of(root, call);
  }
  return close;
}

std::string FirstThread::file_of(const sys::Root& root,
                                 const std::optional<SystemCall>& call) const {
  if (!call || !call->first || !is_of_descriptor(call->number)) {
    return {};
  }
  return root.link_target(fmt::format("/proc/{}/fd/{}", pid_, *call->first)).value_or("");
}

void FirstThread::add_files(const sys::Root& root, const host::ProcessMounts& mounts,
                            std::string_view waits_in, ThreadSample& sample) const {
  const std::optional<SystemCall> call = system_call(root);
  const bool is_write = has_prefix_in(waits_in, kWriteWaits) || (call && writes(call->number));
  const std::string file = file_of(root, call);
  const host::Mount* mount = file.empty() ? nullptr : mounts.of(file);
  sample.doing = is_write ? Doing::Writes : Doing::Reads;
  sample.mount = mount == nullptr ? "?" : mount->point;
}

}  // namespace chokepoint::capture::counter
