#include "capture/run/nccl.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/record/names.h"

namespace chokepoint::capture::run {
namespace {

// A ring of 4096 records is full after half a second at 8,000 records per second.
constexpr std::int64_t kReadIntervalNs = 50'000'000;
constexpr std::int64_t kIdleIntervalNs = 250'000'000;  // until a process has loaded the plugin
constexpr std::int64_t kEnqueuedIntervalNs = 1'000'000'000;  // between calls of Listeners::enqueued
constexpr std::chrono::milliseconds kWriterPause{10};
constexpr int kMaxWriterPauses = 30;  // together shorter than a ring lasts
constexpr int kMaxWriterPausesAtEnd = 500;
constexpr std::int64_t kSearchIntervalNs = 1'000'000'000;  // for the process that writes a file
constexpr const char* kSubject = "nccl";
constexpr std::size_t kMaxProfilerBytes = 4096;  // PATH_MAX

// Of any build: by its path, or by the name from which NCCL makes the library's name.
bool is_ours(const std::string& profiler) {
  return profiler == "chokepoint" || std::filesystem::path(profiler).filename() == kPlugin;
}

nccl::Reader::Owner owner_of(const job::JobProcess& process) {
  return {
      .pid = static_cast<std::uint64_t>(process.pid),
      .rank = process.rank.rank ? std::optional<std::int64_t>(*process.rank.rank) : std::nullopt};
}

// "2.28.9"
std::string version_text(std::uint32_t version) {
  constexpr std::uint32_t kMajor = 10'000;
  constexpr std::uint32_t kMinor = 100;
  return version == 0 ? "of an unknown version"
                      : fmt::format("{}.{}.{}", version / kMajor, version / kMinor % kMinor,
                                    version % kMinor);
}

// "collectives, their parts on the network; for a share of the time what these wait for, kernels"
std::string events_text(const nccl::Choice& choice) {
  std::string text = "collectives";
  text += choice.proxies ? ", their parts on the network" : "";
  if (choice.steps || choice.kernels) {
    text += "; for a share of the time ";
    text += choice.steps ? "what these wait for" : "";
    text += choice.steps && choice.kernels ? ", " : "";
    text += choice.kernels ? "kernels" : "";
  }
  return text;
}

std::string reason_text(nccl::Choice::Reason reason) {
  using Reason = nccl::Choice::Reason;
  switch (reason) {
    case Reason::Cheap:
      return "kernel events cost little with this version";
    case Reason::Costly:
      return "kernel events cost a tenth of small collectives' speed with this version";
    case Reason::Unknown:
      return "what kernel events cost with this version is not known";
    case Reason::Requested:
      return "as CHOKEPOINT_NCCL_EVENTS says";
    case Reason::Undecided:
      break;
  }
  return "not decided";
}

// A plugin that this program carries lies in memory under a number. By this link it has its name,
// by which another chokepoint knows it.
std::filesystem::path named(const std::filesystem::path& plugin,
                            const std::filesystem::path& folder) {
  if (plugin.filename() == kPlugin) {
    return plugin;
  }
  std::error_code problem;
  std::filesystem::path link = folder / kPlugin;
  std::filesystem::create_symlink(plugin, link, problem);
  return problem ? plugin : link;
}

}  // namespace

Nccl::Nccl(const Options& options, const std::optional<std::filesystem::path>& plugin,
           const sys::Root& root, const sys::Clock& clock, record::Writer& writer,
           Listeners listeners)
    : root_(root), clock_(clock), writer_(writer), listeners_(std::move(listeners)) {
  if (!options.nccl) {
    return;
  }
  if (!options.starts_job) {
    remarks_.emplace_back("NCCL: the job had started already, so it has no plugin of chokepoint");
    return;
  }
  if (!plugin) {
    remarks_.push_back(fmt::format("NCCL: {} does not lie beside the program", kPlugin));
    return;
  }
  if (options.nccl_profiler.size() > kMaxProfilerBytes) {
    remarks_.push_back(
        fmt::format("NCCL: {} of the job's own is longer than a path may be; its "
                    "profiler is left alone",
                    kPluginVariable));
    return;
  }
  Result<nccl::Folder> folder = nccl::Folder::make(options.runtime_folder);
  if (!folder) {
    remarks_.push_back("NCCL: " + describe(folder.error()));
    return;
  }
  folder_.emplace(std::move(*folder));
  plugin_ = named(*plugin, folder_->path());
  // If chokepoint watches a job that is itself `chokepoint run`, the plugin would call itself.
  if (!is_ours(options.nccl_profiler)) {
    next_ = options.nccl_profiler;
  }
}

Nccl::~Nccl() = default;

std::vector<std::pair<std::string, std::string>> Nccl::environment() const {
  if (!folder_) {
    return {};
  }
  std::vector<std::pair<std::string, std::string>> variables{
      {kPluginVariable, plugin_.string()}, {nccl::kFolderVariable, folder_->path().string()}};
  if (!next_.empty()) {
    variables.emplace_back(nccl::kNextVariable, next_);
  }
  return variables;
}

void Nccl::begin(Processes processes) {
  if (!folder_) {
    return;
  }
  began_ns_ = clock_.monotonic_ns();
  producer_.emplace(writer_.producer("nccl"));
  reader_ = std::make_unique<nccl::Reader>(
      folder_->path(), [this](const record::Collective& row) { keep(row); },
      [this, processes = std::move(processes)](std::uint64_t own_pid, std::uint64_t inode) {
        return find_owner(*processes(), own_pid, inode);
      },
      listeners_.tag);
  ticker_ = std::make_unique<Ticker>("nccl", clock_, [this] { return sample(); });
}

// Several processes may have the same pid, each in its own namespace: the right one has mapped the
// file. Where that cannot be seen, a single one will do.
std::optional<nccl::Reader::Owner> Nccl::find_owner(const job::JobProcesses& processes,
                                                    std::uint64_t own_pid, std::uint64_t inode) {
  OwnerSearch& search = owners_[inode];
  if (search.pid != 0) {
    const auto found = std::ranges::find(processes, search.pid, &job::JobProcess::pid);
    if (found != processes.end()) {
      return owner_of(*found);
    }
    search.pid = 0;  // it has ended, and a new file may get the old one's inode
  }
  const std::int64_t now_ns = clock_.monotonic_ns();
  if (now_ns < search.again_ns) {
    return std::nullopt;
  }
  search.again_ns = now_ns + kSearchIntervalNs;
  const job::JobProcess* unproven = nullptr;
  bool is_ambiguous = false;
  for (const job::JobProcess& process : processes) {
    if (static_cast<std::uint64_t>(process.own_pid) != own_pid) {
      continue;
    }
    const std::optional<bool> has_mapped =
        job::maps_file(root_, process.pid, inode, nccl::kFileSuffix);
    if (has_mapped.value_or(false)) {
      search.pid = process.pid;
      return owner_of(process);
    }
    if (!has_mapped) {
      is_ambiguous = is_ambiguous || unproven != nullptr;
      unproven = &process;
    }
  }
  if (unproven == nullptr || is_ambiguous) {
    return std::nullopt;
  }
  search.pid = unproven->pid;
  return owner_of(*unproven);
}

// Collectives without a recorded end come late, the rows of minutes at once. The writer needs time
// for them, and the rings hold what comes meanwhile; at the end nothing more comes, so the wait is
// longer and only a disk that accepts nothing ends it.
void Nccl::keep(const record::Collective& row) {
  for (; pauses_ > 0 && producer_->is_full<record::Collective>(); --pauses_) {
    std::this_thread::sleep_for(kWriterPause);
  }
  pauses_ = is_over_ && pauses_ > 0 ? kMaxWriterPausesAtEnd : pauses_;
  producer_->push(row);
  listeners_.collective(row);
}

std::int64_t Nccl::sample() {
  pauses_ = kMaxWriterPauses;
  const std::int64_t now_ns = clock_.monotonic_ns();
  reader_->tick(now_ns);
  if (now_ns - enqueued_ns_ >= kEnqueuedIntervalNs) {
    enqueued_ns_ = now_ns;
    reader_->report_enqueued(listeners_.enqueued);
  }
  const nccl::Figures figures = reader_->figures();
  if (figures.foreign_version) {
    add_remark(fmt::format("NCCL: its plugin writes version {}, and this reads {}",
                           *figures.foreign_version, nccl::kLayoutVersion));
  }
  for (const std::uint64_t choice : figures.choices) {
    if (reported_choices_.insert(choice).second) {
      report_choice(nccl::Choice::of(choice));
    }
  }
  return now_ns + (figures.processes > 0 ? kReadIntervalNs : kIdleIntervalNs);
}

void Nccl::add_remark(std::string remark) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::count(remarks_, remark) == 0) {
    remarks_.push_back(std::move(remark));
  }
}

