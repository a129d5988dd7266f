#include "capture/commands/run_loop.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace chokepoint::capture {
namespace {

constexpr std::int64_t kAttendNs = 250'000'000;
constexpr std::int64_t kMillisecondNs = 1'000'000;

// Looks after the watch between whatever else happens.
class Attendance {
 public:
  Attendance(run::Watch& watch, LiveNotes& notes, const cli::Context& context)
      : watch_(watch), notes_(notes), clock_(context.clock) {}

  // Until one of these is readable, or the watch has to be looked after; -1 is passed over.
  void wait(std::vector<int> descriptors) {
    descriptors.push_back(watch_.marks_descriptor());
    std::vector<pollfd> watched;
    for (const int descriptor : descriptors) {
      watched.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
    }
    const std::int64_t left_ms = (due_ns_ - clock_.monotonic_ns()) / kMillisecondNs;
    poll(watched.data(), watched.size(), static_cast<int>(std::max<std::int64_t>(left_ms, 0)));
    watch_.attend_marks();
    if (const std::int64_t now_ns = clock_.monotonic_ns(); now_ns >= due_ns_) {
      due_ns_ = now_ns + kAttendNs;
      watch_.attend();
      notes_.say(watch_.figures(), now_ns);
    }
  }

 private:
  run::Watch& watch_;
  LiveNotes& notes_;
  const sys::Clock& clock_;
  std::int64_t due_ns_ = 0;
};

bool is_readable(int descriptor) {
  pollfd one{.fd = descriptor, .events = POLLIN, .revents = 0};
  return poll(&one, 1, 0) > 0;
}

}  // namespace

Result<sys::ExitStatus> accompany(job::Job& job, run::Watch& watch, LiveNotes& notes,
                                  const cli::Context& context) {
  const job::OnOutput on_output = [&](const job::OutputPiece& piece) {
    watch.take_output(piece);
    notes.note_output(piece);
  };
  Attendance attendance(watch, notes, context);
  for (;;) {
    const auto descriptors = job.descriptors();
    attendance.wait({descriptors.begin(), descriptors.end()});
    TRY(const std::optional<sys::ExitStatus> ended, job.handle(on_output));
    if (ended) {
      job.finish(on_output);
      return *ended;
    }
  }
}

bool accompany(job::Attached& attached, run::Watch& watch, LiveNotes& notes,
               const cli::Context& context, int interrupt) {
  Attendance attendance(watch, notes, context);
  while (!attached.is_over()) {
    attendance.wait({attached.descriptor(), interrupt});
    if (is_readable(interrupt)) {
      return false;
    }
  }
  return true;
}

}  // namespace chokepoint::capture
