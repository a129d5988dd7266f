// chokepoint collect: brings the records of a run together from the hosts that they lie on; and
// chokepoint record send, which it starts there.
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "analysis/commands/commands.h"
#include "analysis/commands/run_files.h"
#include "analysis/commands/sender.h"
#include "base/cli/output.h"
#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/host/launcher.h"
#include "base/math/units.h"
#include "base/record/bundle.h"
#include "base/record/collector.h"
#include "base/record/runs.h"
#include "base/record/schema.h"
#include "base/sys/descriptor.h"
#include "base/sys/process.h"
#include "base/sys/signals.h"

namespace chokepoint::analysis {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostAtOnce = 8;
constexpr std::chrono::milliseconds kLookEvery{200};

struct Source {
  std::string host = {};  // empty: a folder of this host
  std::string folder = {};

  std::string name() const { return host.empty() ? folder : host + ":" + folder; }
};

// "gpu[1-2]:runs/a", or a folder of this host. A host's name has no slash.
Result<std::vector<Source>> sources_of(const std::vector<std::string>& words) {
  std::vector<Source> sources;
  for (const std::string& word : words) {
    const std::size_t colon = word.find(':');
    if (colon == std::string::npos || word.find('/') < colon) {
      sources.push_back({.folder = word});
      continue;
    }
    TRY(const auto hosts, host::hosts_of(word.substr(0, colon)));
    for (const std::string& host : hosts) {
      sources.push_back({.host = host, .folder = word.substr(colon + 1)});
    }
  }
  return sources;
}

struct CollectOutcome {
  std::vector<record::Collected> collected = {};
  std::vector<std::string> troubles = {};
};

using CollectClock = std::chrono::steady_clock;

// How far a source is, for whoever waits for it. Written by its thread, read by another.
struct SourceProgress {
  std::atomic<std::uint64_t> bytes = 0;
  std::atomic<CollectClock::time_point> heard_at = CollectClock::time_point::max();
  std::atomic<bool> is_open = false;
};

// The records of one source. What ssh says beside them is no trouble if all came.
Result<> collect_from(const std::vector<std::string>& command, const Source& source,
                      const SenderDeadline& patience, record::Collector& collector,
                      SourceProgress& progress, CollectOutcome& outcome) {
  TRY(Sender sender, Sender::start(command, patience));
  record::BundleReader bundle([&](std::span<char> into) -> Result<std::size_t> {
    TRY(const std::size_t count, sender.read(into));
    progress.bytes += count;
    progress.heard_at = CollectClock::now();
    return count;
  });
  const auto collected = [&]() -> Result<> {
    TRY(bundle.head());
    for (;;) {
      TRY(const std::optional<record::BundleEntry> entry, bundle.next());
      if (!entry) {
        return {};
      }
      TRY(record::Collected taken, collector.take(bundle, *entry, source.name()));
      outcome.collected.push_back(std::move(taken));
    }
  }();
  // Why nothing more came is told by the wait, not by what was said before.
  const bool is_left = !collected && (collected.error().kind == ErrorKind::Timeout ||
                                      collected.error().kind == ErrorKind::Interrupted);
  if (is_left) {
    return collected;
  }
  const std::string message = sender.message();
  if (!message.empty() && (!collected || sender.has_failed())) {
    outcome.troubles.push_back(fmt::format("{}: {}", source.name(), message));
    return {};
  }
  return collected;
}

class CollectCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  Result<std::vector<Source>> sources() const;
  Result<fs::path> target(const std::vector<Source>& sources) const;
  std::vector<std::string> command_for(const Source& source,
                                       const record::Collector& collector) const;
  Result<CollectOutcome> collect(const std::vector<Source>& sources, record::Collector& collector,
                                 const cli::Context& context) const;

  std::vector<std::string> words_;
  std::string slurm_job_;
  std::string ssh_;
  std::string program_ = "chokepoint";
  std::string out_;
  std::chrono::nanoseconds patience_ = std::chrono::seconds(60);
};

cli::Summary CollectCommand::summary() const {
  return {
      .name = "collect",
      .purpose = "brings the records of a run together from its hosts",
      .description =
          "Copies the records of each host into one folder by ssh, for diagnose, report and the "
          "others. A record is copied as it is at one moment, also while it is being written; what "
          "was copied before is not copied again, and a copy that was interrupted goes on where it "
          "stopped. Each record is checked before it gets its name. chokepoint must be installed "
          "on each host, and ssh must not ask for a password.\n\n"
          "HOST: without a folder is the newest run of that host, in chokepoint-runs in the home "
          "folder.",
      .examples = {{"chokepoint collect gpu1:chokepoint-runs/812 gpu2:chokepoint-runs/812",
                    "into chokepoint-runs/812 here"},
                   {"chokepoint collect gpu[1-8]:runs/a --out all/a", "of eight hosts"},
                   {"chokepoint collect --slurm 812", "from the nodes of a Slurm job"},
                   {"chokepoint collect runs/a /mnt/b/runs/a --out both", "folders of this host"}}};
}

