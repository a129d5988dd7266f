#include "capture/run/watch.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/host/inventory.h"
#include "base/record/names.h"
#include "base/sys/library.h"

namespace chokepoint::capture::run {
namespace {

// A launcher's ranks come within moments; later ones are rare.
constexpr std::int64_t kStartingNs = 5'000'000'000;
constexpr std::int64_t kRosterStartingNs = 50'000'000;
constexpr std::int64_t kRosterNs = 250'000'000;
// Longer than a look at the volume, and than most round trips.
constexpr std::chrono::milliseconds kUnderWay{150};
constexpr std::int64_t kLongestUnderWayNs = 1'500'000'000;
// A commit costs as much as some hundreds of rows.
constexpr std::chrono::milliseconds kCommitInterval{500};

record::WriterOptions record_of(const Options& options) {
  return {.folder = options.folder,
          .node = options.node,
          .role = "run",
          .command = options.command,
          .program = options.program,
          .limits = {.commit_interval = kCommitInterval}};
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
  if (!options.metrics_address.empty()) {
    TRY(live::Metrics::check(options.metrics_address));
  }
  TRY(std::unique_ptr<record::Writer> writer,
      record::Writer::open(record_of(options), root, clock));
  std::unique_ptr<Watch> watch(new Watch(options, root, clock, std::move(writer)));
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
      book_(*writer_),
      packets_({.interfaces = options.interfaces, .root = root}, book_, *writer_,
               {.on_beats = [this](const auto& beats) { steps_->take(beats); },
                .on_collective = [this](const auto& each) { steps_->take(each); }}),
      socket_volume_(*writer_),
      began_ns_(clock.monotonic_ns()) {}

Watch::~Watch() = default;

Result<> Watch::prepare() {
  TRY(std::unique_ptr<Steps> steps, Steps::make(options_, clock_, *writer_));
  steps_ = std::move(steps);
  auto sockets = socket::Watcher::make({}, root_, clock_, *writer_, book_);
  if (sockets) {
    sockets_ = std::move(*sockets);
  } else {
    remarks_.push_back("no sockets: " + describe(sockets.error()));
  }
  counters_ = counter::Watcher::make({}, root_, clock_, *writer_);
  nccl_ = std::make_unique<Nccl>(options_, sys::own_library(kPlugin), clock_, *writer_,
                                 [this](const auto& each) { steps_->take(each); });
  if (steps_->remark()) {
    remarks_.push_back(*steps_->remark());
  }
  keep_labels();
  return options_.packets ? packets_.open() : Result<>();
}

void Watch::keep_labels() {
  for (const auto& [key, value] : options_.labels) {
    writer_->add(record::Label{.key = key, .value = value});
  }
}

// Beside the job, because a driver may take its time to answer.
void Watch::keep_facts() {
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
  return variables;
}

void Watch::begin(const job::Selection& selection) {
  began_ns_ = clock_.monotonic_ns();
  roster_ = std::make_unique<job::Roster>(root_, selection, writer_.get());
  roster_->refresh(began_ns_);
  packets_.begin();
  nccl_->begin([this] { return roster_->processes(); });
  serve_metrics();
  socket_ticker_ =
      std::make_unique<Ticker>("sockets", clock_, [this] { return look_at_sockets(); });
  counter_ticker_ =
      std::make_unique<Ticker>("counters", clock_, [this] { return look_at_counters(); });
}

std::int64_t Watch::look_at_sockets() {
  const std::int64_t now_ns = clock_.monotonic_ns();
  if (now_ns >= roster_due_ns_) {
    roster_->refresh(now_ns);
    roster_due_ns_ = now_ns + (now_ns - began_ns_ < kStartingNs ? kRosterStartingNs : kRosterNs);
  }
  return sockets_ ? std::min(sockets_->tick(*roster_->processes()), roster_due_ns_)
                  : roster_due_ns_;
}

std::int64_t Watch::look_at_counters() {
  const std::int64_t next_ns = counters_->tick(*roster_->processes());
  if (!std::exchange(has_facts_, true)) {
    keep_facts();
  }
  return next_ns;
}

// Once the job has started: the server's library changes what this process does with signals.
void Watch::serve_metrics() {
  if (options_.metrics_address.empty()) {
    return;
  }
  auto metrics = live::Metrics::serve(options_.metrics_address);
  if (metrics) {
    metrics_ = std::move(*metrics);
  } else {
    remarks_.push_back("no metrics: " + describe(metrics.error()));
  }
}

void Watch::attend_marks() { steps_->take_marks(*roster_->processes()); }

void Watch::attend() {
  const std::int64_t now_ns = clock_.monotonic_ns();
  if (options_.packets && sockets_) {
    packets_.follow(sockets_->figures().peers, now_ns);
  }
  steps_->attend(now_ns);
  gather();
  if (metrics_) {
    metrics_->update(figures_);
  }
}

void Watch::gather() {
  const std::int64_t now_ns = clock_.monotonic_ns();
  live::Figures figures{.elapsed_s = static_cast<double>(now_ns - began_ns_) / 1e9,
                        .node = writer_->path().stem(),
                        .program_version = options_.program,
                        .labels = options_.labels,
                        .steps = steps_->figures(),
                        .counters = counters_->figures(),
                        .processes = roster_->processes()->size(),
                        .packets_dropped = packets_.dropped(),
                        .rows_dropped = writer_->status().dropped};
  if (sockets_) {
    figures.sockets = sockets_->figures();
  }
  for (const InterfaceVolume& volume : packets_.volumes()) {
    figures.volume_source = "packets";
    figures.volumes.push_back({.interface = volume.interface,
                               .sent_bytes = volume.counts.sent_bytes,
                               .received_bytes = volume.counts.received_bytes});
    figures.sent_packets += volume.counts.sent_packets;
    figures.retransmitted_packets += volume.counts.retransmitted_packets;
  }
  if (figures.volumes.empty() && !packets_.has_listened() && sockets_) {
    figures.volume_source = "sockets";
    figures.volumes.push_back(socket_volume_.keep(figures.sockets, now_ns));
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
  figures.remarks = remarks_;
  add_each(figures.remarks, packets_.remarks());
  add_each(figures.remarks, nccl_->remarks());
  add_each(figures.remarks, figures.sockets.remarks);
  add_each(figures.remarks, figures.counters.remarks);
  keep_remarks(figures.remarks);
  figures_ = std::move(figures);
}

// Afterwards somebody wants to know why a number is not there. "GPUs: no driver" is of GPUs.
void Watch::keep_remarks(const std::vector<std::string>& remarks) {
  constexpr std::string_view kPartsThem = ": ";
  for (const std::string& remark : remarks) {
    if (!kept_remarks_.insert(remark).second) {
      continue;
    }
    const std::size_t colon = remark.find(kPartsThem);
    const bool has_subject = colon != std::string::npos;
    writer_->add(
        record::Fact{.category = std::string(record::kNotSeen),
                     .subject = has_subject ? remark.substr(0, colon) : "",
                     .key = "reason",
                     .value = has_subject ? remark.substr(colon + kPartsThem.size()) : remark,
                     .source = "chokepoint run"});
  }
}

// The kernel goes on sending what a process that has ended left in its sockets.
void Watch::wait_for_what_is_under_way() const {
  const auto passed = [this] {
    std::uint64_t bytes = 0;
    for (const InterfaceVolume& volume : packets_.volumes()) {
      bytes += volume.counts.sent_bytes + volume.counts.received_bytes;
    }
    return bytes;
  };
  const std::int64_t until_ns = clock_.monotonic_ns() + kLongestUnderWayNs;
  std::uint64_t before = 0;
  for (std::uint64_t now = passed(); now != before && clock_.monotonic_ns() < until_ns;
       now = passed()) {
    before = now;
    std::this_thread::sleep_for(kUnderWay);
  }
}

record::WriterStatus Watch::end(std::optional<int> exit_status) {
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
  wait_for_what_is_under_way();
  packets_.end();
  nccl_->end();
  steps_->take_marks(*roster_->processes());
  steps_->finish(now_ns);
  gather();
  record::WriterStatus status = writer_->close(exit_status);
  figures_.rows_dropped = status.dropped;
  return status;
}

}  // namespace chokepoint::capture::run
