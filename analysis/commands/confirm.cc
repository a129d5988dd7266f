// The tests of `diagnose --confirm`: a child process of `chokepoint ask` each. While the job runs
// they keep to the share of its time that every node's `run --allow-probes` gives.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <optional>
#include <set>

#include "analysis/commands/diagnose.h"
#include "analysis/commands/run_files.h"
#include "analysis/confirm/judge.h"
#include "analysis/confirm/plan.h"
#include "analysis/confirm/saved_tests.h"
#include "analysis/confirm/tests.h"
#include "base/cli/output.h"
#include "base/cli/text.h"
#include "base/record/runs.h"
#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "base/sys/process.h"
#include "base/sys/signals.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kMaxTestDocument = std::size_t{4} << 20;
// What a test may take beyond its time: the server is called, the peer replies, and latency under
// load is measured in each direction.
constexpr double kTimeoutFactor = 10;
constexpr std::chrono::seconds kTimeoutBeyond{30};
constexpr double kExpectedFactor = 2;  // of its time, with the call; one that takes longer is ended
constexpr const char* kLeftOut = "left out";
constexpr std::chrono::milliseconds kJobCheckInterval{250};  // whether the job still runs

Result<confirm::PlanOptions> plan_options(const ConfirmFlags& flags) {
  confirm::PlanOptions options{.most_mbps = flags.most.bits_per_second / math::kMega};
  for (const std::string& given : flags.servers) {
    const std::size_t equals = given.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == given.size()) {
      return fail(ErrorKind::Usage, "", "--server " + given, "is not NODE=HOST",
                  "give the node's name as the diagnosis has it, and where its server listens");
    }
    options.servers[given.substr(0, equals)] = given.substr(equals + 1);
  }
  return options;
}

std::string last_line_of(std::string text) {
  text.erase(text.find_last_not_of('\n') + 1);
  text.erase(0, text.rfind('\n') + 1);
  constexpr std::string_view kHead = "chokepoint: ask: ";
  return cli::printable(text.starts_with(kHead) ? text.substr(kHead.size()) : text);
}

std::string test_title(const PlannedTest& test) {
  return fmt::format("{} of {}{}", name_of(test.kind), test.on,
                     test.to.empty() ? "" : " to " + test.to);
}

using SteadyClock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

bool is_running(const std::string& folder) {
  const auto records = record::record_files(folder);
  return records && std::ranges::any_of(*records, record::is_being_written);
}

// What a running job gives to tests: a share of its time and of its traffic. A test holds a job up
// for as long as it takes, at worst, and what it sends costs as much as the job takes to send that.
// So if all that tests cost is below that share of the job's time, so is what they slow it down by.
// A test is ended when the share is used up: what all cost never passes it.
class Allowance {
 public:
  struct Job {
    double seconds = 0;  // since it began to make steps
    double bytes = 0;    // that it sent meanwhile
  };
  // `cost_s`: of earlier tests.
  Allowance(double percent, const Job& job, double cost_s)
      : percent_(percent),
        began_(SteadyClock::now() - std::chrono::ceil<SteadyClock::duration>(Seconds(job.seconds))),
        bytes_per_s_(job.seconds > 0 ? job.bytes / job.seconds : 0),
        cost_s_(cost_s) {}

  // Until a test may begin.
  Seconds wait(const PlannedTest& test) const {
    const double job_s = (cost_s_ + cost_s(test, kExpectedFactor * test.time_s)) * 100 / percent_;
    return std::max(Seconds(0), Seconds(job_s) - Seconds(SteadyClock::now() - began_));
  }
  // How long a test that begins now may take.
  Seconds longest() const {
    const Seconds job = SteadyClock::now() - began_;
    return std::max(Seconds(0), Seconds(percent_ / 100 * job.count() - cost_s_));
  }
  // From the call to its reply.
  void add(const PlannedTest& test, Seconds took) { cost_s_ += cost_s(test, took.count()); }
  double cost_s() const { return cost_s_; }
  double percent() const { return percent_; }

 private:
  double cost_s(const PlannedTest& test, double took_s) const {
    return std::max(took_s, bytes_per_s_ > 0 ? test.most_bytes / bytes_per_s_ : 0);
  }

