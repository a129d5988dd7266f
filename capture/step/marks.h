// Marks from inside the job: messages on connections (SOCK_SEQPACKET) to a Unix socket whose path
// the job finds in CHOKEPOINT_MARKS, or to the name that marks_socket.h describes. A sender never
// waits, and never fails without a receiver.
//
//   process of the job                       $CHOKEPOINT_MARKS        the watch, 4 times a second
//   connect()             ────────────────▶ backlog           ─────▶ accept(): up to 512
//   "step 17 t=123456789" ────────────────▶ the connection's  ─────▶ all there is, by time
//   "step 18 t=128456789" ────────────────▶ own queue
//   exit, or close()      ────────────────▶ end               ─────▶ close()
//
//   a message: NAME [NUMBER] [samples=N] [rank=R] [t=monotonic ns]
//
// The watch polls, so no message wakes it: waking a thread takes several times as long as sending.
// A mark therefore needs its own time t. Each connection's queue holds 278 short marks unless its
// sender sets more (SO_SNDBUF), also before it is accepted.
//
// A mark "step" begins a step of its rank and ends the one before; other names become events, a
// limited number per second. If a mark has no rank, the kernel reports the sender's pid, and the
// roster that process's rank. Marks: one thread; the functions: any.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/record/writer.h"
#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "capture/job/process.h"
#include "capture/step/step.h"

namespace chokepoint::capture::step {

inline constexpr std::string_view kMarksVariable = "CHOKEPOINT_MARKS";
inline constexpr std::string_view kStepMark = "step";

struct Mark {
  std::string name = {};
  std::optional<std::int64_t> number = {};
  std::optional<std::int64_t> samples = {};
  std::optional<int> rank = {};
  std::optional<std::int64_t> t_ns = {};  // monotonic, when it was sent
};

// One word of at most 64 printable bytes without '='.
bool is_mark_name(std::string_view name);

// nullopt if it is no mark. Unknown words are ignored: later versions may define them.
std::optional<Mark> read_mark(std::string_view message);
std::string text_of(const Mark& mark);

// Never waits: a mark for which the listener has no room is lost, and that is an error.
Result<> send_mark(const std::filesystem::path& socket, const Mark& mark);

class Marks {
 public:
  // In a folder of its own below `below` (XDG_RUNTIME_DIR or TMPDIR), removed with the object: only
  // the same user and root can send marks there. If that path is too long for a socket, below /tmp.
  // The writer outlives the object.
  static Result<std::unique_ptr<Marks>> listen(const std::filesystem::path& below,
                                               const sys::Clock& clock, record::Writer& writer);
  virtual ~Marks() = default;

  virtual const std::filesystem::path& path() const = 0;
  // Never waits. At most some thousand per call; false if there were none.
  virtual bool take(const job::JobProcesses& processes, const OnStep& on_step) = 0;
};

}  // namespace chokepoint::capture::step
