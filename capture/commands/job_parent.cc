#include "capture/commands/job_parent.h"

#include <fmt/ostream.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cli/text.h"
#include "base/net/deadline.h"
#include "base/sys/descriptor.h"
#include "base/sys/process.h"
#include "base/sys/signals.h"
#include "capture/commands/progress.h"
#include "capture/job/attached.h"
#include "capture/job/direct_start.h"
#include "capture/job/job.h"
#include "capture/live/line.h"
#include "capture/run/watch_process.h"

namespace chokepoint::capture {
namespace {

// What the job's parent waits for once the job has ended, all of it together: its record's end, a
// verdict, what is still to be sent to a collector.
constexpr std::chrono::seconds kAfterJob{2};
// For the record's end alone, where the user wants what is made from it.
constexpr std::chrono::seconds kRecordForFollowUp{13};

// What the watch's process shows of the job.
class WatchScreen final : public run::Screen {
 public:
  WatchScreen(const cli::Context& context, std::chrono::nanoseconds every)
      : context_(with_streams(context, text_, text_)), notes_(context_, every) {}

  void note_output(const job::OutputPiece& piece) override { notes_.note_output(piece); }
  void show(const live::Figures& figures, std::int64_t now_ns) override {
    notes_.show(figures, now_ns);
  }
  void warn(const std::string& text) override {
    fmt::print(text_, "chokepoint: run: {}\n", cli::printable(text));
  }
  void note(const std::string& text) override {
    if (!context_.quiet) {
      warn(text);
    }
  }
  void sum_up(const live::Figures& figures, const std::string& record_path,
              const record::WriterStatus& status) override {
    if (!context_.quiet) {
      fmt::print(text_, "{}", live::summary_of(figures, record_path));
    }
    if (status.trouble) {
      fmt::print(text_, "chokepoint: run: the record is not complete: {}\n",
                 cli::printable(describe(*status.trouble)));
    }
  }
  std::string take_text() override { return std::exchange(text_, std::ostringstream()).str(); }

 private:
  std::ostringstream text_;
  const cli::Context context_;
  LiveNotes notes_;
};

// Where there is no memory for the text, nothing is printed.
void warn_of(const cli::Context& context, std::string_view what, const Error& error) noexcept {
  try {
    fmt::print(context.err, "chokepoint: run: {}: {}\n", what, cli::printable(describe(error)));
    context.err.flush();
  } catch (const std::exception&) {
    context.err.clear();
  }
}

// A mistake on the command line; what is wrong with a folder is not one: the next node may have
// another disk.
bool is_users_mistake(const Error& error) {
  return error.kind == ErrorKind::Usage && error.operation != "record";
}

// What accompanies the job, where that could be made: the watch's process and the variables that
// the job gets for it, and the relays of its output. The process is destroyed before the screen.
struct Watching {
  Watching(const cli::Context& context, std::chrono::nanoseconds every) : screen(context, every) {}

