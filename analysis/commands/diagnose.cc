#include "analysis/commands/diagnose.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <poll.h>

#include <algorithm>
#include <sstream>

#include "analysis/commands/commands.h"
#include "analysis/commands/run_files.h"
#include "base/cli/text.h"
#include "base/sys/signals.h"

namespace chokepoint::analysis {
namespace {

// A run to whose records nothing is added for this long has ended, whatever they say.
constexpr std::chrono::nanoseconds kPatience = std::chrono::minutes(1);

// The end of all records; rises while one is being written.
std::int64_t newest_of(const RunData& run) {
  std::int64_t newest_ns = 0;
  for (const NodeData& node : run.nodes) {
    newest_ns = std::max(newest_ns, node.span.end_ns);
  }
  return newest_ns;
}

// How many rows of the terminal a text takes: longer lines take several.
std::ptrdiff_t rows_of(const std::string& text, int width) {
  std::ptrdiff_t rows = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    rows += std::max<std::ptrdiff_t>(
        1, (static_cast<std::ptrdiff_t>(cli::width_of(line)) + width - 1) / width);
  }
  return rows;
}

// Shows one diagnosis after the other, on a terminal each in place of the one before.
class Display {
 public:
  Display(cli::Context& context, bool all) : context_(context), all_(all) {}

  void show(const Diagnosis& diagnosis) {
    if (context_.json) {
      context_.out << document_of(context_, diagnosis)
                          .dump(-1, ' ', false, cli::Json::error_handler_t::replace)
                   << '\n';
    } else if (context_.out_terminal.interactive) {
      redraw(diagnosis);
    } else {
      fmt::print(context_.out, "{} {}, {} steps\n", sys::rfc3339(context_.clock.wall_ns()),
                 headline_of(diagnosis), diagnosis.steps.count);
    }
    context_.out.flush();
  }

 private:
  std::string drawn(const Diagnosis& diagnosis, const cli::Terminal& terminal) const {
    std::ostringstream page;
    print_page(page, terminal, diagnosis);
    if (all_) {
      print_details(page, terminal, diagnosis);
    }
    return page.str();
  }

  void redraw(const Diagnosis& diagnosis) {
    if (rows_ > 0) {
      fmt::print(context_.out, "\033[{}A\033[J", rows_);
    }
    context_.out << drawn(diagnosis, context_.out_terminal);
    // Color codes have no width.
    cli::Terminal plain = context_.out_terminal;
    plain.color = false;
    rows_ = rows_of(drawn(diagnosis, plain), plain.width);
  }

  cli::Context& context_;
  bool all_;
  std::ptrdiff_t rows_ = 0;
};

bool is_asked_to_end(const sys::Signals& signals, std::chrono::nanoseconds wait) {
  pollfd waiting{.fd = signals.descriptor(), .events = POLLIN, .revents = 0};
  const auto seconds = std::chrono::floor<std::chrono::seconds>(wait);
  const timespec time{.tv_sec = seconds.count(), .tv_nsec = (wait - seconds).count()};
  return ppoll(&waiting, 1, &time, nullptr) > 0;
}

class DiagnoseCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  Result<> check() const;
  Result<cli::ExitCode> once(cli::Context& context) const;
  cli::ExitCode code_of(const Diagnosis& diagnosis) const;

  std::string folder_;
  DiagnoseOptions options_;
  bool all_ = false;
  bool brief_ = false;
  bool exit_code_ = false;
  bool follow_ = false;
  std::chrono::nanoseconds every_ = std::chrono::seconds(2);
};

cli::Summary DiagnoseCommand::summary() const {
  return {
      .name = "diagnose",
      .purpose = "what slowed a run down, by how much, and what to change",
      .description =
          "Accounts for the time of each step of a run from the records of its nodes: computing, "
          "waiting for a late rank, and communication not hidden by computing, split by what "
          "limited it. Names the largest part that a change could remove: where it is, how many "
          "milliseconds per step it costs, the evidence, and what to do. The records are not "
          "changed.\n\n"
          "If the data are not sufficient, the verdict is 'unknown', and the missing data are "
          "listed. A run that no link, path or host slows down is 'compute'.\n\n"
          "The exit code is 0 for any result; with --exit-code it is 3 if a bottleneck was found, "
          "that is for every verdict but 'compute' and 'unknown'.",
      .examples = {
          {"chokepoint diagnose runs/a", "five lines about the run in runs/a"},
          {"chokepoint diagnose runs/a --all", "with all accounts, evidence and runners-up"},
          {"chokepoint diagnose runs/a --json", "the same for a script"},
          {"chokepoint diagnose runs/a --follow", "a run in progress, every two seconds"},
          {"chokepoint diagnose runs/a --exit-code", "is there a bottleneck? exit code 3: yes"}}};
}

