// A watched job: everything that observes it, and the record of it.
//
//   caller's thread   output, marks, steps, choice of interfaces, figures
//   "sockets"         the job's processes, its connections
//   "counters"        the host's facts, then its counters
//   "nccl"            NCCL's collectives
//   per interface     what a process without rights finds in its packets: capture/tap/process.h
//   the writer's      the record
//
// All of them live in a process of their own: see run/watch_process.h.
//
//   open() ─▶ (the job starts) ─▶ begin() ─▶ poll()… ─▶ end()
//
// None of them touches the job. If one of them fails the others go on, and Figures::remarks names
// what was not seen.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/record/writer.h"
#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "base/sys/root.h"
#include "capture/gloo/rank_collectives.h"
#include "capture/job/output.h"
#include "capture/job/process.h"
#include "capture/live/collectives.h"
#include "capture/live/figures.h"
#include "capture/live/metrics.h"
#include "capture/live/otlp.h"
#include "capture/run/options.h"
#include "capture/run/volume.h"
#include "capture/socket/flow_registry.h"
#include "capture/stall/monitor.h"

namespace chokepoint::capture::job {
class Roster;
}
namespace chokepoint::capture::live {
class Metrics;
}

namespace chokepoint::capture::run {

// In this time after the start of the watching the record holds little, so what was seen is
// reported and written more often.
inline constexpr std::chrono::milliseconds kYoung{15'000};

class Nccl;
class Packets;
class Steps;
class Ticker;

class Watch {
 public:
  // Reports what the user can do wrong in an expression or an address, and a record that cannot be
  // opened. What else cannot be had, metrics or an interface, is left out with a warning; if
  // the options are strict it is an error. Interfaces are captured from here on. Root and clock
  // outlive it.
  static Result<std::unique_ptr<Watch>> open(const Options& options, const sys::Root& root,
                                             const sys::Clock& clock);
  ~Watch();

  // On top of the job's environment.
  std::vector<std::pair<std::string, std::string>> environment() const;
  void begin(const job::Selection& selection);
  // What the options want and is left out, and why.
  const std::vector<std::string>& warnings() const { return warnings_; }
  // What the user did not choose, and may want to know.
  const std::vector<std::string>& notes() const { return notes_; }
  // What the caller could not watch, and why: one more of Figures::remarks.
  void remark(std::string text) { remarks_.push_back(std::move(text)); }

  void take_output(const job::OutputPiece& piece);
  // To be called some times a second.
  void poll();
  std::shared_ptr<const job::JobProcesses> processes() const;
  const live::Figures& figures() const { return figures_; }

  // Instead of begin(): there is no job to watch. The record goes, with the folder that was made
  // for it, unless something else is in it.
  void abandon(int exit_status);
  // The last sample of everything, and the end of the record: both, or one after the other.
  record::WriterStatus end(std::optional<int> exit_status) {
    final_sample(exit_status);
    return close(exit_status);
  }
  void final_sample(std::optional<int> exit_status);
  record::WriterStatus close(std::optional<int> exit_status);
  const std::string& record_path() const { return record_path_; }

 private:
  Watch(const Options& options, const sys::Root& root, const sys::Clock& clock,
        std::unique_ptr<record::Writer> writer);

  Result<> prepare();
  Result<> open_packets();
  void warn(const std::string& text);
  void take(const record::Collective& part, std::int64_t end, std::int64_t process);
  void keep(const record::Collective& row);
  void check_stall(std::int64_t now_ns);
  void record_command();
  void record_facts();
  void serve(std::unique_ptr<live::Metrics> metrics);
  void send_otlp();
  std::int64_t sample_sockets();
  std::int64_t sample_counters();
  void gather();
  void record_remarks(const std::vector<std::string>& remarks);
  void wait_for_packets_in_flight() const;
  void take_last_marks();

  Options options_;
  const sys::Root& root_;
  const sys::Clock& clock_;
  std::unique_ptr<record::Writer> writer_;
  std::string record_path_;
  socket::FlowRegistry registry_;
  std::unique_ptr<Steps> steps_;
  std::unique_ptr<live::Metrics> metrics_;
  std::unique_ptr<live::OtlpSender> otlp_;
  record::Producer collective_rows_;
  std::unique_ptr<Packets> packets_;
  stall::Monitor stall_;
  gloo::RankCollectives collectives_;
  live::CollectiveTotals totals_;
  SocketVolume socket_volume_;
  std::unique_ptr<socket::Watcher> sockets_;
  std::unique_ptr<counter::Watcher> counters_;
  std::unique_ptr<job::Roster> roster_;
  std::unique_ptr<Nccl> nccl_;
  std::vector<std::string> warnings_;
  std::vector<std::string> notes_;
  std::vector<std::string> remarks_;
  std::set<std::string> recorded_remarks_;
  std::int64_t began_ns_ = 0;
  std::int64_t roster_due_ns_ = 0;
  bool has_facts_ = false;
  Pace pace_;
  live::Figures figures_;
  std::unique_ptr<Ticker> socket_ticker_;
  std::unique_ptr<Ticker> counter_ticker_;
};

}  // namespace chokepoint::capture::run
