// The Job of the running kernel. Who has the terminal follows who asks for it: the job at the
// start, where it is alone with us; else whoever was stopped because it read without having it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/sys/signals.h"
#include "capture/job/job.h"
#include "capture/job/relay.h"
#include "capture/job/terminal.h"

namespace chokepoint::capture::job {

class LiveJob final : public Job {
 public:
  LiveJob(pid_t pid, sys::Signals signals, Terminal terminal, bool has_terminal,
          std::vector<Relay> relays);
  ~LiveJob() override;

  pid_t pid() const override { return pid_; }
  Selection selection() const override;
  std::array<int, 3> descriptors() const override;
  Result<std::optional<sys::ExitStatus>> handle(const OnOutput& on_output) override;
  void finish(const OnOutput& on_output) override;
  bool watches_output() const override { return is_watching_; }
  std::uint64_t pieces_missed() const override;

 private:
  void take_signals();
  void pass_on(int number);
  void reap();
  void on_asked_from_behind(int number);
  void on_stopped(int number);
  void on_continued();
  void on_ended(const sys::ExitStatus& status);
  void lend_terminal();
  void stop_self(int number, bool whole_group);
  void tell_relays(const Note& note) const;
  bool is_drained() const;

  pid_t pid_;
  sys::Signals signals_;
  Terminal terminal_;
  bool has_passed_on_stop_ = false;  // since handle() was called
  bool wants_terminal_;              // the job had it, or asked for it
  bool is_watching_;
  std::vector<Relay> relays_;
  std::optional<sys::ExitStatus> status_ = {};
};

}  // namespace chokepoint::capture::job