void CollectCommand::define(cli::Flags& flags) {
  flags.positional("[HOST:]DIR", &words_, "a run's folder on a host, or on several: gpu[1-8]:DIR",
                   false);
  flags.group("From where")
      .option("slurm", &slurm_job_, "JOBID", "the nodes of this job, from its run's folder there")
      .option("ssh", &ssh_, "COMMAND", "in place of 'ssh', with options, as in 'ssh -p 2222'")
      .option("program", &program_, "PATH", "chokepoint on those hosts")
      .option("patience", &patience_, "TIME", "how long a host may send nothing")
      .group("To where")
      .option("out", &out_, "DIR", "the folder for all; default: chokepoint-runs/NAME");
}

constexpr std::chrono::seconds kSlurmPatience{60};

// What scontrol or sacct say of a job: "KEY=VALUE KEY=VALUE", or a line with '|' between.
struct SlurmJob {
  std::string nodes = {};
  std::string folder = {};
};

Result<std::string> output_of(std::vector<std::string> command) {
  constexpr std::size_t kMaxOutputBytes = 256 << 10;
  const std::string name = command.front();
  TRY(Sender program, Sender::start(std::move(command), {.silence = kSlurmPatience}));
  std::string text;
  std::array<char, 4096> bytes{};
  for (;;) {
    TRY(const std::size_t count, program.read(bytes));
    if (count == 0 || text.size() > kMaxOutputBytes) {
      break;
    }
    text.append(bytes.data(), count);
  }
  const std::string message = program.message();
  return text.empty() ? Result<std::string>(fail(ErrorKind::NotFound, name, "", message))
                      : Result<std::string>(text);
}

std::string word_after(std::string_view text, std::string_view key) {
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    if (at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n') {
      const std::string_view rest = text.substr(at + key.size());
      return std::string(rest.substr(0, rest.find_first_of(" \n")));
    }
  }
  return {};
}

// A job that ended a while ago is known to sacct alone.
Result<SlurmJob> slurm_job(const std::string& id) {
  if (id.find_first_not_of("0123456789_.+") != std::string::npos) {
    return fail(ErrorKind::Usage, "", "--slurm " + id, "not a job's number");
  }
  if (const auto text = output_of({"scontrol", "show", "job", id})) {
    SlurmJob job{.nodes = word_after(*text, "NodeList="), .folder = word_after(*text, "WorkDir=")};
    if (!job.nodes.empty() && job.nodes != "(null)") {
      return job;
    }
  }
  const auto text = output_of({"sacct", "-X", "-n", "-P", "-j", id, "-o", "NodeList,WorkDir"});
  if (text && text->find('|') != std::string::npos) {
    const std::string line = text->substr(0, text->find('\n'));
    const std::size_t bar = line.find('|');
    return SlurmJob{.nodes = line.substr(0, bar), .folder = line.substr(bar + 1)};
  }
  return fail(ErrorKind::NotFound, "", "--slurm " + id,
              "neither scontrol nor sacct knows this job's nodes",
              "name them: chokepoint collect HOST:DIR");
}

Result<std::vector<Source>> CollectCommand::sources() const {
  if (slurm_job_.empty() == words_.empty()) {
    return fail(ErrorKind::Usage, "", "", "what is to be collected?",
                "give HOST:DIR for each host, or --slurm JOBID");
  }
  if (slurm_job_.empty()) {
    return sources_of(words_);
  }
  TRY(const SlurmJob job, slurm_job(slurm_job_));
  TRY(const auto hosts, host::hosts_of(job.nodes));
  std::vector<Source> sources;
  for (const std::string& host : hosts) {
    sources.push_back(
        {.host = host, .folder = fs::path(job.folder) / record::kRunsFolder / slurm_job_});
  }
  return sources;
}

