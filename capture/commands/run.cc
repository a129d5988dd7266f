#include "capture/commands/run.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <filesystem>

#include "base/math/units.h"
#include "base/sys/signals.h"
#include "capture/commands/live_notes.h"
#include "capture/commands/run_labels.h"
#include "capture/commands/run_loop.h"
#include "capture/live/line.h"

namespace chokepoint::capture {
namespace {

constexpr std::int64_t kMostRepeats = 10'000;
constexpr std::int64_t kMostPid = std::int64_t{1} << 22;
constexpr std::int64_t kMostSamples = std::int64_t{1} << 40;
constexpr std::chrono::seconds kLiveOnTerminal{10};

std::string folder_for(std::int64_t wall_ns) {
  // 2026-11-20T10:12:00.123Z without what a path had better not have.
  std::string name = "chokepoint-run-" + sys::rfc3339(wall_ns).substr(0, 19);
  std::erase(name, ':');
  return name;
}

std::string runtime_folder(const cli::Context& context) {
  for (const char* const name : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    const std::string folder = context.environment(name).value_or("");
    if (!folder.empty()) {
      return folder;
    }
  }
  return "/tmp";
}

Result<std::chrono::nanoseconds> live_interval(const std::string& word,
                                               const cli::Context& context) {
  if (word == "off" || (word == "auto" && (context.quiet || !context.err_terminal.interactive))) {
    return std::chrono::nanoseconds(0);
  }
  if (word == "auto") {
    return kLiveOnTerminal;
  }
  const auto interval = math::parse_duration(word);
  if (!interval || interval->count() <= 0) {
    return fail(ErrorKind::Usage, "--live", word, "not a time",
                "a time as in --live 5s, 'auto' or 'off'");
  }
  return *interval;
}

// Its threads leave the signals to the job's.
Result<std::unique_ptr<run::Watch>> open_quietly(const run::Options& options,
                                                 const cli::Context& context) {
  const sys::SignalsHeld held;
  return run::Watch::open(options, context.root, context.clock);
}

void tell(const run::Watch& watch, const record::WriterStatus& status,
          const cli::Context& context) {
  if (!context.quiet) {
    fmt::print(context.err, "{}", live::summary_of(watch.figures(), watch.record_path()));
  }
  if (status.trouble) {
    fmt::print(context.err, "chokepoint: run: the record is not complete: {}\n",
               describe(*status.trouble));
  }
  context.err.flush();
}

}  // namespace

cli::Summary RunCommand::summary() const {
  return {
      .name = "run",
      .purpose = "watches a training job, and keeps what a diagnosis needs",
      .description =
          "Starts the command and watches it from outside, without changing or slowing it: its "
          "packets, its connections as the kernel sees them, its steps, and the host's counters. "
          "All of it is kept in a run record, one file a node; the nodes of a run may share a "
          "folder, and need no connection to each other.\n\n"
          "The command has the terminal, the signals and the output it would have without, and "
          "its exit status is this command's. Should chokepoint die, the job goes on. Without the "
          "right to see packets (CAP_NET_RAW) the rest is watched all the same.\n\n"
          "Steps are found in what the job prints, in marks ('chokepoint mark'), in its "
          "collectives or, failing all these, in the rhythm of its traffic.",
      .examples = {{"chokepoint run --out runs/a -- torchrun --nproc-per-node 1 train.py",
                    "watch a training, the same on each node"},
                   {"chokepoint run --label batch=16 --label setup=2x1 --repeat 5 -- ./train.sh",
                    "five runs to be averaged and compared"},
                   {"chokepoint run --pid 4711", "watch what runs already, until it ends"},
                   {"chokepoint run --metrics :9464 -- python train.py",
                    "and let Prometheus look on"}},
      .json = false};
}

void RunCommand::define(cli::Flags& flags) {
  flags.group("What to keep")
      .option("out", &folder_, "DIR", "the run's folder; one of its own for each run")
      .option("node", &node_, "NAME", "this host's name in the record, if not its own")
      .option("label", &labels_, "KEY=VALUE", "what this run is: setup=2x2, parallelism=TP …")
      .option("repeat", &repeat_, "N", "so many runs, each in a folder below DIR", 1, kMostRepeats)
      .group("What to watch")
      .option("pid", &pid_, "PID", "this process and all it started, instead of a command", 0,
              kMostPid)
      .option("cgroup", &cgroup_, "PATH", "the processes of this cgroup: a container's, a job's")
      .choice("packets", &packets_, {"auto", "off"}, "whether to look at packets")
      .option("interface,i", &interfaces_, "IF", "packets of this one, not of those the job uses")
      .choice("nccl", &nccl_, {"auto", "off"}, "whether to have NCCL tell of its collectives")
      .choice("output", &output_, {"watch", "direct"},
              "'direct': the job writes to its output itself, and no step is found there")
      .group("Steps")
      .option("step-regex", &step_expression_, "RE",
              "what a line looks like that ends a step; (?P<step>…), (?P<samples>…), (?P<ms>…)")
      .option("samples-per-step", &samples_per_step_, "N",
              "samples, tokens or images that a step of this node processes", 0, kMostSamples)
      .group("Meanwhile")
      .option("live", &live_, "TIME", "how often to say how it goes; 'auto': on a terminal; 'off'")
      .option("metrics", &metrics_, "ADDRESS:PORT", "serve figures to Prometheus");
  flags.rest("COMMAND", &command_, "what to start and watch", false);
}

Result<> RunCommand::check() const {
  if (command_.empty() && !attaches()) {
    return fail(ErrorKind::Usage, "", "", "nothing to watch",
                "chokepoint run -- COMMAND…, or --pid, or --cgroup");
  }
  if (!command_.empty() && attaches()) {
    return fail(ErrorKind::Usage, "", command_.front(),
                "a command is started, --pid and --cgroup watch what runs already",
                "give one of them");
  }
  if (attaches() && repeat_ > 1) {
    return fail(ErrorKind::Usage, "--repeat", std::to_string(repeat_), "needs a command to start");
  }
  return {};
}

Result<run::Options> RunCommand::options(const cli::Context& context) const {
  TRY(const auto labels, labels_of(labels_));
  run::Options options{.folder = folder_.empty() ? folder_for(context.clock.wall_ns()) : folder_,
                       .node = node_,
                       .labels = labels,
                       .command = command_,
                       .program = context.version,
                       .packets = packets_ != "off",
                       .interfaces = interfaces_,
                       .step_expression = step_expression_,
                       .runtime_folder = runtime_folder(context),
                       .metrics_address = metrics_,
                       .starts_job = !attaches(),
                       .nccl = nccl_ != "off",
                       .nccl_profiler = context.environment(run::kPluginVariable).value_or("")};
  if (samples_per_step_ > 0) {
    options.samples_per_step = samples_per_step_;
  }
  if (pid_ > 0) {
    options.command = {"--pid", std::to_string(pid_)};
  } else if (!cgroup_.empty()) {
    options.command = {"--cgroup", cgroup_};
  }
  return options;
}

Result<cli::ExitCode> RunCommand::run(cli::Context& context) {
  TRY(check());
  TRY(const run::Options wanted, options(context));
  TRY(const auto every, live_interval(live_, context));
  if (attaches()) {
    return attend(wanted, every, context);
  }
  return repeat_ == 1 ? start(wanted, every, context) : repeat(wanted, every, context);
}

Result<cli::ExitCode> RunCommand::repeat(const run::Options& options,
                                         std::chrono::nanoseconds every,
                                         cli::Context& context) const {
  for (std::int64_t i = 1; i <= repeat_; ++i) {
    run::Options one = options;
    one.folder = std::filesystem::path(options.folder) / std::to_string(i);
    one.labels["repetition"] = std::to_string(i);
    if (!context.quiet) {
      fmt::print(context.err, "chokepoint: run {} of {}\n", i, repeat_);
    }
    const Result<cli::ExitCode> code = start(one, every, context);
    // What failed once would only fail again, and nobody averages over that.
    if (!code || *code != cli::ExitCode::Done) {
      return code;
    }
  }
  return cli::ExitCode::Done;
}

Result<cli::ExitCode> RunCommand::start(const run::Options& options, std::chrono::nanoseconds every,
                                        cli::Context& context) const {
  // Before there is much memory for a relay to keep.
  Result<job::OutputWatch> output =
      output_ == "watch" ? job::OutputWatch::open(context.clock) : job::OutputWatch();
  if (!output) {
    return std::unexpected(output.error());
  }
  TRY(std::unique_ptr<run::Watch> watch, open_quietly(options, context));
  Result<std::unique_ptr<job::Job>> job = job::Job::start(
      {.command = command_, .environment = watch->environment()}, *std::move(output));
  if (!job) {
    const int code = job::exit_code_of_failed_start(job.error());
    watch->abandon(code);
    fmt::print(context.err, "chokepoint: run: {}\n", describe(job.error()));
    return static_cast<cli::ExitCode>(code);
  }
  watch->begin((*job)->selection());
  LiveNotes notes(context, every);
  const Result<sys::ExitStatus> ended = accompany(**job, *watch, notes, context);
  const record::WriterStatus status = watch->end(ended ? std::optional(ended->code) : std::nullopt);
  if (!ended) {
    return std::unexpected(ended.error());
  }
  tell(*watch, status, context);
  return static_cast<cli::ExitCode>(ended->code);
}

Result<cli::ExitCode> RunCommand::attend(const run::Options& options,
                                         std::chrono::nanoseconds every,
                                         cli::Context& context) const {
  const job::Selection selection{.pid = static_cast<pid_t>(pid_), .cgroup = cgroup_};
  TRY(auto attached, job::Attached::attach(selection, context.root));
  const Result<sys::Signals> signals = sys::Signals::watch({SIGINT, SIGTERM, SIGHUP});
  if (!signals) {
    return std::unexpected(signals.error());
  }
  TRY(std::unique_ptr<run::Watch> watch, open_quietly(options, context));
  watch->begin(selection);
  LiveNotes notes(context, every);
  const bool is_over = accompany(*attached, *watch, notes, context, signals->descriptor());
  tell(*watch, watch->end(std::nullopt), context);
  return is_over ? cli::ExitCode::Done : cli::ExitCode::Interrupted;
}

}  // namespace chokepoint::capture
