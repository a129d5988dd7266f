#include "capture/run/watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/host/inventory.h"
#include "base/record/names.h"
#include "base/record/runs.h"
#include "base/sys/library.h"
#include "capture/counter/watcher.h"
#include "capture/job/roster.h"
#include "capture/live/metrics.h"
#include "capture/nccl/rows.h"
#include "capture/run/nccl.h"
#include "capture/run/packets.h"
#include "capture/run/steps.h"
#include "capture/run/ticker.h"
#include "capture/socket/watcher.h"

namespace chokepoint::capture::run {
namespace {

// The roster is refreshed often at the start: a launcher's ranks come then; later ones are rare.
constexpr std::int64_t kStartingNs = 5'000'000'000;
constexpr std::int64_t kRosterStartingNs = 50'000'000;
constexpr std::int64_t kRosterNs = 250'000'000;
// Longer than the interval at which the volume is measured, and than most round trips.
constexpr std::chrono::milliseconds kInFlightPause{150};
constexpr std::int64_t kMaxInFlightNs = 1'500'000'000;
// A commit costs as much as some hundreds of rows.
constexpr std::chrono::milliseconds kCommitInterval{500};
constexpr std::chrono::milliseconds kFirstCommitInterval{150};

record::WriterOptions record_of(const Options& options) {
  return {.folder = options.folder,
          .node = options.node,
          .role = "run",
          .command = options.command,
          .keep_secrets = options.keep_secrets,
          .program = options.program,
          .limits = {.commit_interval = kCommitInterval,
                     .first_commit_interval = kFirstCommitInterval,
                     .young = kYoung}};
}

// Before anything is written: a mistake on the command line leaves no record.
Result<> check_options(const Options& options) {
  TRY(step::OutputSteps::make(options.step_expression, options.samples_per_step));
  return {};
}

// Bound before the job starts: another run that starts now gets another port, and what is wrong is
// reported. Null: none are wanted.
Result<std::unique_ptr<live::Metrics>> metrics_of(const Options& options) {
  using live::Metrics;
  if (options.metrics_address.empty()) {
    return std::unique_ptr<Metrics>();
  }
  return Metrics::serve(options.metrics_address, options.may_move_metrics
                                                     ? Metrics::IfTaken::NextPort
                                                     : Metrics::IfTaken::Fail);
}

// A host may have any name; a node has one of a file.
std::string node_of(std::string host) {
  std::ranges::replace(host, '/', '-');
  if (host.starts_with('.')) {
    host.front() = '-';
  }
  return host.empty() ? "node" : host;
}

// Sets the folder and the node's name that were chosen. Hosts that are clones or containers have
// equal names, so that the first's record is in use: the others get a number.
Result<std::unique_ptr<record::Writer>> open_record(Options& options, const sys::Root& root,
                                                    const sys::Clock& clock) {
  constexpr int kMaxNamesakes = 100;
  if (options.node.empty()) {
    options.node = node_of(root.text("/proc/sys/kernel/hostname").value_or(""));
  }
  TRY(const job::Place place, job::choose_folder(options.place, options.node, clock.wall_ns()));
  options.folder = place.folder;
  options.made_folder = place.is_new;
  record::WriterOptions wanted = record_of(options);
  for (int number = 2;; ++number) {
    auto writer = record::Writer::open(wanted, root, clock);
    if (writer || writer.error().kind != ErrorKind::Busy || number > kMaxNamesakes) {
      return writer;
    }
    wanted.node = fmt::format("{}-{}", options.node, number);
  }
}

std::vector<gloo::RankedProcess> ranks_of(const job::JobProcesses& processes) {
  std::vector<gloo::RankedProcess> ranks;
  for (const job::JobProcess& process : processes) {
    if (process.record_id != 0 && process.rank.rank) {
      ranks.push_back({.process = process.record_id, .rank = *process.rank.rank});
    }
  }
  return ranks;
}

// Helpers of a rank have its number, too.
bool are_several(const std::vector<gloo::RankedProcess>& ranks) {
  return std::ranges::any_of(
      ranks, [&](const gloo::RankedProcess& each) { return each.rank != ranks.front().rank; });
}

void add_each(std::vector<std::string>& all, const std::vector<std::string>& more) {
  for (const std::string& text : more) {
    if (std::ranges::count(all, text) == 0) {
      all.push_back(text);
    }
  }
}

}  // namespace

Result<std::unique_ptr<Watch>> Watch::open(const Options& options, const sys::Root& root,
                                           const sys::Clock& clock) {
  TRY(check_options(options));
  TRY(options.otlp_url.empty() ? Result<>() : live::OtlpSender::check(options.otlp_url));
  auto metrics = metrics_of(options);
  if (!metrics && (options.is_strict || metrics.error().kind == ErrorKind::Usage)) {
    return fail(metrics.error());
  }
  Options placed = options;
  TRY(std::unique_ptr<record::Writer> writer, open_record(placed, root, clock));
  std::unique_ptr<Watch> watch(new Watch(placed, root, clock, std::move(writer)));
  if (const std::string node = std::filesystem::path(watch->record_path_).stem();
      node != placed.node) {
    watch->warnings_.push_back(fmt::format(
        "another node is called {}, too: this one is recorded as {}", placed.node, node));
  }
  if (const auto owner = record::other_owner(placed.folder); owner && geteuid() == 0) {
    watch->warnings_.push_back(fmt::format(
        "root records into a folder of user {}, who can change it or put others in its place: "
        "--out names another",
        *owner));
  }
  if (!metrics) {
    watch->warn("no metrics: " + describe(metrics.error()));
  } else if (*metrics) {
    watch->serve(std::move(*metrics));
  }
  TRY(watch->prepare());
  return watch;
}

Watch::Watch(const Options& options, const sys::Root& root, const sys::Clock& clock,
             std::unique_ptr<record::Writer> writer)
    : options_(options),
      root_(root),
      clock_(clock),
      writer_(std::move(writer)),
      record_path_(writer_->path()),
      registry_(*writer_),
      collective_rows_(writer_->producer("collectives")),
      packets_(std::make_unique<Packets>(
          PacketOptions{
              .interfaces = options.interfaces, .root = root, .tap_program = options.tap_program},
          registry_, *writer_,
          tap::TapListeners{.on_traffic = [this](const auto& bins) { steps_->take(bins); },
                            .on_collective =
                                [this](const record::Collective& row, std::int64_t end,
                                       std::optional<std::int64_t> process) {
                                  take(row, end, process.value_or(0));
                                }})),
      stall_({.after_ns = options.stall_after_ns,
              .hook = options.stall_hook,
              .takes_stacks = options.takes_stacks,
              .node = writer_->path().stem(),
              .record = options.folder},
             root, *writer_),
      collectives_([this](const record::Collective& row) { keep(row); }),
      socket_volume_(*writer_),
      began_ns_(clock.monotonic_ns()) {}

Watch::~Watch() = default;

Result<> Watch::prepare() {
  TRY(std::unique_ptr<Steps> steps, Steps::make(options_, clock_, *writer_));
  steps_ = std::move(steps);
  auto sockets = socket::Watcher::make({}, root_, clock_, *writer_, registry_);
  if (sockets) {
    sockets_ = std::move(*sockets);
  } else {
    remarks_.push_back("no sockets: " + describe(sockets.error()));
  }
  counters_ = counter::Watcher::make({}, root_, clock_, *writer_);
  nccl_ = std::make_unique<Nccl>(
      options_, sys::own_library(kPlugin), root_, clock_, *writer_,
      Nccl::Listeners{
          .collective =
              [this](const record::Collective& row) {
                totals_.take(row);
                const record::Collective beat = nccl::beat_of(row);
                stall_.note_over(beat);
                steps_->take(beat);
              },
          .enqueued =
              [this](std::uint64_t process, auto newest) {
                stall_.note_enqueued(static_cast<pid_t>(process), newest);
              },
          .tag = [this](auto rank, std::uint64_t tag,
                        std::int64_t t_ns) { steps_->take(step::TaggedCall{rank, tag, t_ns}); }});
  if (steps_->remark()) {
    remarks_.push_back(*steps_->remark());
  }
  record_command();
  return options_.packets ? open_packets() : Result<>();
}

// Interfaces that the user did not name are no error.
Result<> Watch::open_packets() {
  const Result<> opened = packets_->open();
  if (!opened && options_.is_strict) {
    return opened;
  }
  if (!opened) {
    warn("no packets: " + describe(opened.error()));
  }
  return {};
}

void Watch::warn(const std::string& text) {
  warnings_.push_back(text);
  remarks_.push_back(text);
}

void Watch::abandon(int exit_status) {
  const bool is_new = writer_->is_first_session();
  writer_->close(exit_status);
  std::error_code failed;
  if (is_new) {
    std::filesystem::remove(record_path_, failed);
  }
  if (is_new && options_.made_folder) {
    std::filesystem::remove(options_.folder, failed);
  }
}

// What the user gave for this run.
void Watch::record_command() {
  for (const auto& [key, value] : options_.labels) {
    writer_->add(record::Label{.key = key, .value = value});
  }
  if (options_.allowed_percent > 0) {
    writer_->add(
        record::Event{.t_ns = clock_.monotonic_ns(),
                      .kind = std::string(record::kProbesAllowed),
                      .detail = fmt::format(R"({{"percent":{}}})", options_.allowed_percent)});
  }
}

// On this thread, because a driver may take long to reply.
void Watch::record_facts() {
  for (const host::Fact& fact : host::facts_of(host::read_inventory(root_))) {
    writer_->add(record::Fact{.category = fact.category,
                              .subject = fact.subject,
                              .key = fact.key,
                              .value = fact.value,
                              .source = fact.source});
  }
}

std::vector<std::pair<std::string, std::string>> Watch::environment() const {
  std::vector<std::pair<std::string, std::string>> variables = nccl_->environment();
  if (const std::string path = steps_->marks_path(); !path.empty()) {
    variables.emplace_back(step::kMarksVariable, path);
  }
  std::error_code failed;
  variables.emplace_back(kRunVariable, std::filesystem::absolute(options_.folder, failed).string());
  return variables;
}

void Watch::begin(const job::Selection& selection) {
  began_ns_ = clock_.monotonic_ns();
  roster_ = std::make_unique<job::Roster>(root_, selection, writer_.get(), options_.keep_secrets);
  roster_->refresh(began_ns_);
  packets_->begin();
  nccl_->begin([this] { return roster_->processes(); });
  send_otlp();
  socket_ticker_ = std::make_unique<Ticker>("sockets", clock_, [this] { return sample_sockets(); });
  counter_ticker_ =
      std::make_unique<Ticker>("counters", clock_, [this] { return sample_counters(); });
}

std::int64_t Watch::sample_sockets() {
  const std::int64_t now_ns = clock_.monotonic_ns();
  if (now_ns >= roster_due_ns_) {
    roster_->refresh(now_ns);
    roster_due_ns_ = now_ns + (now_ns - began_ns_ < kStartingNs ? kRosterStartingNs : kRosterNs);
  }
  return sockets_ ? std::min(sockets_->tick(*roster_->processes()), roster_due_ns_)
                  : roster_due_ns_;
}

std::int64_t Watch::sample_counters() {
  const std::int64_t next_ns = counters_->tick(*roster_->processes());
  if (!std::exchange(has_facts_, true)) {
    record_facts();
  }
  return next_ns;
}

void Watch::serve(std::unique_ptr<live::Metrics> metrics) {
  metrics_ = std::move(metrics);
  metrics_->update({.node = writer_->path().stem(),
                    .program_version = options_.program,
                    .labels = options_.labels});
  const std::string address = metrics_->address();
  if (metrics_->is_chosen()) {
    notes_.push_back("metrics at " + address);
  }
  writer_->add(record::Event{.t_ns = clock_.monotonic_ns(),
                             .kind = std::string(record::kMetricsServed),
                             .subject = address,
                             .detail = "{}"});
}

void Watch::send_otlp() {
  if (options_.otlp_url.empty()) {
    return;
  }
  auto sender = live::OtlpSender::open(options_.otlp_url, otlp::run_name(options_.folder), clock_);
  if (sender) {
    otlp_ = std::move(*sender);
    steps_->set_listener([this](const step::Step& step) { otlp_->take(step); });
  } else {
    remarks_.push_back("no OTLP: " + describe(sender.error()));
  }
}

void Watch::take_output(const job::OutputPiece& piece) { steps_->take_output(piece); }

std::shared_ptr<const job::JobProcesses> Watch::processes() const { return roster_->processes(); }

void Watch::take(const record::Collective& part, std::int64_t end, std::int64_t process) {
  if (part.merged == 0) {
    stall_.note_waiting(part, process);
  } else {
    collectives_.take({.row = part, .end = end, .process = process}, clock_.monotonic_ns());
  }
}

void Watch::keep(const record::Collective& row) {
  stall_.note_over(row);
  totals_.take(row);
  collective_rows_.push(row);
  steps_->take(row);
}

void Watch::poll() {
  const std::int64_t now_ns = clock_.monotonic_ns();
  const std::vector<gloo::RankedProcess> ranks = ranks_of(*roster_->processes());
  if (options_.packets && sockets_) {
    packets_->follow(sockets_->figures().peers, now_ns, are_several(ranks));
  }
  collectives_.settle(ranks, now_ns);
  steps_->take_marks(*roster_->processes());
  steps_->poll(now_ns);
  check_stall(now_ns);
  gather();
  if (metrics_) {
    metrics_->update(figures_);
  }
  if (otlp_) {
    otlp_->update(figures_);
  }
}

void Watch::check_stall(std::int64_t now_ns) {
  constexpr double kUsualShare = 0.02;
  const step::Figures steps = steps_->figures();
  const double mbps = figures_.sent_mbps + figures_.received_mbps;
  double bytes = 0;
  for (const live::Volume& volume : figures_.volumes) {
    bytes += static_cast<double>(volume.sent_bytes + volume.received_bytes);
  }
  const double usual_mbps = figures_.elapsed_s > 0 ? bytes * 8 / 1e6 / figures_.elapsed_s : 0;
  stall_.poll({.now_ns = now_ns,
               .steps = steps.count,
               .usual_ms = steps.median_ms.value_or(0),
               .newest_step_ns = steps.newest_end_ns,
               .is_traffic_usual =
                   steps.source == record::StepSource::Traffic && mbps > kUsualShare * usual_mbps,
               .processes = *roster_->processes(),
               .silent = figures_.sockets.silent});
}

void Watch::gather() {
  const std::int64_t now_ns = clock_.monotonic_ns();
  live::Figures figures{.elapsed_s = static_cast<double>(now_ns - began_ns_) / 1e9,
                        .node = writer_->path().stem(),
                        .program_version = options_.program,
                        .labels = options_.labels,
                        .steps = steps_->figures(),
                        .stall = stall_.figures(),
                        .counters = counters_->figures(),
                        .collectives = totals_.figures(),
                        .processes = roster_->processes()->size(),
                        .packets_dropped = packets_->dropped(),
                        .rows_dropped = writer_->status().dropped};
  if (sockets_) {
    figures.sockets = sockets_->figures();
  }
  for (const InterfaceVolume& volume : packets_->volumes()) {
    figures.volume_source = "packets";
    figures.volumes.push_back({.interface = volume.interface,
                               .sent_bytes = volume.counts.sent_bytes,
                               .received_bytes = volume.counts.received_bytes});
    figures.sent_packets += volume.counts.sent_packets;
    figures.retransmitted_packets += volume.counts.retransmitted_packets;
  }
  if (figures.volumes.empty() && !packets_->has_listened() && sockets_) {
    figures.volume_source = "sockets";
    figures.volumes.push_back(socket_volume_.push(figures.sockets, now_ns));
    figures.sent_packets = figures.sockets.sent_segments;
    figures.retransmitted_packets = figures.sockets.retransmitted_segments;
  }
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  for (const live::Volume& volume : figures.volumes) {
    sent += volume.sent_bytes;
    received += volume.received_bytes;
  }
  const Pace::Rates rates = pace_.take(now_ns, sent, received);
  figures.sent_mbps = rates.sent_mbps;
  figures.received_mbps = rates.received_mbps;
  figures.nccl = nccl_->requested_events();
  figures.remarks = remarks_;
  add_each(figures.remarks, packets_->remarks());
  add_each(figures.remarks, nccl_->remarks());
  add_each(figures.remarks, figures.sockets.remarks);
  add_each(figures.remarks, figures.counters.remarks);
  if (const std::string lost = otlp_ ? otlp_->remark() : ""; !lost.empty()) {
    figures.remarks.push_back(lost);
  }
  record_remarks(figures.remarks);
  figures_ = std::move(figures);
}

// The record explains why a number is missing. The subject of "GPUs: no driver" is "GPUs".
void Watch::record_remarks(const std::vector<std::string>& remarks) {
  constexpr std::string_view kSeparator = ": ";
  for (const std::string& remark : remarks) {
    if (!recorded_remarks_.insert(remark).second) {
      continue;
    }
    const std::size_t colon = remark.find(kSeparator);
    const bool has_subject = colon != std::string::npos;
    writer_->add(
        record::Fact{.category = std::string(record::kNotSeen),
                     .subject = has_subject ? remark.substr(0, colon) : "",
                     .key = "reason",
                     .value = has_subject ? remark.substr(colon + kSeparator.size()) : remark,
                     .source = "chokepoint run"});
  }
}

// The kernel goes on sending what a process left in its sockets when it ended.
void Watch::wait_for_packets_in_flight() const {
  const auto passed = [this] {
    std::uint64_t bytes = 0;
    for (const InterfaceVolume& volume : packets_->volumes()) {
      bytes += volume.counts.sent_bytes + volume.counts.received_bytes;
    }
    return bytes;
  };
  const std::int64_t until_ns = clock_.monotonic_ns() + kMaxInFlightNs;
  std::uint64_t before = 0;
  for (std::uint64_t now = passed(); now != before && clock_.monotonic_ns() < until_ns;
       now = passed()) {
    before = now;
    std::this_thread::sleep_for(kInFlightPause);
  }
}

// What the job left behind may go on marking.
void Watch::take_last_marks() {
  constexpr int kMaxTurns = 64;
  for (int turn = 0; turn < kMaxTurns && steps_->take_marks(*roster_->processes()); ++turn) {
  }
}

void Watch::final_sample(std::optional<int> exit_status) {
  socket_ticker_->stop();
  counter_ticker_->stop();
  const std::int64_t now_ns = clock_.monotonic_ns();
  roster_->refresh(now_ns);
  if (exit_status) {
    roster_->note_end({.code = *exit_status}, now_ns);
  }
  if (sockets_) {
    sockets_->finish(*roster_->processes());
  }
  counters_->finish(*roster_->processes());
  wait_for_packets_in_flight();
  packets_->end();
  collectives_.finish();
  nccl_->end();
  totals_.finish();
  take_last_marks();
  steps_->finish(now_ns);
  gather();
  if (otlp_) {
    otlp_->update(figures_);
    otlp_->finish();
    gather();
  }
}

record::WriterStatus Watch::close(std::optional<int> exit_status) {
  record::WriterStatus status = writer_->close(exit_status);
  figures_.rows_dropped = status.dropped;
  return status;
}

}  // namespace chokepoint::capture::run