void Nccl::report_choice(const nccl::Choice& choice) {
  const std::string version = version_text(choice.nccl_version);
  const std::string reason = reason_text(choice.reason);
  const std::string events = events_text(choice);
  writer_.add(record::Fact{.category = "nccl",
                           .subject = version,
                           .key = "events",
                           .value = fmt::format("{} ({})", events, reason),
                           .source = "NCCL profiler plugin"});
  if (!choice.kernels && choice.reason != nccl::Choice::Reason::Requested) {
    add_remark(
        fmt::format("NCCL's kernels: {} ({}): CHOKEPOINT_NCCL_EVENTS=all in the job's "
                    "environment records them",
                    reason, version));
  }
  const std::lock_guard lock(mutex_);
  requested_events_.push_back(fmt::format("{}: {}", version, events));
}

void Nccl::end() {
  if (!ticker_) {
    return;
  }
  ticker_->stop();
  is_over_ = true;
  pauses_ = kMaxWriterPausesAtEnd;
  reader_->finish(clock_.monotonic_ns());
  record_losses(reader_->figures());
}

void Nccl::record_losses(const nccl::Figures& figures) {
  record_loss("records overwritten before they were read", figures.overwritten);
  record_loss("no room in the plugin: its rings, its tables, its file system", figures.unkept);
  record_loss("parts of collectives that are not known", figures.orphans);
}

void Nccl::record_loss(const std::string& reason, std::uint64_t rows) {
  if (rows == 0) {
    return;
  }
  const nlohmann::ordered_json detail{
      {"reason", reason}, {"rows", rows}, {"until_ns", clock_.monotonic_ns()}};
  writer_.add(record::Event{.t_ns = began_ns_,
                            .kind = std::string(record::kDropped),
                            .subject = kSubject,
                            .detail = detail.dump()});
}

std::vector<std::string> Nccl::requested_events() const {
  const std::lock_guard lock(mutex_);
  return requested_events_;
}

std::vector<std::string> Nccl::remarks() const {
  const std::lock_guard lock(mutex_);
  return remarks_;
}

}  // namespace chokepoint::capture::run