Result<fs::path> CollectCommand::target(const std::vector<Source>& sources) const {
  fs::path folder = out_;
  if (out_.empty()) {
    const std::string name = fs::path(name_of_folder(sources.front().folder)).filename();
    folder = fs::path(record::kRunsFolder) / (name.empty() || name == "." ? "collected" : name);
  }
  const bool is_own = std::ranges::any_of(sources, [&](const Source& source) {
    std::error_code failed;
    return source.host.empty() && fs::equivalent(source.folder, folder, failed);
  });
  if (is_own) {
    return fail(ErrorKind::Usage, "", folder.string(), "is collected, and where it would go",
                "give another folder with --out");
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return fail(from_errno(error.value(), "collect", folder.string()));
  }
  return folder;
}

std::vector<std::string> CollectCommand::command_for(const Source& source,
                                                     const record::Collector& collector) const {
  std::vector<std::string> there{source.host.empty() ? kOwnProgram : program_, "record", "send"};
  for (const record::Beginning& each : collector.beginnings(source.name())) {
    there.insert(there.end(), {"--have", record::text_of(each)});
  }
  if (!source.folder.empty()) {
    there.insert(there.end(), {"--", source.folder});
  }
  if (source.host.empty()) {
    return there;
  }
  if (!ssh_.empty()) {
    return {"/bin/sh", "-c", ssh_ + " \"$@\"", "sh", source.host, record::shell_line(there)};
  }
  std::vector<std::string> command = host::ssh_to(source.host);
  command.push_back(record::shell_line(there));
  return command;
}

// Sources that are collected at the same time, some at once, each by a thread.
class Collecting {
 public:
  using CollectOne = std::function<Result<>(const Source&, SourceProgress&, CollectOutcome&)>;

  Collecting(const std::vector<Source>& sources, CollectOne collect_one)
      : sources_(sources), progress_(sources.size()), collect_one_(std::move(collect_one)) {
    for (std::size_t count = 0; count < std::min(kMostAtOnce, sources.size()); ++count) {
      threads_.emplace_back([this] { work(); });
    }
  }

  std::size_t done() const { return done_; }
  // "gpu3:runs/a: 12 MB, nothing for 8 s": the one that has been silent longest.
  std::string note() const;
  // Once all are done.
  CollectOutcome take() {
    threads_.clear();
    std::ranges::sort(all_.collected, {}, &record::Collected::file);
    std::ranges::sort(all_.troubles);
    return std::move(all_);
  }

 private:
  void work() {
    for (std::size_t at = next_++; at < sources_.size(); at = next_++) {
      const Source& source = sources_[at];
      SourceProgress& progress = progress_[at];
      progress.heard_at = CollectClock::now();
      progress.is_open = true;
      CollectOutcome outcome;
      const Result<> collected = collect_one_(source, progress, outcome);
      progress.is_open = false;
      if (!collected) {
        outcome.troubles.push_back(
            fmt::format("{}: {}", source.name(), describe(without_operation(collected.error()))));
      }
      const std::lock_guard guard(mutex_);
      std::ranges::move(outcome.collected, std::back_inserter(all_.collected));
      std::ranges::move(outcome.troubles, std::back_inserter(all_.troubles));
      ++done_;
    }
  }

  const std::vector<Source>& sources_;
  std::vector<SourceProgress> progress_;
  CollectOne collect_one_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> done_ = 0;
  std::mutex mutex_;  // all_
  CollectOutcome all_;
  std::vector<std::jthread> threads_;
};

std::string Collecting::note() const {
  std::optional<std::size_t> quietest;
  for (std::size_t at = 0; at < sources_.size(); ++at) {
    if (progress_[at].is_open &&
        (!quietest || progress_[at].heard_at.load() < progress_[*quietest].heard_at.load())) {
      quietest = at;
    }
  }
  if (!quietest) {
    return "";
  }
  const auto silent = std::chrono::floor<std::chrono::seconds>(
      CollectClock::now() - progress_[*quietest].heard_at.load());
  return fmt::format("{}: {}{}", sources_[*quietest].name(),
                     math::format_bytes(static_cast<double>(progress_[*quietest].bytes.load())),
                     silent.count() > 0 ? fmt::format(", nothing for {} s", silent.count()) : "");
}

