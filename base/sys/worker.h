// A child process of this program that does a part of its work, so that what happens to that part
// (a disk that does not answer, bytes that take over whoever parses them, a crash) happens to the
// child alone. It has a name, a session of its own, no descriptor but those it is given, and one
// bounded connection, by which it also learns that the process that made it has gone.
//
//   this process                              worker
//     fork, start ────────────────────────────▶ rights are given up, the work begins
//     opened() ◀────────────── Opened, Failed    it can do its work, or why not
//     send, receive ◀────────────────────────▶  messages of its own
//     close, or this process's end ───────────▶ end of the stream: it ends
//     ◀──────────────────────── end of the stream, when it ends, however it does
//
// An exception that ends it, on any of its threads, arrives as Failed. What it may do beyond that
// is its own to give up: base/sys/sandbox.h. One thread here, but any may send.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/error.h"
#include "base/sys/message_socket.h"

namespace chokepoint::sys {

// Kinds of messages that all workers send; each has its own from 0 on.
enum class WorkerMessage : std::int32_t {
  Failed = -2,  // a packed error
  Opened = -1,
};

// The words of errors about it: "OPERATION: SUBJECT: WHO has ended; GONE_STEP". Literals.
struct WorkerWords {
  std::string_view operation = {};
  std::string_view who = {};  // "the process that watches"
  std::string_view gone_step = {};
  std::string_view late = {};  // "the record cannot be opened in time"
  std::string_view late_step = {};
  std::string_view interrupted = {};  // "interrupted while record or files were closed"
};

struct WorkerOptions {
  WorkerWords words = {};
  const char* name = nullptr;  // of its process; null: this process's
  // What it keeps, under the same numbers, beside the socket.
  std::vector<int> descriptors = {};
  bool has_session = true;  // of its own, and so no terminal
  bool keeps_folder = true;
  int queue_bytes = 0;  // room for messages; 0: what the kernel gives
};

class Worker {
 public:
  using Clock = std::chrono::steady_clock;
  using Work = std::function<void(MessageSocket& parent)>;

  // Forks, so there must be no other thread yet. The child starts with all signals blocked, does
  // the work and exits.
  static Result<Worker> fork(const WorkerOptions& options, const Work& work);
  // Another program, which takes its standard input for the socket. `subject`: of errors.
  static Result<Worker> start(std::vector<std::string> command, const WorkerWords& words,
                              std::string subject);

  pid_t pid() const { return pid_; }
  MessageSocket& socket() { return socket_; }
  const MessageSocket& socket() const { return socket_; }

  // A message of the worker's own kinds. Never waits.
  std::optional<ReceivedMessage> receive();
  // Until something has come; false if the time is over first, `interrupt` became readable (-1:
  // nothing does) or the worker is gone.
  bool wait(Clock::time_point until, int interrupt = -1) const;
  // Until the next message. Timeout, Interrupted, or why it has ended.
  Result<ReceivedMessage> receive_by(Clock::time_point until, int interrupt = -1);
  // Until the worker can do its work; what it sends with that. `on_message`: what came before.
  Result<std::string> opened(Clock::time_point until,
                             const std::function<void(const ReceivedMessage&)>& on_message = {});

  bool has_failed() const { return error_.has_value(); }
  // The text that it sent about its end, or that it has ended.
  Error why_ended() const;
  Error late() const;

  // Ends it, whatever it does, and waits for that. A sandbox may refuse the signal: it then ends
  // with its socket.
  void kill() const;

 private:
  Worker(pid_t pid, MessageSocket socket, const WorkerWords& words, std::string subject);

  pid_t pid_;
  MessageSocket socket_;
  WorkerWords words_;
  std::string subject_;
  std::optional<std::string> opened_ = {};
  std::optional<Error> error_ = {};
};

}  // namespace chokepoint::sys
