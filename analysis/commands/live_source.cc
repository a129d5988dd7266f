// Where `chokepoint live` reads the nodes of a run: their records, or what their watches serve.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <thread>

#include "analysis/commands/live.h"
#include "analysis/commands/run_files.h"
#include "base/record/runs.h"
#include "base/sys/thread.h"

namespace chokepoint::analysis {
namespace {

using std::chrono::nanoseconds;

// A diagnosis takes longer the more nodes there are: it gets at most this share of the time.
constexpr int kPausePerCost = 9;

class RecordSource final : public LiveSource {
 public:
  RecordSource(std::vector<std::string> folders, DiagnoseOptions options, nanoseconds every,
               const sys::Clock& clock)
      : folders_(std::move(folders)), options_(options), every_(every), clock_(clock) {}

  Result<LiveView> read() override {
    TRY(record::Run run, open());
    LiveView view{.run = name_of_folder(folders_.front())};
    if (folders_.size() == 1) {
      view.next = "chokepoint diagnose " + record::shell_line(std::array{view.run});
    }
    if (folders_.size() > 1) {
      view.run += fmt::format(" and {} more", folders_.size() - 1);
    }
    for (record::Reader& reader : run.nodes) {
      const bool is_being_written = record::is_being_written(reader.path());
      view.nodes.push_back(live_node(reader, is_being_written));
    }
    for (const Error& error : run.unreadable) {
      view.nodes.push_back({.name = error.subject,
                            .state = NodeState::CutOff,
                            .trouble = describe(without_operation(error))});
    }
    const std::int64_t now_ns = clock_.monotonic_ns();
    if (!run.nodes.empty() && (now_ns >= next_ns_ || has_ended(view))) {
      diagnosis_ =
          std::move(diagnose_records(std::move(run), view.run, options_).inquiry.diagnosis);
      const std::int64_t cost_ns = clock_.monotonic_ns() - now_ns;
      next_ns_ = now_ns + std::max<std::int64_t>(every_.count(), kPausePerCost * cost_ns);
    }
    view.diagnosis = diagnosis_;
    return view;
  }

 private:
  Result<record::Run> open() const {
    record::Run all;
    for (const std::string& folder : folders_) {
      TRY(record::Run run, open_records(folder));
      std::ranges::move(run.nodes, std::back_inserter(all.nodes));
      std::ranges::move(run.unreadable, std::back_inserter(all.unreadable));
    }
    std::ranges::stable_sort(all.nodes, {}, &record::Reader::node);
    return all;
  }

  std::vector<std::string> folders_;
  DiagnoseOptions options_;
  nanoseconds every_;
  const sys::Clock& clock_;
  std::int64_t next_ns_ = 0;
  std::optional<Diagnosis> diagnosis_;
};

class MetricsSource final : public LiveSource {
 public:
  explicit MetricsSource(std::vector<Scraper> scrapers) : scrapers_(std::move(scrapers)) {}

  // All are scraped at the same time, so that one that does not respond delays no other.
  Result<LiveView> read() override {
    constexpr auto kScrapeTimeout = std::chrono::milliseconds(1500);
    LiveView view{.run = fmt::format("metrics of {} {}", scrapers_.size(),
                                     scrapers_.size() == 1 ? "node" : "nodes"),
                  .nodes = std::vector<LiveNode>(scrapers_.size()),
                  .no_diagnosis =
                      "none from metrics: it takes the records of the nodes, "
                      "'chokepoint live DIR'"};
    const auto scrape = [&](std::size_t node) {
      view.nodes[node] = scrapers_[node].read(kScrapeTimeout);
    };
    std::vector<std::thread> others;
    for (std::size_t node = 1; node < scrapers_.size(); ++node) {
      if (auto thread = sys::start_thread("metrics", [&scrape, node] { scrape(node); })) {
        others.push_back(*std::move(thread));
      } else {
        scrape(node);
      }
    }
    scrape(0);
    std::ranges::for_each(others, &std::thread::join);
    const auto silent = [](const LiveNode& node) { return node.state == NodeState::Silent; };
    if (!has_responded_ && std::ranges::all_of(view.nodes, silent)) {
      const LiveNode& first = view.nodes.front();
      return fail(ErrorKind::Unreachable, "", first.name,
                  first.trouble + (scrapers_.size() > 1 ? ", and no other node answers" : ""),
                  "does 'chokepoint run --metrics' run there?");
    }
    has_responded_ = true;
    return view;
  }

  // Rates need two responses, and figures are made anew every second.
  nanoseconds warm_up() const override { return std::chrono::milliseconds(1100); }

 private:
  std::vector<Scraper> scrapers_;
  bool has_responded_ = false;
};

}  // namespace

bool has_ended(const LiveView& view) {
  return std::ranges::none_of(
      view.nodes, [](const LiveNode& node) { return node.state == NodeState::Running; });
}

std::string state_of(const LiveView& view) {
  const auto in = [&](NodeState state) {
    return std::ranges::count(view.nodes, state, &LiveNode::state);
  };
  if (!has_ended(view)) {
    return fmt::format("{} of {} nodes run", in(NodeState::Running), view.nodes.size());
  }
  std::string text = "ended";
  const auto failed = std::ranges::find_if(
      view.nodes, [](const LiveNode& node) { return node.exit_status.value_or(0) != 0; });
  if (failed != view.nodes.end()) {
    text += fmt::format(", exit {} on {}", *failed->exit_status, failed->name);
  } else if (std::ranges::all_of(
                 view.nodes, [](const LiveNode& node) { return node.exit_status.has_value(); })) {
    text += ", exit 0";
  }
  for (const NodeState state : {NodeState::CutOff, NodeState::Silent}) {
    if (const auto nodes = in(state); nodes > 0) {
      text += fmt::format(", {} of {} nodes {}", nodes, view.nodes.size(), name_of(state));
    }
  }
  return text;
}

std::unique_ptr<LiveSource> record_source(std::vector<std::string> folders, DiagnoseOptions options,
                                          nanoseconds every, const sys::Clock& clock) {
  return std::make_unique<RecordSource>(std::move(folders), options, every, clock);
}

std::unique_ptr<LiveSource> metrics_source(std::vector<Scraper> scrapers) {
  return std::make_unique<MetricsSource>(std::move(scrapers));
}

}  // namespace chokepoint::analysis
