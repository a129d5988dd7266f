// A job under watch: everything that looks at it, and the record it is kept in.
//
//   caller's thread   output, marks, steps, packets' whereabouts, figures
//   "sockets"         the job's processes, its connections
//   "counters"        the host's facts, then its counters
//   "nccl"            what NCCL tells of its collectives
//   one an interface  packets
//   the writer's      the record
//
//   open() ─▶ (the job starts) ─▶ begin() ─▶ attend()… ─▶ end()
//
// None of them touches the job, and whatever one cannot see the others go on: what was not seen is
// told in Figures::remarks.
#pragma once

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
#include "capture/book/flow_book.h"
#include "capture/counter/watcher.h"
#include "capture/job/roster.h"
#include "capture/live/figures.h"
#include "capture/live/metrics.h"
#include "capture/run/nccl.h"
#include "capture/run/options.h"
#include "capture/run/pace.h"
#include "capture/run/packets.h"
#include "capture/run/socket_volume.h"
#include "capture/run/steps.h"
#include "capture/run/ticker.h"
#include "capture/socket/watcher.h"

namespace chokepoint::capture::run {

class Watch {
 public:
  // What can go wrong by the user's doing goes wrong here: the record, an interface, an expression,
  // the metrics' address. Interfaces are listened to from here on. Root and clock outlive it.
  static Result<std::unique_ptr<Watch>> open(const Options& options, const sys::Root& root,
                                             const sys::Clock& clock);
  ~Watch();

  // On top of the job's environment.
  std::vector<std::pair<std::string, std::string>> environment() const;
  void begin(const job::Selection& selection);

  void take_output(const job::OutputPiece& piece) { steps_->take_output(piece); }
  int marks_descriptor() const { return steps_->marks_descriptor(); }  // -1: none; attend_marks()
  void attend_marks();
  // Some times a second.
  void attend();
  std::shared_ptr<const job::JobProcesses> processes() const { return roster_->processes(); }
  const live::Figures& figures() const { return figures_; }

  // Instead of begin(): there is no job to watch.
  void abandon(int exit_status) { writer_->close(exit_status); }
  // The last look at everything, and the end of the record.
  record::WriterStatus end(std::optional<int> exit_status);
  const std::string& record_path() const { return record_path_; }

 private:
  Watch(const Options& options, const sys::Root& root, const sys::Clock& clock,
        std::unique_ptr<record::Writer> writer);

  Result<> prepare();
  void keep_labels();
  void keep_facts();
  void serve_metrics();
  std::int64_t look_at_sockets();
  std::int64_t look_at_counters();
  void gather();
  void keep_remarks(const std::vector<std::string>& remarks);
  void wait_for_what_is_under_way() const;

  Options options_;
  const sys::Root& root_;
  const sys::Clock& clock_;
  std::unique_ptr<record::Writer> writer_;
  std::string record_path_;
  book::FlowBook book_;
  std::unique_ptr<Steps> steps_;
  std::unique_ptr<live::Metrics> metrics_;
  Packets packets_;
  SocketVolume socket_volume_;
  std::unique_ptr<socket::Watcher> sockets_;
  std::unique_ptr<counter::Watcher> counters_;
  std::unique_ptr<job::Roster> roster_;
  std::unique_ptr<Nccl> nccl_;
  std::vector<std::string> remarks_;
  std::set<std::string> kept_remarks_;
  std::int64_t began_ns_ = 0;
  std::int64_t roster_due_ns_ = 0;
  bool has_facts_ = false;
  Pace pace_;
  live::Figures figures_;
  std::unique_ptr<Ticker> socket_ticker_;
  std::unique_ptr<Ticker> counter_ticker_;
};

}  // namespace chokepoint::capture::run
