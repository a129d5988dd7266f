#include "base/sys/worker.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

#include "base/sys/process.h"
#include "base/sys/signals.h"

namespace chokepoint::sys {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kReportTime{1'000};

// In the worker: how an exception is reported that ends it, on whichever of its threads. The report
// of too little memory is made beforehand: later there may be no memory for it.
struct ExceptionReport {
  MessageSocket* parent = nullptr;
  WorkerWords words = {};
  std::string no_memory = {};
};

ExceptionReport exception_report;

Error error_of_worker(const WorkerWords& words, ErrorKind kind, int code, std::string reason,
                      std::string_view next_step = {}) {
  return {kind, std::string(words.operation), "", code, std::move(reason), std::string(next_step)};
}

std::string no_memory_report(const WorkerWords& words) {
  return packed_error(error_of_worker(words, ErrorKind::Exhausted, ENOMEM,
                                      fmt::format("{} ran out of memory", words.who),
                                      "'ulimit -v' and the limits of the cgroup hold for it, too"));
}

Error error_of_exception(const WorkerWords& words, const std::exception& exception) {
  const auto* const system = dynamic_cast<const std::system_error*>(&exception);
  if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again) {
    return error_of_worker(words, ErrorKind::Exhausted, EAGAIN,
                           fmt::format("a thread of {} could not be started", words.who),
                           "'ulimit -u' and '-v' and the limits of the cgroup hold for it, too");
  }
  return error_of_worker(words, ErrorKind::Io, 0,
                         fmt::format("{} has ended: {}", words.who, exception.what()));
}

[[noreturn]] void end_by_exception() {
  const auto report = [](std::string_view bytes) {
    exception_report.parent->send(WorkerMessage::Failed, bytes, kReportTime);
  };
  try {
    throw;
  } catch (const std::bad_alloc&) {
    report(exception_report.no_memory);
  } catch (const std::exception& exception) {
    report(packed_error(error_of_exception(exception_report.words, exception)));
  } catch (...) {
    _exit(1);
  }
  _exit(1);
}

// Nothing that this program's caller waits for stays open in a worker: the end of a pipe, a
// terminal. The socket under its new number.
int give_up_descriptors(const WorkerOptions& options, int socket) {
  if (options.descriptors.empty()) {
    return keep_only(socket);
  }
  std::vector<int> kept = options.descriptors;
  kept.push_back(socket);
  close_all_but(kept);
  return socket;
}

// In a process just forked, with all signals blocked, which the worker's threads inherit. The stack
// is a copy of the other process's: no exception may unwind into it.
[[noreturn]] void become_worker(const WorkerOptions& options, const MessageSocket& socket,
                                const Worker::Work& work) noexcept {
  if (options.has_session) {
    setsid();
  }
  if (options.name != nullptr) {
    prctl(PR_SET_NAME, options.name);
  }
  // Outside of the block below, whose end it reports.
  MessageSocket parent{Descriptor(give_up_descriptors(options, socket.descriptor()))};
  if (!options.keeps_folder) {
    [[maybe_unused]] const int left = chdir("/");
  }
  try {
    exception_report = {&parent, options.words, no_memory_report(options.words)};
    std::set_terminate([] { std::current_exception() ? end_by_exception() : _exit(1); });
    work(parent);
    _exit(0);
  } catch (...) {
    end_by_exception();
  }
}

}  // namespace

Worker::Worker(pid_t pid, MessageSocket socket, const WorkerWords& words, std::string subject)
    : pid_(pid), socket_(std::move(socket)), words_(words), subject_(std::move(subject)) {}

Result<Worker> Worker::fork(const WorkerOptions& options, const Work& work) {
  TRY(MessageSockets sockets, MessageSocket::open_pair(options.words.operation));
  if (options.queue_bytes > 0) {
    sockets.own.set_queue_bytes(options.queue_bytes);
    sockets.other.set_queue_bytes(options.queue_bytes);
  }
  const SignalsHeld held;
  const pid_t pid = ::fork();
  if (pid < 0) {
    return fail(from_errno(errno, options.words.operation, "fork"));
  }
  if (pid == 0) {
    become_worker(options, sockets.other, work);
  }
  return Worker(pid, std::move(sockets.own), options.words, "");
}

Result<Worker> Worker::start(std::vector<std::string> command, const WorkerWords& words,
                             std::string subject) {
  TRY(MessageSockets sockets, MessageSocket::open_pair(words.operation));
  Spawn spawn{.command = std::move(command), .in = sockets.other.descriptor()};
  sigemptyset(&spawn.blocked);
  TRY(const Process process, Process::start(spawn));
  return Worker(process.pid(), std::move(sockets.own), words, std::move(subject));
}

std::optional<ReceivedMessage> Worker::receive() {
  while (auto received = socket_.receive()) {
    if (received->kind<WorkerMessage>() == WorkerMessage::Failed) {
      error_ = unpacked_error(received->bytes);
    } else if (!opened_ && received->kind<WorkerMessage>() == WorkerMessage::Opened) {
      opened_ = received->bytes;
    } else {
      return received;
    }
  }
  return std::nullopt;
}

bool Worker::wait(Clock::time_point until, int interrupt) const {
  while (!socket_.is_gone()) {
    std::array<pollfd, 2> watched{pollfd{socket_.descriptor(), POLLIN, 0},
                                  pollfd{interrupt, POLLIN, 0}};
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
    const std::int64_t wait = std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max());
    const int ready = ::poll(watched.data(), watched.size(), static_cast<int>(wait));
    if (watched[0].revents != 0) {
      return true;
    }
    if (watched[1].revents != 0 || (ready == 0 && wait == 0)) {
      return false;
    }
  }
  return false;
}

Result<ReceivedMessage> Worker::receive_by(Clock::time_point until, int interrupt) {
  for (;;) {
    if (auto received = receive()) {
      return std::move(*received);
    }
    if (has_failed() || socket_.is_gone()) {
      return fail(why_ended());
    }
    if (!wait(until, interrupt)) {
      return Clock::now() >= until ? fail(late())
                                   : fail(error_of_worker(words_, ErrorKind::Interrupted, 0,
                                                          std::string(words_.interrupted)));
    }
  }
}

Result<std::string> Worker::opened(Clock::time_point until,
                                   const std::function<void(const ReceivedMessage&)>& on_message) {
  for (;;) {
    const auto received = receive();
    if (received && on_message) {
      on_message(*received);
    }
    if (opened_) {
      return *opened_;
    }
    if (has_failed() || socket_.is_gone()) {
      return fail(why_ended());
    }
    if (!received && !wait(until)) {
      return fail(late());
    }
  }
}

Error Worker::why_ended() const {
  Error ended = error_of_worker(words_, ErrorKind::Io, 0, fmt::format("{} has ended", words_.who),
                                words_.gone_step);
  ended.subject = subject_;
  return error_.value_or(std::move(ended));
}

Error Worker::late() const {
  Error late =
      error_of_worker(words_, ErrorKind::Timeout, 0, std::string(words_.late), words_.late_step);
  late.subject = subject_;
  return late;
}

void Worker::kill() const {
  if (::kill(pid_, SIGKILL) == 0) {
    waitpid(pid_, nullptr, 0);
  }
}

}  // namespace chokepoint::sys
