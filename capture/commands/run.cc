// chokepoint run: its flags, and what they do.
#include <fmt/ostream.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cli/context.h"
#include "base/history/place.h"
#include "base/math/units.h"
#include "base/record/names.h"
#include "base/sys/error.h"
#include "capture/commands/commands.h"
#include "capture/commands/job_parent.h"
#include "capture/job/message_output.h"
#include "capture/live/follow_up.h"
#include "capture/run/options.h"

namespace chokepoint::capture {
namespace {

// --label key=value; the last one of a key counts.
Result<std::map<std::string, std::string>> labels_of(const std::vector<std::string>& words) {
  std::map<std::string, std::string> labels;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(ErrorKind::Usage, "--label", word, "not of the form key=value",
                  "for one: --label batch=16");
    }
    labels[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return labels;
}

// --allow-probes 1%, or 0.01.
Result<double> allowed_percent(std::string_view word) {
  if (word.empty()) {
    return 0;
  }
  const Result<double> share = math::parse_share(word);
  const double percent = math::kPercent * share.value_or(0);
  if (!(percent > 0) || percent > record::kMaxAllowedPercent) {
    return fail(ErrorKind::Usage, "--allow-probes", std::string(word), "is no such share",
                fmt::format("give more than 0 %, and {:g} % at most: --allow-probes 1%",
                            record::kMaxAllowedPercent));
  }
  return percent;
}

constexpr std::int64_t kMaxRepeats = 10'000;
constexpr std::int64_t kMaxPid = std::int64_t{1} << 22;
constexpr std::int64_t kMaxSamples = std::int64_t{1} << 40;
constexpr std::chrono::seconds kLiveOnTerminal{10};
// Collectives are known to be over some seconds after their last packet.
constexpr std::chrono::seconds kMinStallAfter{5};

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

// chokepoint run: watches a job from its start to its end, or one that runs already, and writes a
// run record. The job's output, signals and exit status are not changed.
class RunCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {
        .name = "run",
        .purpose = "watches a training job and records the data for a diagnosis",
        .description =
            "Starts the command and watches it from outside, without changing or slowing it: its "
            "packets, its connections as the kernel sees them, its steps, and the host's counters. "
            "All data are stored in a run record, one file per node; the nodes of a run may share "
            "a folder, and need no connection to each other.\n\n"
            "The command has the same terminal, signals and output as without chokepoint, and its "
            "exit status is passed on. If chokepoint is killed, the job continues. Without "
            "permission "
            "to capture packets (CAP_NET_RAW) everything else is still recorded. If the record "
            "cannot be written, the command is started without being watched, and a line says so; "
            "with --strict it is not started.\n\n"
            "Steps are found in the job's output, in marks ('chokepoint mark'), in its collectives "
            "or, without any of these, in the period of its traffic.",
        .examples = {{"chokepoint run --out runs/a -- torchrun --nproc-per-node 1 train.py",
                      "watch a training; the same command on each node"},
                     {"chokepoint run --label batch=16 --label setup=2x1 --repeat 5 -- ./train.sh",
                      "five runs to be averaged and compared"},
                     {"chokepoint run --pid 4711", "watch a running process until it ends"},
                     {"chokepoint run --allow-probes 1% -- ./train.sh",
                      "'chokepoint diagnose --confirm' may test the running job, within 1 %"},
                     {"chokepoint run --stacks --out runs/a -- torchrun train.py",
                      "if the job hangs, 'diagnose' names the line of the rank that is missing"},
                     {"chokepoint run --metrics :9464 -- python train.py",
                      "and serve live metrics to Prometheus"}},
        .json = false};
  }