  WatchScreen screen;
  std::optional<run::WatchProcess> process = {};
  std::vector<std::pair<std::string, std::string>> variables = {};
  job::OutputWatch output = {};
};

Result<run::WatchProcess> fork_watch(const run::Options& options, WatchScreen& screen,
                                     const cli::Context& context) {
  return run::WatchProcess::start(options, screen, context.root, context.clock,
                                  [&context](std::string_view text) {
                                    context.err << text;
                                    context.err.flush();
                                  });
}

// Where the watch records, from here if it is below; empty without a watch. By the text alone: the
// folder's disk may not answer.
std::string folder_of(const run::WatchProcess::Variables& variables) {
  const auto found =
      std::ranges::find(variables, run::kRunVariable, [](const auto& each) { return each.first; });
  if (found == variables.end()) {
    return "";
  }
  std::error_code failed;
  const std::filesystem::path here = std::filesystem::current_path(failed);
  const std::string from_here =
      std::filesystem::path(found->second).lexically_proximate(here).string();
  return failed || from_here.starts_with("..") ? found->second : from_here;
}

// The command itself cannot be run, however it is started.
bool is_of_command(const Error& error) {
  return error.operation == "start" &&
         (error.code == ENOENT || error.code == EACCES || error.code == ENOEXEC ||
          error.code == ENOTDIR || error.code == ELOOP || error.code == ENAMETOOLONG ||
          error.code == EISDIR);
}

// A cgroup has no descriptor that shows its end: it is read at this interval.
constexpr int kCgroupCheckMs = 250;
constexpr int kForever = -1;

// Until one of these is readable, but no longer than that; -1 is ignored. Resets the watch once its
// process has ended. Allocates nothing: the job's parent must not fail because memory is full.
void wait_for(const job::Job::Descriptors& descriptors, int time_ms,
              std::optional<run::WatchProcess>& watch, const cli::Context& context) {
  std::array<pollfd, 1 + job::Job::kMaxDescriptors> watched{
      pollfd{.fd = watch ? watch->descriptor() : -1, .events = POLLIN, .revents = 0}};
  std::ranges::transform(descriptors, watched.begin() + 1, [](int descriptor) {
    return pollfd{.fd = descriptor, .events = POLLIN, .revents = 0};
  });
  poll(watched.data(), watched.size(), time_ms);
  if (!watch || watched.front().revents == 0) {
    return;
  }
  watch->receive();
  if (watch->descriptor() < 0) {
    const Error why = watch->why_ended();
    watch.reset();
    warn_of(context, "the job is no longer watched; its record is good up to the last second", why);
  }
}

// Until the command has ended.
Result<sys::ExitStatus> accompany(job::Job& job, std::optional<run::WatchProcess>& watch,
                                  const cli::Context& context) {
  const job::OnOutput on_output = [&](const job::OutputPiece& piece) {
    if (watch) {
      watch->take_output(piece);
    }
  };
  for (;;) {
    wait_for(job.descriptors(), kForever, watch, context);
    TRY(const std::optional<sys::ExitStatus> ended, job.handle(on_output));
    if (ended) {
      job.finish(on_output);
      return *ended;
    }
  }
}

// Until the processes have ended; false if the user interrupted it.
bool accompany(job::Attached& attached, std::optional<run::WatchProcess>& watch,
               const sys::Signals& signals, const cli::Context& context) {
  const int time_ms = attached.descriptor() < 0 ? kCgroupCheckMs : kForever;
  while (watch && !attached.is_over()) {
    wait_for({attached.descriptor(), signals.descriptor(), -1, -1, -1, -1}, time_ms, watch,
             context);
    if (signals.next()) {
      return false;
    }
  }
  return true;
}

// All that follows the job. Its end is never held up by its record: that is closed by the process
// that watched, whether this one waits for it or not.
void finish(std::optional<run::WatchProcess>& watch, std::optional<int> exit_status,
            const std::string& folder, const live::FollowUp& wanted, int interrupt,
            const cli::Context& context) {
  if (!watch) {
    return;
  }
  const auto deadline = net::Deadline::of(kAfterJob, interrupt);
  const Result<> ended = watch->end(
      exit_status,
      wanted.is_unbounded() ? net::Deadline::of(kRecordForFollowUp, interrupt) : deadline);
  if (ended) {
    live::follow_up(context, folder, wanted, deadline);
  } else {
    warn_of(context, "the record is not complete", ended.error());
  }
  watch->leave(deadline);
}

// All that may fail before the job is there. Both processes are forked first, since they keep the
// memory that there is then.
Result<> prepare(const Accompanied& wanted, const cli::Context& context, Watching& watching) {
  Result<run::WatchProcess> process = fork_watch(wanted.options, watching.screen, context);
  Result<job::OutputWatch> output =
      wanted.watches_output ? job::OutputWatch::open(context.clock) : job::OutputWatch();
  TRY(run::WatchProcess watch, std::move(process));
  TRY(watching.variables, watch.opened());
  if (!output && wanted.options.is_strict) {
    return fail(output.error());
  }
  if (!output) {
    warn_of(context, "the job's output is not watched", output.error());
  } else {
    if (output->remark()) {
      watch.remark(*output->remark());
    }
    watching.output = *std::move(output);
  }
  watching.process.emplace(std::move(watch));
  return {};
}

// Without a watch where none can be made, unless the user made a mistake or is strict.
Result<> try_to_watch(const Accompanied& wanted, const cli::Context& context,
                      std::optional<Watching>& watching) {
  const Result<> prepared = without_exceptions([&]() -> Result<> {
    watching.emplace(context, wanted.live_every);
    return prepare(wanted, context, *watching);
  });
  if (prepared) {
    return {};
  }
  watching.reset();
  if (wanted.options.is_strict || is_users_mistake(prepared.error())) {
    return fail(prepared.error());
  }
  warn_of(context, "the job is not watched", prepared.error());
  return {};
}

void abandon(std::optional<Watching>& watching, int exit_status) {
  if (watching && watching->process) {
    [[maybe_unused]] const Result<> closed =
        watching->process->abandon(exit_status, net::Deadline::of(kAfterJob));
    watching->process->leave(net::Deadline::of(kAfterJob));
  }
  watching.reset();
}

// Where there is no room for a child, this process becomes the job, and does not return.
Result<std::unique_ptr<job::Job>> start_job(const Accompanied& wanted,
                                            std::optional<Watching>& watching,
                                            const cli::Context& context) {
  Result<std::unique_ptr<job::Job>> job = without_exceptions([&] {
    return watching ? job::Job::start(
                          {.command = wanted.options.command, .environment = watching->variables},
                          std::move(watching->output), context.clock)
                    : job::Job::start({.command = wanted.options.command}, {}, context.clock);
  });
  if (job || is_of_command(job.error()) || !wanted.may_become_job) {
    return job;
  }
  warn_of(context, "the job is not watched", job.error());
  abandon(watching, 0);
  return fail(job::become(wanted.options.command));
}

}  // namespace

cli::Context with_streams(const cli::Context& context, std::ostream& out, std::ostream& err) {
  return {.out = out,
          .err = err,
          .clock = context.clock,
          .root = context.root,
          .environment = context.environment,
          .out_terminal = context.out_terminal,
          .err_terminal = context.err_terminal,
          .version = context.version,
          .json = context.json,
          .quiet = context.quiet,
          .has_file_privileges = context.has_file_privileges};
}

Result<cli::ExitCode> accompany_command(Accompanied& wanted, const cli::Context& context) {
  std::optional<Watching> watching;
  TRY(try_to_watch(wanted, context, watching));
  wanted.options.folder = watching ? folder_of(watching->variables) : "";
  const Result<std::unique_ptr<job::Job>> job = start_job(wanted, watching, context);
  if (!job) {
    const int code = job::exit_code_of_failed_start(job.error());
    abandon(watching, code);
    fmt::print(context.err, "chokepoint: run: {}\n", cli::printable(describe(job.error())));
    context.err.flush();
    return static_cast<cli::ExitCode>(code);
  }
  auto watch = watching ? std::move(watching->process) : std::nullopt;
  if (watch) {
    watch->begin((*job)->selection());
  }
  TRY(const sys::ExitStatus ended, accompany(**job, watch, context));
  const Result<sys::Signals> signals = sys::Signals::watch({SIGINT, SIGTERM, SIGHUP, SIGQUIT});
  finish(watch, ended.code, wanted.options.folder, wanted.follow_up,
         signals ? signals->descriptor() : -1, context);
  return static_cast<cli::ExitCode>(ended.code);
}

Result<cli::ExitCode> accompany_running(const Accompanied& wanted, const job::Selection& selection,
                                        const cli::Context& context) {
  TRY(auto attached, job::Attached::attach(selection, context.root));
  TRY(const sys::Signals signals, sys::Signals::watch_for_end());
  Watching watching(context, wanted.live_every);
  TRY(run::WatchProcess process, fork_watch(wanted.options, watching.screen, context));
  TRY(const auto variables, process.opened());
  std::optional<run::WatchProcess> watch(std::move(process));
  watch->begin(selection);
  const bool is_over = accompany(*attached, watch, signals, context);
  const bool is_watched = watch.has_value();
  finish(watch, std::nullopt, folder_of(variables), wanted.follow_up, signals.descriptor(),
         context);
  return !is_over     ? cli::ExitCode::Interrupted
         : is_watched ? cli::ExitCode::Done
                      : cli::ExitCode::Failed;
}

Error not_accompanied(const cli::Context& context, const std::vector<std::string>& command,
                      const Error& why) {
  warn_of(context, "the job is not watched", why);
  return job::become(command);
}

}  // namespace chokepoint::capture
