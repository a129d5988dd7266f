#include "capture/run/watch_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>

#include <nlohmann/json.hpp>

#include "base/sys/signals.h"
#include "capture/run/watch.h"

namespace chokepoint::capture::run {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

constexpr const char* kProcessName = "chokepoint-rec";
constexpr std::size_t kMaxTextBytes = 65'536;  // also the most that a relay hands over at once
// For what the job prints while the watch is busy. The kernel clamps it to net.core.wmem_max.
constexpr int kQueueRoomBytes = 1 << 20;
constexpr milliseconds kAttendInterval{250};
// So that a job that prints without end does not keep the watch from looking at it.
constexpr int kMaxMessagesPerTurn = 64;
// Of a word in an error: a message is cut, and must still be JSON.
constexpr std::size_t kMaxWordBytes = 4096;
constexpr milliseconds kOutputPatience{50};
constexpr milliseconds kNotePatience{1'000};

// What a sanitizer reports must be seen.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CHOKEPOINT_IS_SANITIZED
#endif
#endif
#if defined(CHOKEPOINT_IS_SANITIZED) || defined(__SANITIZE_ADDRESS__) || \
    defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

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

struct MessageHead {
  Message kind = Message::Say;
  std::int32_t number = 0;  // a stream, an exit status
  std::int64_t t_ns = 0;
};

struct Received {
  MessageHead head;
  std::string_view text;
};

// False where there was no room in that time, or the other side is gone.
bool send_message(int socket, const MessageHead& head, std::string_view text, milliseconds time) {
  text = text.substr(0, kMaxTextBytes);
  std::array<iovec, 2> parts{iovec{const_cast<MessageHead*>(&head), sizeof head},
                             iovec{const_cast<char*>(text.data()), text.size()}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  while (sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    pollfd room{.fd = socket, .events = POLLOUT, .revents = 0};
    if (errno != EINTR &&
        (errno != EAGAIN || poll(&room, 1, static_cast<int>(time.count())) <= 0)) {
      return false;
    }
  }
  return true;
}

// nullopt if nothing has come; `is_gone`: the other side has closed.
std::optional<Received> receive_message(int socket, char* buffer, bool& is_gone) {
  MessageHead head;
  std::array<iovec, 2> parts{iovec{&head, sizeof head}, iovec{buffer, kMaxTextBytes}};
  const ssize_t got = readv(socket, parts.data(), parts.size());
  is_gone = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
  if (got < static_cast<ssize_t>(sizeof head)) {
    return std::nullopt;
  }
  return Received{head, {buffer, static_cast<std::size_t>(got) - sizeof head}};
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json json_of(const Error& error) {
  return {static_cast<int>(error.kind),           error.operation,
          error.subject.substr(0, kMaxWordBytes), error.code,
          error.reason.substr(0, kMaxWordBytes),  error.next_step};
}

Error error_of(const Json& json) {
  return {static_cast<ErrorKind>(json.at(0).get<int>()),
          json.at(1),
          json.at(2),
          json.at(3),
          json.at(4),
          json.at(5)};
}

// The watch's own side. Its thread takes messages and looks after the watch; what blocks is on the
// watch's threads, but opening and closing.
class WatchedJob {
 public:
  WatchedJob(int socket, Screen& screen, const sys::Clock& clock)
      : socket_(socket), screen_(screen), clock_(clock), buffer_(kMaxTextBytes, '\0') {}

  void run(const Options& options, const sys::Root& root) {
    Result<std::unique_ptr<Watch>> watch = Watch::open(options, root, clock_);
    if (!watch) {
      send(Message::Failed, text_of(json_of(watch.error())));
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
      attend();
    }
  }

 private:
  void send(Message kind, std::string_view text = {}) const {
    send_message(socket_, {.kind = kind}, text, kNotePatience);
  }

  void print() const {
    const std::string text = screen_.take_text();
    for (std::size_t at = 0; at < text.size(); at += kMaxTextBytes) {
      send(Message::Say, std::string_view(text).substr(at, kMaxTextBytes));
    }
  }

  void wait() const {
    std::array<pollfd, 2> watched{pollfd{socket_, POLLIN, 0},
                                  pollfd{has_begun_ ? watch_->marks_descriptor() : -1, POLLIN, 0}};
    // Rounded up: less would be waited for without a pause.
    const std::int64_t left_ms = (due_ns_ - clock_.monotonic_ns() + 999'999) / 1'000'000;
    poll(watched.data(), watched.size(),
         has_begun_ ? static_cast<int>(std::max<std::int64_t>(left_ms, 0)) : -1);
  }

  void take_messages() {
    bool is_gone = false;
    for (int left = kMaxMessagesPerTurn; watch_ && left > 0; --left) {
      const std::optional<Received> received = receive_message(socket_, buffer_.data(), is_gone);
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

  void take(const Received& received) {
    switch (received.head.kind) {
      case Message::Remark:
        watch_->remark(std::string(received.text));
        return;
      case Message::Begin:
        begin(Json::parse(received.text));
        return;
      case Message::Output:
        take_output({.t_ns = received.head.t_ns,
                     .stream = static_cast<job::Stream>(received.head.number),
                     .bytes = received.text});
        return;
      case Message::Abandon:
        watch_->abandon(received.head.number);
        return finish();
      case Message::End:
        return end(received.text.empty() ? std::optional<int>(received.head.number) : std::nullopt);
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
    send(Message::Began);
  }

  void take_output(const job::OutputPiece& piece) {
    watch_->take_output(piece);
    screen_.note_output(piece);
  }

  void attend() {
    if (!watch_ || !has_begun_) {
      return;
    }
    watch_->attend_marks();
    if (const std::int64_t now_ns = clock_.monotonic_ns(); now_ns >= due_ns_) {
      due_ns_ = now_ns + std::chrono::nanoseconds(kAttendInterval).count();
      watch_->attend();
      screen_.show(watch_->figures(), now_ns);
      print();
    }
  }

  void end(std::optional<int> exit_status) {
    watch_->look_last(exit_status);
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
  std::string buffer_;
  std::unique_ptr<Watch> watch_;
  bool has_begun_ = false;
  std::int64_t due_ns_ = 0;
};

// Nothing that chokepoint's caller waits for stays open here: the end of a pipe, a terminal.
int keep_only(int socket) {
  constexpr int kClear = 16;
  constexpr int kSocket = 3;
  const int kept = fcntl(socket, F_DUPFD_CLOEXEC, kClear);
  dup3(kept, kSocket, O_CLOEXEC);
  closefrom(kSocket + 1);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  if (!kIsSanitized) {
    dup2(nothing, STDERR_FILENO);
  }
  close(nothing);
  return kSocket;
}

// In a process just forked, with all signals blocked; its threads inherit that.
[[noreturn]] void become_watch(int socket, const Options& options, Screen& screen,
                               const sys::Root& root, const sys::Clock& clock) noexcept {
  setsid();
  prctl(PR_SET_NAME, kProcessName);
  // The caller's stack is a copy of the job's parent: an exception must not unwind into it.
  try {
    WatchedJob(keep_only(socket), screen, clock).run(options, root);
  } catch (const std::exception&) {
    _exit(1);
  }
  _exit(0);
}

std::unexpected<Error> not_watched(ErrorKind kind, const std::string& why) {
  return fail(kind, "record", "", why, "see whether its disk answers");
}

}  // namespace

WatchProcess::WatchProcess(pid_t pid, sys::Descriptor socket, OnText on_text,
                           const Patience& patience)
    : pid_(pid),
      socket_(std::move(socket)),
      on_text_(std::move(on_text)),
      patience_(patience),
      buffer_(std::make_unique<char[]>(kMaxTextBytes)) {}

Result<WatchProcess> WatchProcess::start(const Options& options, Screen& screen,
                                         const sys::Root& root, const sys::Clock& clock,
                                         OnText on_text, const Patience& patience) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return fail(from_errno(errno, "watch the job", "socket"));
  }
  sys::Descriptor own(ends[0]);
  const sys::Descriptor theirs(ends[1]);
  setsockopt(own.get(), SOL_SOCKET, SO_SNDBUF, &kQueueRoomBytes, sizeof kQueueRoomBytes);
  const sys::SignalsHeld held;
  const pid_t pid = fork();
  if (pid < 0) {
    return fail(from_errno(errno, "watch the job", "fork"));
  }
  if (pid == 0) {
    become_watch(theirs.get(), options, screen, root, clock);
  }
  return WatchProcess(pid, std::move(own), std::move(on_text), patience);
}

void WatchProcess::lose() {
  socket_.reset();
  stage_ = stage_ == Stage::Done || stage_ == Stage::Failed ? stage_ : Stage::Gone;
}

bool WatchProcess::receive_one() {
  bool is_gone = false;
  const std::optional<Received> received = receive_message(socket_.get(), buffer_.get(), is_gone);
  if (is_gone) {
    lose();
  }
  if (!received) {
    return false;
  }
  switch (received->head.kind) {
    case Message::Opened:
      variables_ = Json::parse(received->text).get<Variables>();
      stage_ = Stage::Open;
      break;
    case Message::Began:
      stage_ = Stage::Watching;
      break;
    case Message::Failed:
      error_ = error_of(Json::parse(received->text));
      stage_ = Stage::Failed;
      break;
    case Message::Looked:
      stage_ = Stage::Looked;
      break;
    case Message::Done:
      stage_ = Stage::Done;
      break;
    default:
      on_text_(received->text);
  }
  return true;
}

void WatchProcess::receive() {
  while (socket_ && receive_one()) {
  }
}

bool WatchProcess::wait_for(Stage stage, milliseconds time, int interrupt) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (socket_ && stage_ < stage) {
    const auto left =
        std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now()).count();
    std::array<pollfd, 2> watched{pollfd{socket_.get(), POLLIN, 0}, pollfd{interrupt, POLLIN, 0}};
    if (left <= 0 || (poll(watched.data(), watched.size(), static_cast<int>(left)) > 0 &&
                      watched[1].revents != 0)) {
      return false;
    }
    receive();
  }
  return stage_ >= stage && stage_ != Stage::Gone;
}

Result<WatchProcess::Variables> WatchProcess::opened() {
  if (!wait_for(Stage::Open, patience_.open, -1)) {
    const bool is_gone = stage_ == Stage::Gone;
    socket_.reset();
    return is_gone ? not_watched(ErrorKind::Io, "the process that watches has ended")
                   : not_watched(ErrorKind::Timeout, "cannot be opened in time");
  }
  return stage_ == Stage::Failed ? fail(error_) : Result<Variables>(variables_);
}

void WatchProcess::remark(const std::string& text) const {
  send_message(socket_.get(), {.kind = Message::Remark}, text, kNotePatience);
}

void WatchProcess::begin(const job::Selection& selection) {
  std::vector<pid_t> others = selection.not_the_jobs;
  others.push_back(pid_);
  const Json text{selection.pid, selection.cgroup, selection.adopter, others};
  send_message(socket_.get(), {.kind = Message::Begin}, text_of(text), kNotePatience);
  wait_for(Stage::Watching, kNotePatience, -1);
}

void WatchProcess::take_output(const job::OutputPiece& piece) {
  const MessageHead head{.kind = Message::Output,
                         .number = static_cast<std::int32_t>(piece.stream),
                         .t_ns = piece.t_ns};
  is_slow_ =
      !send_message(socket_.get(), head, piece.bytes, is_slow_ ? milliseconds(0) : kOutputPatience);
}

Result<> WatchProcess::finish() {
  // Blocked here already where there is a job, whose parent handles them until now.
  TRY(const sys::Signals signals, sys::Signals::watch({SIGINT, SIGTERM, SIGHUP, SIGQUIT}));
  const bool is_done = wait_for(Stage::Looked, patience_.look, signals.descriptor()) &&
                       wait_for(Stage::Done, patience_.close, signals.descriptor());
  const bool is_gone = stage_ == Stage::Gone;
  socket_.reset();
  if (is_done) {
    waitpid(pid_, nullptr, 0);
    return {};
  }
  if (is_gone) {
    return not_watched(ErrorKind::Io, "the process that watches had ended");
  }
  return signals.next() ? not_watched(ErrorKind::Interrupted, "interrupted while it was closed")
                        : not_watched(ErrorKind::Timeout, "cannot be closed in time");
}

Result<> WatchProcess::abandon(int exit_status) {
  send_message(socket_.get(), {.kind = Message::Abandon, .number = exit_status}, {}, kNotePatience);
  return finish();
}

Result<> WatchProcess::end(std::optional<int> exit_status) {
  send_message(socket_.get(), {.kind = Message::End, .number = exit_status.value_or(0)},
               exit_status ? "" : "unknown", kNotePatience);
  return finish();
}

}  // namespace chokepoint::capture::run
