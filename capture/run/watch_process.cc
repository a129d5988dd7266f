#include "capture/run/watch_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <exception>
#include <new>
#include <system_error>

#include <nlohmann/json.hpp>

#include "base/sys/message_socket.h"
#include "base/sys/signals.h"
#include "capture/run/watch.h"

namespace chokepoint::capture::run {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

constexpr const char* kProcessName = "chokepoint-rec";
// For what the job prints while the watch is busy. The kernel clamps it to net.core.wmem_max.
constexpr int kQueueRoomBytes = 1 << 20;
constexpr milliseconds kAttendInterval{250};
constexpr milliseconds kFirstAttendInterval{100};  // while the job is young
// So that a job that prints without end does not keep the watch from looking at it.
constexpr int kMaxMessagesPerTurn = 64;
constexpr milliseconds kOutputPatience{50};
constexpr milliseconds kNotePatience{1'000};

enum class Message : std::int32_t {
  Opened,
  Failed,
  Began,
  Say,
  Looked,
  Done,  // of the watch
  Remark,
  Begin,
  Output,
  Abandon,
  End,  // of chokepoint
};

// Under the name of this protocol.
bool send_message(int socket, Message kind, std::string_view text, milliseconds time,
                  std::int32_t number = 0, std::int64_t t_ns = 0) {
  return sys::send_message(
      socket, {.kind = static_cast<std::int32_t>(kind), .number = number, .t_ns = t_ns}, text,
      time);
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The watch's own side. Its thread takes messages and looks after the watch; what blocks is on the
// watch's threads, but opening and closing.
class WatchedJob {
 public:
  WatchedJob(int socket, Screen& screen, const sys::Clock& clock)
      : socket_(socket), screen_(screen), clock_(clock), buffer_(sys::message_buffer()) {}

  void run(const Options& options, const sys::Root& root) {
    Result<std::unique_ptr<Watch>> watch = Watch::open(options, root, clock_);
    if (!watch) {
      send(Message::Failed, sys::packed_error(watch.error()));
      return;
    }
    watch_ = std::move(*watch);
    for (const std::string& warning : watch_->warnings()) {
      screen_.warn(warning);
    }
    print();
    send(Message::Opened, text_of(Json(watch_->environment())));
    while (watch_) {
      wait();
      take_messages();
      look_after_job();
    }
  }

 private:
  void send(Message kind, std::string_view text = {}) const {
    send_message(socket_, kind, text, kNotePatience);
  }

  void print() const {
    const std::string text = screen_.take_text();
    for (std::size_t at = 0; at < text.size(); at += sys::kMaxMessageBytes) {
      send(Message::Say, std::string_view(text).substr(at, sys::kMaxMessageBytes));
    }
  }

  void wait() const {
    pollfd messages{.fd = socket_, .events = POLLIN, .revents = 0};
    // Rounded up: less would be waited for without a pause.
    const std::int64_t left_ms = (due_ns_ - clock_.monotonic_ns() + 999'999) / 1'000'000;
    ::poll(&messages, 1, has_begun_ ? static_cast<int>(std::max<std::int64_t>(left_ms, 0)) : -1);
  }

  void take_messages() {
    bool is_gone = false;
    for (int left = kMaxMessagesPerTurn; watch_ && left > 0; --left) {
      const auto received = sys::receive_message(socket_, buffer_.get(), is_gone);
      if (is_gone) {
        // As when chokepoint was one process and was killed: the job has the marks' socket and the
        // plugin's folder, which stay.
        _exit(1);
      }
      if (!received) {
        return;
      }
      take(*received);
    }
  }

  void take(const sys::ReceivedMessage& received) {
    switch (static_cast<Message>(received.head.kind)) {
      case Message::Remark:
        watch_->remark(std::string(received.bytes));
        return;
      case Message::Begin:
        begin(Json::parse(received.bytes));
        return;
      case Message::Output:
        take_output({.t_ns = received.head.t_ns,
                     .stream = static_cast<job::Stream>(received.head.number),
                     .bytes = received.bytes});
        return;
      case Message::Abandon:
        watch_->abandon(received.head.number);
        return finish();
      case Message::End:
        return end(received.bytes.empty() ? std::optional<int>(received.head.number)
                                          : std::nullopt);
      default:
        return;
    }
  }

  void begin(const Json& selection) {
    watch_->begin({.pid = selection.at(0),
                   .cgroup = selection.at(1),
                   .adopter = selection.at(2),
                   .not_the_jobs = selection.at(3)});
    has_begun_ = true;
    begun_ns_ = clock_.monotonic_ns();
    send(Message::Began);
  }

  void take_output(const job::OutputPiece& piece) {
    watch_->take_output(piece);
    screen_.note_output(piece);
  }

  void look_after_job() {
    if (!watch_ || !has_begun_) {
      return;
    }
    if (const std::int64_t now_ns = clock_.monotonic_ns(); now_ns >= due_ns_) {
      const bool is_young = now_ns - begun_ns_ < std::chrono::nanoseconds(kYoung).count();
      due_ns_ = now_ns +
                std::chrono::nanoseconds(is_young ? kFirstAttendInterval : kAttendInterval).count();
      watch_->poll();
      screen_.show(watch_->figures(), now_ns);
      print();
    }
  }

  void end(std::optional<int> exit_status) {
    watch_->final_sample(exit_status);
    send(Message::Looked);
    const record::WriterStatus status = watch_->close(exit_status);
    screen_.sum_up(watch_->figures(), watch_->record_path(), status);
    print();
    finish();
  }

  void finish() {
    watch_.reset();
    send(Message::Done);
  }

  const int socket_;
  Screen& screen_;
  const sys::Clock& clock_;
  std::unique_ptr<char[]> buffer_;
  std::unique_ptr<Watch> watch_;
  bool has_begun_ = false;
  std::int64_t due_ns_ = 0;
  std::int64_t begun_ns_ = 0;
};

// How the watch reports that an exception ended it, on whichever of its threads. The report of too
// little memory is made beforehand: later there may be no memory for it.
struct EndReport {
  int socket = -1;
  std::string no_memory = {};
};

EndReport end_report;

constexpr std::string_view kNotWatchedFor = "watch the job";

std::string no_memory_report() {
  return sys::packed_error({ErrorKind::Exhausted, std::string(kNotWatchedFor), "", ENOMEM,
                            "the process that watches ran out of memory",
                            "'ulimit -v' and the limits of the job's cgroup hold for it, too"});
}

Error why_ended_by(const std::exception& error) {
  const auto* const system = dynamic_cast<const std::system_error*>(&error);
  if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again) {
    return {ErrorKind::Exhausted,
            std::string(kNotWatchedFor),
            "",
            EAGAIN,
            "a thread of the process that watches could not be started",
            "'ulimit -u' and '-v' and the limits of the job's cgroup hold for it, too"};
  }
  return {ErrorKind::Io, std::string(kNotWatchedFor), "", 0,
          fmt::format("the process that watches has ended: {}", error.what())};
}

[[noreturn]] void end_by_exception() {
  const auto report = [](std::string_view bytes) {
    send_message(end_report.socket, Message::Failed, bytes, kNotePatience);
  };
  try {
    throw;
  } catch (const std::bad_alloc&) {
    report(end_report.no_memory);
  } catch (const std::exception& error) {
    report(sys::packed_error(why_ended_by(error)));
  } catch (...) {
    _exit(1);
  }
  _exit(1);
}

// In a process just forked, with all signals blocked; its threads inherit that. Nothing that
// chokepoint's caller waits for stays open here: the end of a pipe, a terminal.
[[noreturn]] void become_watch(int socket, const Options& options, Screen& screen,
                               const sys::Root& root, const sys::Clock& clock) noexcept {
  setsid();
  prctl(PR_SET_NAME, kProcessName);
  // The caller's stack is a copy of the job's parent: no exception may unwind into it.
  try {
    end_report = {.socket = sys::keep_only(socket), .no_memory = no_memory_report()};
    std::set_terminate([] { std::current_exception() ? end_by_exception() : _exit(1); });
    WatchedJob(end_report.socket, screen, clock).run(options, root);
  } catch (...) {
    end_by_exception();
  }
  _exit(0);
}

std::unexpected<Error> not_watched(ErrorKind kind, std::string_view why,
                                   std::string_view next_step = {}) {
  return fail(kind, kNotWatchedFor, "", why, next_step);
}

constexpr std::string_view kSeeDisk = "see whether its disk answers";

}  // namespace

WatchProcess::WatchProcess(pid_t pid, sys::Descriptor socket, OnText on_text,
                           milliseconds open_patience)
    : pid_(pid),
      socket_(std::move(socket)),
      on_text_(std::move(on_text)),
      open_patience_(open_patience),
      buffer_(sys::message_buffer()) {}

Result<WatchProcess> WatchProcess::start(const Options& options, Screen& screen,
                                         const sys::Root& root, const sys::Clock& clock,
                                         OnText on_text, milliseconds open_patience) {
  TRY(sys::MessageSockets sockets, sys::open_message_sockets("watch the job"));
  setsockopt(sockets.own.get(), SOL_SOCKET, SO_SNDBUF, &kQueueRoomBytes, sizeof kQueueRoomBytes);
  const sys::SignalsHeld held;
  const pid_t pid = fork();
  if (pid < 0) {
    return fail(from_errno(errno, "watch the job", "fork"));
  }
  if (pid == 0) {
    become_watch(sockets.other.get(), options, screen, root, clock);
  }
  return WatchProcess(pid, std::move(sockets.own), std::move(on_text), open_patience);
}

void WatchProcess::lose() {
  socket_.reset();
  stage_ = stage_ == Stage::Done || stage_ == Stage::Failed ? stage_ : Stage::Gone;
}

bool WatchProcess::receive_one() {
  bool is_gone = false;
  const auto received = sys::receive_message(socket_.get(), buffer_.get(), is_gone);
  if (is_gone) {
    lose();
  }
  if (!received) {
    return false;
  }
  switch (static_cast<Message>(received->head.kind)) {
    case Message::Opened:
      variables_ = Json::parse(received->bytes).get<Variables>();
      stage_ = Stage::Open;
      break;
    case Message::Began:
      stage_ = Stage::Watching;
      break;
    case Message::Failed:
      error_ = sys::unpacked_error(received->bytes);
      stage_ = Stage::Failed;
      break;
    case Message::Looked:
      stage_ = Stage::Looked;
      break;
    case Message::Done:
      stage_ = Stage::Done;
      break;
    default:
      on_text_(received->bytes);
  }
  return true;
}

void WatchProcess::receive() {
  while (socket_ && receive_one()) {
  }
}

bool WatchProcess::wait_for(Stage stage, const net::Deadline& deadline) {
  while (socket_ && stage_ < stage) {
    if (!net::wait_for(socket_.get(), POLLIN, deadline, "", "")) {
      return false;
    }
    receive();
  }
  return stage_ >= stage && stage_ != Stage::Gone;
}

Result<WatchProcess::Variables> WatchProcess::opened() {
  if (!wait_for(Stage::Open, net::Deadline::of(open_patience_))) {
    const bool is_gone = stage_ == Stage::Gone;
    socket_.reset();
    return is_gone
               ? fail(why_ended())
               : not_watched(ErrorKind::Timeout, "the record cannot be opened in time", kSeeDisk);
  }
  return stage_ == Stage::Failed ? fail(why_ended()) : Result<Variables>(variables_);
}

Error WatchProcess::why_ended() const {
  return error_.value_or(Error{ErrorKind::Io, std::string(kNotWatchedFor), "", 0,
                               "the process that watches has ended",
                               "somebody killed it, or the kernel did for want of memory"});
}

void WatchProcess::remark(const std::string& text) const {
  send_message(socket_.get(), Message::Remark, text, kNotePatience);
}

void WatchProcess::begin(const job::Selection& selection) {
  std::vector<pid_t> others = selection.not_the_jobs;
  others.push_back(pid_);
  const Json text{selection.pid, selection.cgroup, selection.adopter, others};
  send_message(socket_.get(), Message::Begin, text_of(text), kNotePatience);
  wait_for(Stage::Watching, net::Deadline::of(kNotePatience));
}

void WatchProcess::take_output(const job::OutputPiece& piece) {
  is_slow_ = !send_message(socket_.get(), Message::Output, piece.bytes,
                           is_slow_ ? milliseconds(0) : kOutputPatience,
                           static_cast<std::int32_t>(piece.stream), piece.t_ns);
}

Result<> WatchProcess::finish(const net::Deadline& deadline) {
  if (wait_for(Stage::Done, deadline)) {
    return {};
  }
  const Stage reached = stage_;
  socket_.reset();
  if (reached == Stage::Gone || reached == Stage::Failed) {
    return fail(why_ended());
  }
  if (!deadline.over()) {
    return not_watched(ErrorKind::Interrupted, "interrupted before the record was closed",
                       "chokepoint-rec goes on closing it");
  }
  return reached == Stage::Looked
             ? not_watched(ErrorKind::Timeout, "the record is not closed in time", kSeeDisk)
             : not_watched(ErrorKind::Timeout, "the last look at the job takes too long",
                           "chokepoint-rec goes on with it, and closes the record then");
}

Result<> WatchProcess::abandon(int exit_status, const net::Deadline& deadline) {
  send_message(socket_.get(), Message::Abandon, {}, kNotePatience, exit_status);
  return finish(deadline);
}

Result<> WatchProcess::end(std::optional<int> exit_status, const net::Deadline& deadline) {
  send_message(socket_.get(), Message::End, exit_status ? "" : "unknown", kNotePatience,
               exit_status.value_or(0));
  return finish(deadline);
}

void WatchProcess::leave(const net::Deadline& deadline) {
  while (socket_ && net::wait_for(socket_.get(), POLLIN, deadline, "", "")) {
    receive();
  }
  waitpid(pid_, nullptr, WNOHANG);
}

}  // namespace chokepoint::capture::run