  double percent_;
  SteadyClock::time_point began_;
  double bytes_per_s_;
  double cost_s_;
};

class TestRunner {
 public:
  // `allowance`: while the job runs.
  TestRunner(const cli::Context& context, const ConfirmFlags& flags, const sys::Signals& signals,
             const std::string& folder, const std::optional<Allowance>& allowance)
      : context_(context),
        flags_(flags),
        signals_(signals),
        folder_(folder),
        allowance_(allowance),
        until_(SteadyClock::now() + flags.time) {}

  std::vector<TestResult> run(const std::vector<PlannedTest>& plan) {
    std::vector<TestResult> results;
    for (const PlannedTest& test : plan) {
      cli::show_progress(context_, fmt::format("testing: {}", test_title(test)));
      const std::string why_not = why_left_out(test);
      if (is_interrupted()) {
        break;
      }
      results.push_back(result_of(test, why_not));
      rest_after(test);
    }
    return results;
  }

  double cost_s() const { return allowance_ ? allowance_->cost_s() : 0; }

  bool is_interrupted() const { return sys::is_readable(signals_.descriptor()); }

 private:
  // Waits until the test may begin. Empty: it may.
  std::string why_left_out(const PlannedTest& test) const {
    const Seconds wait = allowance_ ? allowance_->wait(test) : Seconds(0);
    if (SteadyClock::now() + wait + Seconds(kExpectedFactor * test.time_s) <= until_) {
      return !allowance_ || job_runs_for(wait) ? ""
                                               : fmt::format("{}: the job has ended", kLeftOut);
    }
    return wait.count() > 0
               ? fmt::format("{}: within {:g} % of the job's time it may begin in {}", kLeftOut,
                             allowance_->percent(),
                             math::format_duration(std::chrono::ceil<std::chrono::seconds>(wait)))
               : fmt::format("{}: --confirm-time would be over before its end", kLeftOut);
  }

  // Also false once the user has interrupted it.
  bool job_runs_for(Seconds time) const {
    const auto until = SteadyClock::now() + time;
    for (Seconds left = time; is_running(folder_); left = until - SteadyClock::now()) {
      if (left.count() <= 0) {
        return true;
      }
      if (is_interrupted_within(
              std::min(kJobCheckInterval, std::chrono::ceil<std::chrono::milliseconds>(left)))) {
        return false;
      }
    }
    return false;
  }

  bool is_interrupted_within(std::chrono::milliseconds time) const {
    pollfd interrupt{signals_.descriptor(), POLLIN, 0};
    return ::poll(&interrupt, 1, static_cast<int>(time.count())) > 0;
  }

  TestResult result_of(const PlannedTest& test, const std::string& why_not) {
    TestResult result{.kind = test.kind,
                      .on = test.on,
                      .to = test.to,
                      .address = test.to_address,
                      .folder = test.folder,
                      .at = sys::rfc3339(context_.clock.wall_ns()),
                      .beside_job = allowance_.has_value(),
                      .command = test.command,
                      .failure = why_not};
    if (!why_not.empty()) {
      return result;
    }
    const auto began = SteadyClock::now();
    const Result<std::string> document = document_of(test);
    if (allowance_) {
      allowance_->add(test, SteadyClock::now() - began);
    }
    (document ? result.document : result.failure) =
        document ? *document : last_line_of(document.error().reason);
    return result;
  }

  Result<std::string> document_of(const PlannedTest& test) const {
    std::vector<std::string> command = confirm::words_of(test);
    command.insert(command.begin(), "/proc/self/exe");
    command.insert(command.end(), {"--json", "--quiet"});
    if (flags_.port != 0) {
      command.insert(command.end(), {"--port", fmt::format("{}", flags_.port)});
    }
    if (!flags_.key_file.empty()) {
      command.insert(command.end(), {"--key-file", flags_.key_file});
    }
    const Longest longest = longest_of(test);
    const Result<sys::Captured> captured = sys::capture_output(
        {.command = std::move(command), .environment = {sys::tie_to_this_process()}},
        std::chrono::floor<std::chrono::milliseconds>(longest.time), kMaxTestDocument,
        signals_.descriptor());
    if (!captured && captured.error().kind == ErrorKind::Timeout) {
      return fail(
          ErrorKind::Timeout, "", test.on,
          fmt::format("ended after {}: {}", math::format_duration(longest.time), longest.why));
    }
    TRY(const sys::Captured& done, captured);
    if (done.status.code != 0) {
      return fail(ErrorKind::Io, "", test.on,
                  is_interrupted() ? std::string("ended by the user") : done.err);
    }
    return done.out;
  }

