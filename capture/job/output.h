// The job's output: pipes or terminals between the job and chokepoint's own outputs, and the
// relays, processes that pass the output on and send copies of it to chokepoint. One thread; a
// relay is a process.
//
//   OutputWatch::open: channels, relays ─▶ connect (the job starts) ─▶ release: Relay::receive …
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/process.h"
#include "base/sys/worker.h"

namespace chokepoint::capture::job {

enum class Stream { Out, Err };

// What the job printed: any bytes, cut anywhere.
struct OutputPiece {
  std::int64_t t_ns = 0;  // monotonic, when the relay read it
  Stream stream = Stream::Out;
  std::string_view bytes = {};
};

using OnOutput = std::function<void(const OutputPiece& piece)>;

// The connection between the job and one of our outputs: a pipe or, if ours is a terminal, a
// pseudo-terminal that passes every byte unchanged. If our two outputs are the same file, the job's
// are, too, so that the order stays the same.
struct OutputChannel {
  Stream stream = Stream::Out;
  int destination = -1;    // our own output
  bool is_shared = false;  // both of the job's outputs go here
  bool is_terminal = false;
  sys::Descriptor job_end = {};
  sys::Descriptor relay_end = {};
};

// What is sent to a relay; the protocol is described in output.cc.
enum class Note : std::int32_t { Started, Resized, Ended };

// What a relay's process is called.
inline constexpr const char* kRelayName = "job-output";

// The process that passes one output of the job on, seen from chokepoint. It ends by itself when
// the job's last process has closed its output; until then it goes on, even if chokepoint ends. Its
// end of the job's output stays open here, too: if it is killed, another one takes its place
// before the job's next write could fail.
class Relay {
 public:
  // Forks, so there must be no other thread yet. The clock outlives it.
  static Result<Relay> start(OutputChannel& channel, const sys::Clock& clock);

  pid_t pid() const { return worker_->pid(); }
  // Its process was killed. Forks another one; what the first had read and not yet written is lost,
  // 64 KiB at most. False if there is none: then it is retired.
  bool replace();
  // Its process has ended, and no other one takes its place: the job's next write fails. What it
  // sent before can still be received.
  void retire();
  // Readable: call receive(). -1 once the relay has ended.
  int descriptor() const { return worker_->socket().descriptor(); }
  // `job`: its pid, with Started.
  void send(Note note, pid_t job = 0) const;
  // Hands over what has come, at most a bounded number of pieces.
  void receive(const OnOutput& on_output);
  // Everything that the command printed is written, or no process is left that writes it. One that
  // is killed closes its socket before it can be reaped and replaced.
  bool is_drained() const { return is_drained_ || (!job_output_ && worker_->socket().is_gone()); }
  std::uint64_t missed() const { return missed_; }

 private:
  Relay(OutputChannel& channel, const sys::Clock& clock);
  Result<> start_process();

  Stream stream_;
  const sys::Clock* clock_;
  sys::Descriptor job_output_;
  int destination_;
  bool is_terminal_;
  std::optional<sys::Worker> worker_ = {};  // always, once it has started
  bool is_drained_ = false;
  int replaced_ = 0;
  std::uint64_t missed_ = 0;
};

// The job's outputs, prepared: the relays run, and wait for the job. A relay keeps the memory that
// this process has when it is forked, so open() is called before there is much of it (a record, the
// rings of packet captures) and before any thread. Destroyed without a job, it ends the relays.
class OutputWatch {
 public:
  OutputWatch() = default;  // nothing is watched
  // Goes on without the output if no pseudo-terminal or pipe can be made: see remark(). The clock
  // outlives this process.
  static Result<OutputWatch> open(const sys::Clock& clock);

  void connect(sys::Spawn& spawn) const;
  // Once the job has started or failed to start: from now on only the job holds its ends.
  std::vector<Relay> release();
  // Why nothing is watched although that was requested.
  const std::optional<std::string>& remark() const { return remark_; }

 private:
  std::vector<OutputChannel> channels_;
  std::vector<Relay> relays_;
  std::optional<std::string> remark_;
};

}  // namespace chokepoint::capture::job