  void define(cli::Flags& flags) override {
    flags.group("Record")
        .option("out", &folder_, "DIR",
                "the run's folder; default: one in 'chokepoint-runs', named after the job")
        .toggle("append", &may_append_, "add to the earlier run that DIR holds")
        .option("node", &node_, "NAME", "name of this node in the record; default: the host name")
        .option("label", &labels_, "KEY=VALUE", "describes this run: setup=2x2, parallelism=TP …")
        .option("repeat", &repeat_, "N", "repeat the run N times, each in a folder below DIR", 1,
                kMaxRepeats)
        .toggle("diagnose", &follow_up_.diagnoses, "diagnose the run when the command has ended")
        .toggle("report", &follow_up_.reports, "and write its report")
        .toggle("keep-secrets", &keeps_secrets_,
                "keep the values of tokens, passwords and keys in command lines; default: '***'")
        .group("What to watch")
        .option("pid", &pid_, "PID", "watch this process and all it started, instead of a command",
                0, kMaxPid)
        .option("cgroup", &cgroup_, "PATH", "the processes of this cgroup: a container's, a job's")
        .choice("packets", &packets_, {"auto", "off"}, "capture packets")
        .option("interface,i", &interfaces_, "IF",
                "capture on this interface, not on those the job uses")
        .choice("nccl", &nccl_, {"auto", "off"}, "record NCCL's collectives by its profiler plugin")
        .choice("job-output", &output_, {"watch", "direct"},
                "'direct': the job writes to its output directly, and no steps are found in it")
        .formerly("output")
        .toggle("preflight", &checks_before_,
                "check this host first and, in a Slurm job, its other hosts; with --strict, the "
                "command is not started if something critical is found")
        .toggle(
            "strict", &is_strict_,
            "do not start the command if it cannot be watched as asked for; default: start it and "
            "say what is not watched")
        .group("Steps")
        .option(
            "step-regex", &step_expression_, "RE",
            "regular expression of a line that ends a step; (?P<step>…), (?P<samples>…), (?P<ms>…)")
        .option("samples-per-step", &samples_per_step_, "N",
                "samples, tokens or images that this node processes per step", 0, kMaxSamples)
        .group("Meanwhile")
        .option("live", &live_, "TIME", "how often to print progress; 'auto': on a terminal; 'off'")
        .option("metrics", &metrics_, "ADDRESS:PORT",
                "serve live metrics to Prometheus; port 'auto': the first of 9464 to 9479 that is "
                "free")
        .note_setting(&is_metrics_setting_)
        .option("otlp", &otlp_, "URL",
                "send figures and a span of each step to a collector of OpenTelemetry, by OTLP "
                "over HTTP: http://HOST:4318")
        .option("allow-probes", &allow_probes_, "SHARE",
                "'diagnose DIR --confirm' may test this job while it runs, by the hosts' 'serve "
                "--key-file': at most this share of the job's time and traffic, as in 1%; to be "
                "given on every node; default: no tests before the job's end")
        .option("stall-after", &stall_after_, "TIME",
                "report that the job stands still, and why, after this time without a step, and at "
                "least five usual steps")
        .option("on-stall", &stall_hook_, "COMMAND",
                "run by a shell when the job stands still; CHOKEPOINT_STALL has the reason")
        .toggle(
            "stacks", &takes_stacks_,
            "record where in the program the ranks are while the job stands still: their Python by "
            "py-spy, if that is in PATH, and their position in the kernel; stops no process");
    history::define(flags, history_);
    flags.rest("COMMAND", &command_, "the command to start and watch", false);
  }

  Result<cli::ExitCode> run(cli::Context& given) override {
    TRY(check());
    job::MessageOutput messages(STDERR_FILENO);
    const cli::Context context = with_streams(given, given.out, messages);
    Result<Accompanied> wanted = without_exceptions([&] { return wanted_of(context); });
    if (!wanted && (wanted.error().kind == ErrorKind::Usage || is_strict_ || attaches())) {
      return fail(wanted.error());
    }
    if (!wanted) {
      return fail(not_accompanied(context, command_, wanted.error()));
    }
    if (attaches()) {
      return accompany_running(*wanted, {.pid = static_cast<pid_t>(pid_), .cgroup = cgroup_},
                               context);
    }
    if (checks_before_ && !live::check_before(context) && is_strict_) {
      return fail(ErrorKind::Refused, "", command_.front(), "not started for what was found",
                  "fix it, or leave --strict out");
    }
    return repeat_ == 1 ? accompany_command(*wanted, context) : repeat(*wanted, context);
  }