  struct Longest {
    std::chrono::nanoseconds time{};
    std::string why = {};
  };

  // The least of its own bound, of what is left of --confirm-time and of the job's share.
  Longest longest_of(const PlannedTest& test) const {
    Longest longest{.time = std::chrono::ceil<std::chrono::nanoseconds>(
                        Seconds(kTimeoutFactor * test.time_s) + kTimeoutBeyond),
                    .why = "its server did not answer"};
    const auto bound = [&](Seconds time, std::string why) {
      if (time < longest.time) {
        longest = {.time = std::chrono::floor<std::chrono::nanoseconds>(time),
                   .why = std::move(why)};
      }
    };
    bound(until_ - SteadyClock::now(), "--confirm-time was over");
    if (allowance_) {
      bound(allowance_->longest(),
            fmt::format("it had used up {:g} % of the job's time", allowance_->percent()));
    }
    return longest;
  }

  // So that no more than the wanted share of the time is loaded.
  void rest_after(const PlannedTest& test) const {
    if (allowance_ || !confirm::describe(test.kind).loads || flags_.share_percent >= 100) {
      return;
    }
    const double share = static_cast<double>(flags_.share_percent) / 100;
    is_interrupted_within(
        std::chrono::ceil<std::chrono::milliseconds>(Seconds(test.time_s * (1 / share - 1))));
  }

  const cli::Context& context_;
  const ConfirmFlags& flags_;
  const sys::Signals& signals_;
  const std::string& folder_;
  std::optional<Allowance> allowance_;
  SteadyClock::time_point until_;
};

// Whom to start servers for.
std::string tested_hosts(const std::vector<PlannedTest>& plan) {
  std::set<std::string> hosts;
  for (const PlannedTest& test : plan) {
    hosts.insert(test.on);
    hosts.insert(test.to);
  }
  hosts.erase("");
  return fmt::format("{}", fmt::join(hosts, ", "));
}

bool has_document(const TestResult& result) { return !result.document.empty(); }

std::unexpected<Error> none_ran(const std::vector<PlannedTest>& plan,
                                const std::vector<TestResult>& results) {
  const std::string why = results.empty() ? "no test was run" : results.front().failure;
  if (why.starts_with(kLeftOut)) {
    return fail(ErrorKind::Busy, "confirm", results.front().on, why,
                "give a longer --confirm-time, or wait for the job's end");
  }
  return fail(ErrorKind::Unreachable, "confirm", results.empty() ? "" : results.front().on, why,
              fmt::format("start 'chokepoint serve --key-file FILE' on {}, and give the same "
                          "--key-file here",
                          tested_hosts(plan)));
}

Result<> keep_results(const cli::Context& context, const std::string& folder,
                      const confirm::SavedTests& saved) {
  cli::Json document = cli::document(context, Fields<confirm::SavedDocument>::kSchema);
  document.update(json::to_json(document_of(saved)));
  return write_own_file(confirm::saved_file(folder).string(), document.dump(2) + "\n");
}

