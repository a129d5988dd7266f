#include "capture/run/watch_process.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include <nlohmann/json.hpp>

#include "base/sys/message_socket.h"
#include "capture/run/watch.h"

namespace chokepoint::capture::run {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

constexpr const char* kProcessName = "chokepoint-rec";
// For what the job prints while the watch is busy. The kernel clamps it to net.core.wmem_max.
constexpr int kQueueRoomBytes = 1 << 20;
constexpr milliseconds kPollInterval{250};
constexpr milliseconds kFirstPollInterval{100};  // while the job is young
// So that a job that prints without end does not stop the watch from sampling it.
constexpr int kMaxMessagesPerTurn = 64;
constexpr milliseconds kOutputTimeout{50};
constexpr milliseconds kNoteTimeout{1'000};

constexpr sys::WorkerWords kWords{
    .operation = "watch the job",
    .who = "the process that watches",
    .gone_step = "a user killed it, or the kernel did because memory was full",
    .late = "the record cannot be opened in time",
    .late_step = "see whether its disk answers"};

enum class Message : std::int32_t {
  Began,
  Print,
  Sampled,
  Done,  // of the watch
  Remark,
  Begin,
  Output,
  Abandon,
  End,  // of chokepoint
};

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The watch's own side. Its thread takes messages and looks after the watch; what blocks is on the
// watch's threads, but opening and closing.
class WatchedJob {
 public:
  WatchedJob(sys::MessageSocket& parent, Screen& screen, const sys::Clock& clock)
      : parent_(parent), screen_(screen), clock_(clock) {}

  void run(const Options& options, const sys::Root& root) {
    Result<std::unique_ptr<Watch>> watch = Watch::open(options, root, clock_);
    if (!watch) {
      send(sys::WorkerMessage::Failed, sys::packed_error(watch.error()));
      return;
    }
    watch_ = std::move(*watch);
    for (const std::string& warning : watch_->warnings()) {
      screen_.warn(warning);
    }
    for (const std::string& note : watch_->notes()) {
      screen_.note(note);
    }
    print();
    send(sys::WorkerMessage::Opened, text_of(Json(watch_->environment())));
    while (watch_) {
      wait();
      take_messages();
      poll_watch();
    }
  }

 private:
  template <class Kind>
  void send(Kind kind, std::string_view text = {}) const {
    parent_.send(kind, text, kNoteTimeout);
  }

  void print() const {
    const std::string text = screen_.take_text();
    for (std::size_t at = 0; at < text.size(); at += sys::kMaxMessageBytes) {
      send(Message::Print, std::string_view(text).substr(at, sys::kMaxMessageBytes));
    }
  }

  void wait() const {
    pollfd messages{.fd = parent_.descriptor(), .events = POLLIN, .revents = 0};
    // Rounded up: less would be waited for without a pause.
    const std::int64_t left_ms = (due_ns_ - clock_.monotonic_ns() + 999'999) / 1'000'000;
    ::poll(&messages, 1, has_begun_ ? static_cast<int>(std::max<std::int64_t>(left_ms, 0)) : -1);
  }

  void take_messages() {
    for (int left = kMaxMessagesPerTurn; watch_ && left > 0; --left) {
      const auto received = parent_.receive();
      if (parent_.is_gone()) {
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
    switch (received.kind<Message>()) {
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

  void poll_watch() {
    if (!watch_ || !has_begun_) {
      return;
    }
    if (const std::int64_t now_ns = clock_.monotonic_ns(); now_ns >= due_ns_) {
      const bool is_young = now_ns - begun_ns_ < std::chrono::nanoseconds(kYoung).count();
      due_ns_ =
          now_ns + std::chrono::nanoseconds(is_young ? kFirstPollInterval : kPollInterval).count();
      watch_->poll();
      screen_.show(watch_->figures(), now_ns);
      print();
    }
  }

  void end(std::optional<int> exit_status) {
    watch_->final_sample(exit_status);
    send(Message::Sampled);
    const record::WriterStatus status = watch_->close(exit_status);
    screen_.sum_up(watch_->figures(), watch_->record_path(), status);
    print();
    finish();
  }

  void finish() {
    watch_.reset();
    send(Message::Done);
  }

  sys::MessageSocket& parent_;
  Screen& screen_;
  const sys::Clock& clock_;
  std::unique_ptr<Watch> watch_;
  bool has_begun_ = false;
  std::int64_t due_ns_ = 0;
  std::int64_t begun_ns_ = 0;
};

std::unexpected<Error> not_watched(ErrorKind kind, std::string_view why,
                                   std::string_view next_step) {
  return fail(kind, kWords.operation, "", why, next_step);
}

}  // namespace

WatchProcess::WatchProcess(sys::Worker worker, OnText on_text, milliseconds open_timeout)
    : worker_(std::move(worker)), on_text_(std::move(on_text)), open_timeout_(open_timeout) {}

Result<WatchProcess> WatchProcess::start(const Options& options, Screen& screen,
                                         const sys::Root& root, const sys::Clock& clock,
                                         OnText on_text, milliseconds open_timeout) {
  TRY(sys::Worker worker,
      sys::Worker::fork({.words = kWords, .name = kProcessName, .queue_bytes = kQueueRoomBytes},
                        [&](sys::MessageSocket& parent) {
                          WatchedJob(parent, screen, clock).run(options, root);
                        }));
  return WatchProcess(std::move(worker), std::move(on_text), open_timeout);
}

void WatchProcess::take(const sys::ReceivedMessage& received) {
  switch (received.kind<Message>()) {
    case Message::Began:
      stage_ = Stage::Watching;
      break;
    case Message::Sampled:
      stage_ = Stage::Sampled;
      break;
    case Message::Done:
      stage_ = Stage::Done;
      break;
    default:
      on_text_(received.bytes);
  }
}

void WatchProcess::receive() {
  while (const auto received = worker_.receive()) {
    take(*received);
  }
}

bool WatchProcess::wait_for(Stage stage, const net::Deadline& deadline) {
  receive();
  while (stage_ < stage && worker_.wait(deadline.until, deadline.interrupt)) {
    receive();
  }
  return stage_ >= stage;
}

Result<WatchProcess::Variables> WatchProcess::opened() {
  const auto opened =
      worker_.opened(sys::Worker::Clock::now() + open_timeout_,
                     [this](const sys::ReceivedMessage& received) { take(received); });
  if (!opened) {
    worker_.socket().close();
    return fail(opened.error());
  }
  return Json::parse(*opened).get<Variables>();
}

void WatchProcess::remark(const std::string& text) const {
  worker_.socket().send(Message::Remark, text, kNoteTimeout);
}

void WatchProcess::begin(const job::Selection& selection) {
  std::vector<pid_t> others = selection.not_the_jobs;
  others.push_back(pid());
  const Json text{selection.pid, selection.cgroup, selection.adopter, others};
  worker_.socket().send(Message::Begin, text_of(text), kNoteTimeout);
  wait_for(Stage::Watching, net::Deadline::of(kNoteTimeout));
}

void WatchProcess::take_output(const job::OutputPiece& piece) {
  is_slow_ = !worker_.socket().send(
      Message::Output, piece.bytes, is_slow_ ? milliseconds(0) : kOutputTimeout,
      {.number = static_cast<std::int32_t>(piece.stream), .t_ns = piece.t_ns});
}

Result<> WatchProcess::finish(const net::Deadline& deadline) {
  if (wait_for(Stage::Done, deadline)) {
    return {};
  }
  const bool has_ended = worker_.socket().is_gone() || worker_.has_failed();
  worker_.socket().close();
  if (has_ended) {
    return fail(why_ended());
  }
  if (!deadline.over()) {
    return not_watched(ErrorKind::Interrupted, "interrupted before the record was closed",
                       "chokepoint-rec goes on closing it");
  }
  return stage_ == Stage::Sampled
             ? not_watched(ErrorKind::Timeout, "the record is not closed in time", kWords.late_step)
             : not_watched(ErrorKind::Timeout, "the last reading of the job takes too long",
                           "chokepoint-rec goes on with it, and closes the record then");
}

Result<> WatchProcess::abandon(int exit_status, const net::Deadline& deadline) {
  worker_.socket().send(Message::Abandon, {}, kNoteTimeout, {.number = exit_status});
  return finish(deadline);
}

Result<> WatchProcess::end(std::optional<int> exit_status, const net::Deadline& deadline) {
  worker_.socket().send(Message::End, exit_status ? "" : "unknown", kNoteTimeout,
                        {.number = exit_status.value_or(0)});
  return finish(deadline);
}

void WatchProcess::leave(const net::Deadline& deadline) {
  while (worker_.wait(deadline.until, deadline.interrupt)) {
    receive();
  }
  waitpid(pid(), nullptr, WNOHANG);
}

}  // namespace chokepoint::capture::run
