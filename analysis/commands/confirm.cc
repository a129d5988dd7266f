// The tests of `diagnose --confirm`: a child process of `chokepoint ask` each.
#include "analysis/confirm/confirm.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/commands/diagnose.h"
#include "analysis/commands/run_files.h"
#include "base/cli/output.h"
#include "base/cli/text.h"
#include "base/record/runs.h"
#include "base/sys/clock.h"
#include "base/sys/process.h"
#include "base/sys/signals.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kMaxTestDocument = std::size_t{4} << 20;
// What a test may take beyond its time: the server is called, the peer answers, and latency under
// load is measured each way.
constexpr double kTimes = 10;
constexpr std::chrono::seconds kBeyond{30};
constexpr double kExpectedTimes = 2;

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

class TestRunner {
 public:
  TestRunner(const cli::Context& context, const ConfirmFlags& flags, const sys::Signals& signals)
      : context_(context),
        flags_(flags),
        signals_(signals),
        until_(std::chrono::steady_clock::now() + flags.time) {}

  std::vector<TestResult> run(const std::vector<PlannedTest>& plan) {
    std::vector<TestResult> results;
    for (const PlannedTest& test : plan) {
      if (is_interrupted()) {
        break;
      }
      cli::show_progress(context_, fmt::format("testing: {}", test_title(test)));
      results.push_back(result_of(test));
      rest_after(test);
    }
    return results;
  }

  bool is_interrupted() const { return sys::is_readable(signals_.descriptor()); }

 private:
  TestResult result_of(const PlannedTest& test) const {
    TestResult result{.kind = test.kind,
                      .on = test.on,
                      .to = test.to,
                      .address = test.to_address,
                      .folder = test.folder,
                      .at = sys::rfc3339(context_.clock.wall_ns()),
                      .command = test.command};
    const auto expected = std::chrono::duration<double>(kExpectedTimes * test.time_s);
    if (std::chrono::steady_clock::now() + expected > until_) {
      result.failure = "left out: --confirm-time would be over before its end";
      return result;
    }
    const Result<std::string> document = document_of(test);
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
    const auto longest = std::chrono::ceil<std::chrono::milliseconds>(
        std::chrono::duration<double>(kTimes * test.time_s) + kBeyond);
    TRY(const sys::Captured done,
        sys::capture_output(
            {.command = std::move(command), .environment = {sys::tie_to_this_process()}}, longest,
            kMaxTestDocument, signals_.descriptor()));
    if (done.status.code != 0) {
      return fail(ErrorKind::Io, "", test.on,
                  is_interrupted() ? std::string("ended by the user") : done.err);
    }
    return done.out;
  }

  // So that no more than the wanted share of the time is loaded.
  void rest_after(const PlannedTest& test) const {
    if (!confirm::describe(test.kind).loads || flags_.share_percent >= 100) {
      return;
    }
    const double share = static_cast<double>(flags_.share_percent) / 100;
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(
        std::chrono::duration<double>(test.time_s * (1 / share - 1)));
    pollfd interrupt{signals_.descriptor(), POLLIN, 0};
    ::poll(&interrupt, 1, static_cast<int>(rest.count()));
  }

  const cli::Context& context_;
  const ConfirmFlags& flags_;
  const sys::Signals& signals_;
  std::chrono::steady_clock::time_point until_;
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
  return fail(ErrorKind::Unreachable, "confirm", results.empty() ? "" : results.front().on, why,
              fmt::format("start 'chokepoint serve --key-file FILE' on {}, and give the same "
                          "--key-file here",
                          tested_hosts(plan)));
}

Result<> keep_results(const cli::Context& context, const std::string& folder,
                      const Diagnosis& diagnosis, const std::vector<TestResult>& results) {
  cli::Json document = cli::document(context, confirm::kKeptSchema);
  document["run"] = diagnosis.run;
  document["class"] = name_of(diagnosis.verdict.verdict);
  confirm::add_results(document, results);
  return write_file(confirm::kept_file(folder).string(), document.dump(2) + "\n");
}

Result<> check_is_over(const std::string& folder) {
  const auto records = record::record_files(folder);
  if (records && std::ranges::any_of(*records, record::is_being_written)) {
    return fail(ErrorKind::Busy, "confirm", folder, "its job is running",
                "the tests would slow it down: wait for its end");
  }
  return {};
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
              "of the time in which tests load a path or processors; they pause in the rest", 1,
              100)
      .option("server", &confirm.servers, "NODE=HOST",
              "where the server of a node listens, HOST or HOST:PORT; default: at the address that "
              "the job used; may be repeated")
      .option("port,p", &confirm.port, "PORT", "control port of the servers; 0: 5210", 0, 65535)
      .option("key-file", &confirm.key_file, "FILE", "the key that the servers were given");
}

Result<bool> confirm_run(const cli::Context& context, const std::string& folder,
                         const DiagnoseOptions& options, const ConfirmFlags& flags,
                         DiagnosedRun& diagnosed) {
  TRY(const confirm::PlanOptions planning, plan_options(flags));
  TRY(check_is_over(folder));
  Inquiry& inquiry = diagnosed.inquiry;
  Diagnosis& diagnosis = inquiry.diagnosis;
  diagnosis.plan = confirm::plan_of(diagnosed.run, inquiry, planning);
  if (diagnosis.plan.empty()) {
    return fail(ErrorKind::Unsupported, "confirm", folder,
                fmt::format("no test can show whether its verdict, {}, is right",
                            name_of(diagnosis.verdict.verdict)));
  }
  TRY(const sys::Signals signals, sys::Signals::watch_for_end());
  TestRunner runner(context, flags, signals);
  std::vector<TestResult> results = runner.run(diagnosis.plan);
  const bool is_interrupted = runner.is_interrupted();
  if (std::ranges::none_of(results, has_document)) {
    return is_interrupted ? fail(ErrorKind::Interrupted, "confirm", folder,
                                 "ended before a test had measured anything")
                          : none_ran(diagnosis.plan, results);
  }
  TRY(keep_results(context, folder, diagnosis, results));
  const bool is_wan = confirm::is_wide_area(diagnosed.run, inquiry.clocks, options.wan_rtt_ms);
  confirm::apply(confirm::judge(diagnosis.verdict, diagnosis.plan, std::move(results), is_wan),
                 diagnosis);
  return is_interrupted;
}

}  // namespace chokepoint::analysis