 private:
  Result<> check() const {
    if (command_.empty() && !attaches()) {
      return fail(ErrorKind::Usage, "", "", "nothing to watch",
                  "chokepoint run -- COMMAND…, or --pid, or --cgroup");
    }
    if (!command_.empty() && attaches()) {
      return fail(ErrorKind::Usage, "", command_.front(),
                  "a command is started; --pid and --cgroup watch running processes",
                  "give one of them");
    }
    if (stall_after_ < kMinStallAfter) {
      return fail(ErrorKind::Usage, "", "--stall-after", "is too short", "give at least 5s");
    }
    if (attaches() && repeat_ > 1) {
      return fail(ErrorKind::Usage, "--repeat", std::to_string(repeat_),
                  "needs a command to start");
    }
    return {};
  }

  Result<run::Options> options(const cli::Context& context) const {
    TRY(const auto labels, labels_of(labels_));
    TRY(const double allowed, allowed_percent(allow_probes_));
    run::Options options{.place = {.folder = folder_,
                                   .job = host::find_job(context.environment, command_),
                                   .may_append = may_append_},
                         .node = node_,
                         .labels = labels,
                         .command = command_,
                         .keep_secrets = keeps_secrets_,
                         .program = context.version,
                         .packets = packets_ != "off",
                         .interfaces = interfaces_,
                         .step_expression = step_expression_,
                         .runtime_folder = runtime_folder(context),
                         .metrics_address = metrics_,
                         .may_move_metrics = is_metrics_setting_,
                         .otlp_url = otlp_,
                         .stall_after_ns = stall_after_.count(),
                         .stall_hook = stall_hook_,
                         .takes_stacks = takes_stacks_,
                         .starts_job = !attaches(),
                         .is_strict = is_strict_,
                         .allowed_percent = allowed,
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

  Result<Accompanied> wanted_of(const cli::Context& context) const {
    TRY(run::Options wanted, options(context));
    TRY(const auto every, live_interval(live_, context));
    return Accompanied{.options = std::move(wanted),
                       .live_every = every,
                       .watches_output = output_ == "watch",
                       .may_become_job = repeat_ == 1,
                       .follow_up = follow_up(context)};
  }

  live::FollowUp follow_up(const cli::Context& context) const {
    live::FollowUp wanted = follow_up_;
    wanted.history = history::place_of(history_, context).value_or("");
    return wanted;
  }

  Result<cli::ExitCode> repeat(Accompanied wanted, const cli::Context& context) const {
    for (std::int64_t i = 1; i <= repeat_; ++i) {
      Accompanied one = wanted;
      one.options.place.repetition = static_cast<int>(i);
      one.options.labels["repetition"] = std::to_string(i);
      if (!context.quiet) {
        fmt::print(context.err, "chokepoint: run {} of {}\n", i, repeat_);
        context.err.flush();
      }
      const Result<cli::ExitCode> code = accompany_command(one, context);
      wanted.options.place.folder = std::filesystem::path(one.options.folder).parent_path();
      // A failed run would fail again, and is of no use in a mean.
      if (!code || *code != cli::ExitCode::Done) {
        return code;
      }
    }
    return cli::ExitCode::Done;
  }

  bool attaches() const { return pid_ > 0 || !cgroup_.empty(); }

  std::vector<std::string> command_;
  std::string folder_;
  std::string node_;
  std::vector<std::string> labels_;
  std::int64_t repeat_ = 1;
  std::int64_t pid_ = 0;
  std::string cgroup_;
  std::string output_ = "watch";
  std::string step_expression_;
  std::int64_t samples_per_step_ = 0;
  std::string nccl_ = "auto";
  std::string packets_ = "auto";
  std::vector<std::string> interfaces_;
  std::string metrics_;
  bool is_metrics_setting_ = false;
  std::string otlp_;
  std::chrono::nanoseconds stall_after_ = std::chrono::seconds(10);
  std::string stall_hook_;
  bool takes_stacks_ = false;
  std::string allow_probes_;
  std::string live_ = "auto";
  bool is_strict_ = false;
  bool keeps_secrets_ = false;
  bool may_append_ = false;
  bool checks_before_ = false;
  live::FollowUp follow_up_;
  history::Flags history_;
};

}  // namespace

cli::CommandFactory run_command() { return cli::command<RunCommand>(); }

}  // namespace chokepoint::capture