// Keeps other --confirm of this run out, so that they do not take the job's share twice. Where the
// file system has no locks nothing is held.
Result<sys::Descriptor> lock_run(const std::string& folder) {
  const std::string path = confirm::saved_file(folder).parent_path().string();
  sys::Descriptor held(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (held && flock(held.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return fail(ErrorKind::Busy, "confirm", folder, "another --confirm tests it already",
                "wait for its end");
  }
  return held;
}

// Of a job that runs, and allows it.
Result<Allowance> allowance_of(const cli::Context& context, const std::string& folder,
                               const ConfirmFlags& flags, const DiagnosedRun& diagnosed) {
  TRY(const double allowed, confirm::allowed_percent(diagnosed.run));
  TRY(const confirm::SavedTests saved, confirm::read_saved(folder));
  Allowance::Job job{.bytes = confirm::bytes_sent(diagnosed.run, diagnosed.inquiry.clocks)};
  std::int64_t began_wall_ns = 0;
  for (const NodeData& node : diagnosed.run.nodes) {
    began_wall_ns = std::max(began_wall_ns, node.wall_start_ns);
  }
  job.seconds = std::max(0.0, static_cast<double>(context.clock.wall_ns() - began_wall_ns) / 1e9);
  // While it begins, nothing of it can be held up.
  const StepTimes& steps = diagnosed.inquiry.diagnosis.steps;
  if (steps.mean_ms) {
    job.seconds = std::min(job.seconds, static_cast<double>(steps.count) * *steps.mean_ms / 1e3);
  }
  return Allowance(std::min(allowed, static_cast<double>(flags.share_percent)), job, saved.cost_s);
}

}  // namespace

void define_confirm(cli::Flags& flags, ConfirmFlags& confirm) {
  flags.group("To confirm the verdict by tests")
      .toggle("confirm", &confirm.is_wanted,
              "test the hosts and paths in question, each by its 'chokepoint serve'")
      .option("confirm-time", &confirm.time, "TIME",
              "for all tests; those that do not fit are left "
              "out")
      .option("confirm-rate", &confirm.most, "RATE",
              "the most that a test sends; else two and a half times what the job sent")
      .option("confirm-share", &confirm.share_percent, "PERCENT",
              "of the time in which tests load a path or processors; they pause in the rest; of a "
              "running job no more than its --allow-probes",
              1, 100)
      .option("server", &confirm.servers, "NODE=HOST",
              "where the server of a node listens, HOST or HOST:PORT; default: at the address that "
              "the job used; may be repeated")
      .option("port,p", &confirm.port, "PORT", "control port of the servers; 0: 5210", 0, 65535)
      .option("key-file", &confirm.key_file, "FILE", "the key that the servers were given");
}

Result<bool> confirm_run(const cli::Context& context, const std::string& folder,
                         const DiagnoseOptions& options, const ConfirmFlags& flags,
                         DiagnosedRun& diagnosed) {
  TRY(confirm::PlanOptions planning, plan_options(flags));
  TRY(const sys::Descriptor held, lock_run(folder));
  std::optional<Allowance> allowance;
  if (is_running(folder)) {
    TRY(allowance, allowance_of(context, folder, flags, diagnosed));
    planning.beside_job = true;
  }
  Inquiry& inquiry = diagnosed.inquiry;
  Diagnosis& diagnosis = inquiry.diagnosis;
  diagnosis.plan = confirm::plan_of(diagnosed.run, inquiry, planning);
  if (diagnosis.plan.empty()) {
    return fail(ErrorKind::Unsupported, "confirm", folder,
                fmt::format("no test can show{} whether its verdict, {}, is right",
                            planning.beside_job ? ", while the job runs," : "",
                            name_of(diagnosis.verdict.verdict)));
  }
  TRY(const sys::Signals signals, sys::Signals::watch_for_end());
  TestRunner runner(context, flags, signals, folder, allowance);
  std::vector<TestResult> results = runner.run(diagnosis.plan);
  const bool is_interrupted = runner.is_interrupted();
  if (std::ranges::none_of(results, has_document)) {
    return is_interrupted ? fail(ErrorKind::Interrupted, "confirm", folder,
                                 "ended before a test had measured anything")
                          : none_ran(diagnosis.plan, results);
  }
  TRY(keep_results(context, folder,
                   {.run = diagnosis.run,
                    .verdict = diagnosis.verdict.verdict,
                    .cost_s = runner.cost_s(),
                    .results = results}));
  const bool is_wan = confirm::is_wide_area(diagnosed.run, inquiry.clocks, options.wan_rtt_ms);
  confirm::apply(confirm::judge(diagnosis.verdict, diagnosis.plan, std::move(results), is_wan),
                 diagnosis);
  return is_interrupted;
}

}  // namespace chokepoint::analysis