// Ctrl-C ends what other hosts were asked for, too: they are not of this terminal's process group.
Result<CollectOutcome> CollectCommand::collect(const std::vector<Source>& sources,
                                               record::Collector& collector,
                                               const cli::Context& context) const {
  TRY(const sys::Signals signals, sys::Signals::watch_for_end());
  const sys::Descriptor interrupt(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const SenderDeadline patience{.silence = patience_, .interrupt = interrupt.get()};
  cli::Progress progress(context, "collecting", sources.size());
  Collecting collecting(sources, [&](const Source& source, SourceProgress& own,
                                     CollectOutcome& outcome) {
    return collect_from(command_for(source, collector), source, patience, collector, own, outcome);
  });
  while (collecting.done() < sources.size()) {
    pollfd ended{.fd = signals.descriptor(), .events = POLLIN, .revents = 0};
    if (poll(&ended, 1, static_cast<int>(kLookEvery.count())) > 0) {
      eventfd_write(interrupt.get(), 1);
      return fail(ErrorKind::Interrupted, "", "", "interrupted",
                  "collect again: what came is kept");
    }
    progress.update(collecting.done(), collecting.note());
  }
  return collecting.take();
}

cli::Json document_of(const cli::Context& context, const fs::path& folder,
                      const CollectOutcome& all) {
  cli::Json document = cli::document(context, "chokepoint.collect/1");
  document["folder"] = folder.string();
  cli::Json records = cli::Json::array();
  for (const record::Collected& each : all.collected) {
    records.push_back({{"file", each.file},
                       {"source", each.source},
                       {"bytes", each.bytes},
                       {"sent_bytes", each.sent_bytes},
                       {"live", each.is_live}});
  }
  document["records"] = std::move(records);
  document["troubles"] = all.troubles;
  return document;
}

void print_table(const cli::Context& context, const CollectOutcome& all) {
  cli::Table table({{"record"}, {"from"}, {"size", cli::Align::Right}, {""}});
  for (const record::Collected& each : all.collected) {
    table.add({each.file, each.source, math::format_bytes(static_cast<double>(each.bytes)),
               each.sent_bytes == 0 ? "was here already"
               : each.is_live       ? "goes on: collect it again"
                                    : ""});
  }
  table.print(context.out, context.out_terminal);
}

Result<cli::ExitCode> CollectCommand::run(cli::Context& context) {
  TRY(const std::vector<Source> sources, this->sources());
  TRY(const fs::path folder, target(sources));
  record::Collector collector(folder);
  TRY(const CollectOutcome all, collect(sources, collector, context));
  for (const std::string& trouble : all.troubles) {
    fmt::print(context.err, "chokepoint: collect: {}\n", cli::printable(trouble));
  }
  if (context.json) {
    cli::print(context, document_of(context, folder, all));
  } else if (!all.collected.empty()) {
    print_table(context, all);
  }
  if (!all.collected.empty() && !context.quiet) {
    const std::array next{std::string("chokepoint"), std::string("diagnose"), folder.string()};
    fmt::print(context.err, "chokepoint: collect: next: {}\n", record::shell_line(next));
  }
  std::error_code kept;
  fs::remove(folder, kept);  // only if nothing came
  return all.troubles.empty() ? cli::ExitCode::Done : cli::ExitCode::Failed;
}

class SendCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {.name = "record send",
            .purpose = "writes a run's records to standard output, for 'collect'",
            .description =
                "Writes a copy of each record in a run's folder to standard output, with its size "
                "and hash: what 'chokepoint collect' starts on other hosts. A record that is being "
                "written is copied as it is at one moment.",
            .examples = {{"chokepoint record send runs/a >a.records", "all records of runs/a"}},
            .json = false};
  }

  void define(cli::Flags& flags) override {
    flags.positional("DIR", &folder_, "the run's folder; default: the newest run here", false);
    flags.group("What is there")
        .option("have", &have_, "NAME=BYTES:HASH", "a record that the reader has the beginning of");
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    std::vector<record::Beginning> there;
    for (const std::string& text : have_) {
      TRY(record::Beginning each, record::beginning_in(text));
      there.push_back(std::move(each));
    }
    if (context.out_terminal.interactive) {
      return fail(ErrorKind::Usage, "", "", "standard output is a terminal",
                  "'chokepoint collect' reads what this writes");
    }
    context.quiet = true;
    // A reader that has gone is an error of the write, after which the copies are removed.
    signal(SIGPIPE, SIG_IGN);
    TRY(const std::string folder, choose_run(context, "record send", folder_));
    TRY(const std::vector<Error> left_out,
        record::send_records(folder, there, [&](std::string_view bytes) -> Result<> {
          context.out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
          return context.out ? Result<>() : fail(from_errno(EPIPE, "write", "standard output"));
        }));
    for (const Error& error : left_out) {
      fmt::print(context.err, "{}\n", cli::printable(describe(error)));
    }
    return left_out.empty() ? cli::ExitCode::Done : cli::ExitCode::Failed;
  }

 private:
  std::string folder_;
  std::vector<std::string> have_;
};

}  // namespace

cli::CommandFactory collect_command() { return cli::command<CollectCommand>(); }
cli::CommandFactory record_send_command() { return cli::command<SendCommand>(); }

}  // namespace chokepoint::analysis
