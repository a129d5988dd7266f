// Marks from inside the job: datagrams on a Unix socket whose path the job finds in
// CHOKEPOINT_MARKS. A sender never waits and never fails where nobody listens.
//
//   job ── "step 17 samples=64 t=123456789" ──▶ $CHOKEPOINT_MARKS
//          NAME [NUMBER] [samples=N] [rank=R] [t=monotonic ns]
//
// A mark "step" begins a step of its rank and ends the one before; other names become events, so
// many a second. Where a mark does not say its rank, the kernel tells who sent it, and the roster
// that one's rank. The kernel holds few datagrams (net.unix.max_dgram_qlen, 10 as a rule) until
// they are taken: descriptor() has to be waited on. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "base/record/writer.h"
#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "capture/job/process.h"
#include "capture/step/mark.h"
#include "capture/step/step.h"

namespace chokepoint::capture::step {

class Marks {
 public:
  // In a folder of its own below XDG_RUNTIME_DIR or TMPDIR, gone with the object: only the same
  // user, and root, can send marks there. Where that path is too long for a socket, below /tmp. The
  // writer outlives it.
  static Result<std::unique_ptr<Marks>> listen(const std::filesystem::path& below,
                                               const sys::Clock& clock, record::Writer& writer);
  virtual ~Marks() = default;

  virtual const std::filesystem::path& path() const = 0;
  virtual int descriptor() const = 0;  // readable: call take()
  // So many at a time; never waits.
  virtual void take(const job::JobProcesses& processes, const OnStep& on_step) = 0;
};

}  // namespace chokepoint::capture::step