void DiagnoseCommand::define(cli::Flags& flags) {
  flags.positional("DIR", &folder_,
                   "the run's folder, or one node's .db file; default: the newest run here", false);
  flags.group("What to show")
      .toggle("all,a", &all_, "all accounts, evidence, runners-up, ranks, and missing data")
      .toggle("brief", &brief_, "one line: the verdict, or whose records it still needs")
      .toggle("exit-code", &exit_code_, "exit code 3 if a bottleneck was found")
      .group("A run in progress")
      .toggle("follow,f", &follow_, "repeat until the run ends or Ctrl-C")
      .option("every", &every_, "TIME", "time between two diagnoses");
  define_judging(flags, options_);
}

Result<> DiagnoseCommand::check() const {
  constexpr auto kMinEvery = std::chrono::milliseconds(100);
  if (every_ < kMinEvery) {
    return fail(ErrorKind::Usage, "", "--every", "is too short", "give at least 100ms");
  }
  return check_judging(options_);
}

cli::ExitCode DiagnoseCommand::code_of(const Diagnosis& diagnosis) const {
  return exit_code_ ? exit_code_of(diagnosis.verdict) : cli::ExitCode::Done;
}

Result<cli::ExitCode> DiagnoseCommand::once(cli::Context& context) const {
  TRY(const DiagnosedRun run, diagnose_folder(folder_, options_));
  print_troubles(context, "diagnose", run.troubles);
  const Diagnosis& diagnosis = run.inquiry.diagnosis;
  if (context.json) {
    cli::print(context, document_of(context, diagnosis));
  } else if (brief_) {
    const std::string absent = absent_ranks(run.run);
    fmt::print(context.out, "{}\n",
               cli::printable(absent.empty() ? headline_of(diagnosis)
                                             : fmt::format("no record of {} here", absent)));
  } else {
    print_page(context.out, context.out_terminal, diagnosis);
    if (all_) {
      print_details(context.out, context.out_terminal, diagnosis);
    }
  }
  return code_of(diagnosis);
}

Result<cli::ExitCode> DiagnoseCommand::run(cli::Context& context) {
  TRY(check());
  TRY(folder_, choose_run(context, "diagnose", folder_));
  if (!follow_) {
    return once(context);
  }
  TRY(const Followed followed, follow(folder_, options_, every_, all_, context));
  return followed.is_interrupted ? cli::ExitCode::Interrupted : code_of(followed.last);
}

}  // namespace

cli::ExitCode exit_code_of(const Verdict& verdict) {
  const bool is_named =
      verdict.verdict != VerdictClass::Compute && verdict.verdict != VerdictClass::Unknown;
  return is_named ? cli::ExitCode::Found : cli::ExitCode::Done;
}

Result<Followed> follow(const std::string& folder, const DiagnoseOptions& options,
                        std::chrono::nanoseconds every, bool all, cli::Context& context) {
  TRY(const sys::Signals signals, sys::Signals::watch({SIGINT, SIGTERM}));
  TRY(DiagnosedRun first, diagnose_folder(folder, options));
  Result<DiagnosedRun> run = std::move(first);
  Display display(context, all);
  Followed followed;
  std::int64_t newest_ns = 0;
  std::int64_t changed_ns = context.clock.monotonic_ns();
  for (;; run = diagnose_folder(folder, options)) {
    const std::int64_t now_ns = context.clock.monotonic_ns();
    if (run) {
      followed.last = std::move(run->inquiry.diagnosis);
      display.show(followed.last);
      changed_ns = newest_of(run->run) > newest_ns ? now_ns : changed_ns;
      newest_ns = newest_of(run->run);
    }
    if (followed.last.is_complete || now_ns - changed_ns > kPatience.count()) {
      return followed;
    }
    run = fail({});  // frees the run's data while it waits; the next pass reads it anew
    if (is_asked_to_end(signals, every)) {
      followed.is_interrupted = true;
      return followed;
    }
  }
}

cli::CommandFactory diagnose_command() { return cli::command<DiagnoseCommand>(); }

}  // namespace chokepoint::analysis
