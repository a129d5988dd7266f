// The watch of a job in a process of its own, so that nothing that happens to it can hold the job's
// parent: a disk that no longer replies keeps threads inside the kernel where no signal ends them,
// and a process ends only with its last thread.
//
//   chokepoint: the job's signals, terminal, status      chokepoint-rec: everything of run/watch.h
//     start ─────────── fork ────────────────────────────▶ Watch::open
//     opened ◀───────── Opened: the job's variables; Failed: why
//     the job starts ── Begin ───────────────────────────▶ begin
//     its end may be seen ◀ Began                          its processes are known; poll …
//     it prints ─────── Output ──────────────────────────▶ take_output
//     standard error ◀─ Print
//     the job ends ──── End ─────────────────────────────▶ end: the last sample
//     ◀─────────────── Sampled, Done ─────────────────────  the record is closed
//     ◀──────────────── end of the stream ────────────────  the process ends
//
// If chokepoint dies before the job's end, the watch ends at once and the record is good up to its
// last commit; after it, the watch closes the record all the same. If the watch dies or does not
// reply, the job goes on without it. One thread on either side.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/net/deadline.h"
#include "base/record/writer.h"
#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "base/sys/root.h"
#include "base/sys/worker.h"
#include "capture/job/output.h"
#include "capture/job/process.h"
#include "capture/live/figures.h"
#include "capture/run/options.h"

namespace chokepoint::capture::run {

// What is printed for people about the job. Made before the process is, used in it alone.
class Screen {
 public:
  virtual ~Screen() = default;
  virtual void note_output(const job::OutputPiece& piece) = 0;
  virtual void show(const live::Figures& figures, std::int64_t now_ns) = 0;
  virtual void warn(const std::string& text) = 0;
  virtual void note(const std::string& text) = 0;  // what --quiet leaves out
  virtual void sum_up(const live::Figures& figures, const std::string& record_path,
                      const record::WriterStatus& status) = 0;
  // What is to be printed since the last call.
  virtual std::string take_text() = 0;
};

// How long the watch may delay the start of the job: a judgement.
inline constexpr std::chrono::milliseconds kOpenTimeout{5'000};

class WatchProcess {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;
  using OnText = std::function<void(std::string_view text)>;

  // Forks, so there must be no other thread yet. Screen, root and clock outlive it.
  static Result<WatchProcess> start(const Options& options, Screen& screen, const sys::Root& root,
                                    const sys::Clock& clock, OnText on_text,
                                    std::chrono::milliseconds open_timeout = kOpenTimeout);
  WatchProcess(WatchProcess&&) noexcept = default;

  // Waits until everything is open: what the job's environment needs. Timeout if that takes too
  // long; then, as after any error, there is no watch.
  Result<Variables> opened();
  void remark(const std::string& text) const;
  // Until the watch has seen the job's processes, for a moment at most: of a command that ends at
  // once nothing is left when its parent has waited for it.
  void begin(const job::Selection& selection);
  // Never waits long: what the watch cannot take is dropped.
  void take_output(const job::OutputPiece& piece);

  pid_t pid() const { return worker_.pid(); }
  // Readable: call receive(). -1 once the watch has ended.
  int descriptor() const { return worker_.socket().descriptor(); }
  void receive();
  // Once the watch has ended before the job: why, as far as it could report it.
  Error why_ended() const { return worker_.why_ended(); }

  // Instead of begin(): there is no job to watch.
  Result<> abandon(int exit_status, const net::Deadline& deadline);
  // The last sample of everything, and the end of the record; an error if that took longer than the
  // deadline, which then goes on by itself, or if the watch had ended before.
  Result<> end(std::optional<int> exit_status, const net::Deadline& deadline);
  // After end(): until the process has ended, too.
  void leave(const net::Deadline& deadline);

 private:
  enum class Stage { Open, Watching, Sampled, Done };

  WatchProcess(sys::Worker worker, OnText on_text, std::chrono::milliseconds open_timeout);
  void take(const sys::ReceivedMessage& received);
  // False if the deadline ended first, or the watch has ended.
  bool wait_for(Stage stage, const net::Deadline& deadline);
  Result<> finish(const net::Deadline& deadline);

  sys::Worker worker_;
  OnText on_text_;
  std::chrono::milliseconds open_timeout_;
  Stage stage_ = Stage::Open;
  bool is_slow_ = false;  // it did not take the last piece of output
};

}  // namespace chokepoint::capture::run
