#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "analysis/commands/history.h"
#include "analysis/commands/history_look.h"
#include "base/cli/output.h"
#include "base/cli/text.h"
#include "base/net/http.h"
#include "base/sys/clock.h"
#include "base/sys/file.h"
#include "base/trends/finding_text.h"

namespace chokepoint::analysis {
namespace {

namespace fs = std::filesystem;

// Which findings were reported before, in a file of lines.
class Reported {
 public:
  // What is not there yet is as an empty file; without a name nothing is kept.
  static Result<Reported> read(const std::string& file) {
    Reported reported(file);
    std::error_code ignored;
    if (!file.empty() && fs::exists(file, ignored)) {
      TRY(reported.lines_, sys::read_input(file, kMaxReportedBytes, "history check"));
    }
    return reported;
  }

  bool has(const trends::HistoryFinding& finding) const {
    return ("\n" + lines_).contains("\n" + line_of(finding));
  }

  Result<> add(const std::vector<trends::HistoryFinding>& findings) {
    if (file_.empty() || findings.empty()) {
      return {};
    }
    for (const trends::HistoryFinding& finding : findings) {
      lines_ += line_of(finding);
    }
    TRY(const std::unique_ptr<cli::Output> file, cli::open_file(file_));
    file->write(lines_);
    return file->finish();
  }

 private:
  static constexpr std::size_t kMaxReportedBytes = std::size_t{8} << 20;

  explicit Reported(std::string file) : file_(std::move(file)) {}

  // The moment becomes more exact while more points come: the day tells findings apart.
  static std::string line_of(const trends::HistoryFinding& finding) {
    constexpr std::size_t kDay = 10;  // letters
    const trends::SeriesChange& first = finding.changes.front();
    return cli::printable(
               fmt::format("{} {} {}", sys::rfc3339(first.change.first_bad_ns).substr(0, kDay),
                           history::text_of(first.series.subject), first.series.metric)) +
           "\n";
  }

  std::string file_;
  std::string lines_ = {};
};

// What Alertmanager takes at /api/v2/alerts.
cli::Json alerts_of(const std::vector<trends::HistoryFinding>& findings) {
  cli::Json alerts = cli::Json::array();
  for (const trends::HistoryFinding& finding : findings) {
    const trends::SeriesChange& first = finding.changes.front();
    alerts.push_back({{"labels",
                       {{"alertname", "ChokepointSlower"},
                        {"subject", history::text_of(first.series.subject)},
                        {"metric", first.series.metric}}},
                      {"annotations", {{"summary", trends::headline_of(finding)}}},
                      {"startsAt", sys::rfc3339(first.change.first_bad_ns)}});
  }
  return alerts;
}

class HistoryCheckCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {
        .name = "history check",
        .purpose = "for cron: exit code 3 if something became worse lately",
        .description =
            "Prints what became worse, a line each, and exits with 3. With --reported FILE each "
            "finding is reported once. With --notify it is sent to an HTTP server, too; what could "
            "not be sent is reported again the next time.",
        .examples = {{"chokepoint history check --since 24h", "what became worse since yesterday"},
                     {"chokepoint history check --reported /var/lib/chokepoint/reported "
                      "--notify http://alerts:9093/api/v2/alerts --notify-as alertmanager",
                      "each finding once, to Alertmanager"}}};
  }

  void define(cli::Flags& flags) override {
    flags_.define(flags);
    flags.group("Reports")
        .option("reported", &reported_, "FILE",
                "leave out the findings in this file, and add the new ones to it")
        .option("notify", &notify_, "URL", "send the findings there, by HTTP POST")
        .choice("notify-as", &form_, {"document", "alertmanager"},
                "what is sent: what --json prints, or alerts for Alertmanager");
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    TRY(Reported reported, Reported::read(reported_));
    TRY(Looked looked, look(flags_, context));
    std::erase_if(looked.findings, [&](const trends::HistoryFinding& finding) {
      return !finding.is_worse || reported.has(finding);
    });
    if (context.json) {
      cli::print(context, full_document(context, looked));
    } else {
      print_findings(context, looked.findings);
    }
    if (looked.findings.empty()) {
      return cli::ExitCode::Done;
    }
    TRY(notify(looked, context));
    TRY(reported.add(looked.findings));
    return cli::ExitCode::Found;
  }

 private:
  Result<> notify(const Looked& looked, const cli::Context& context) const {
    if (notify_.empty()) {
      return {};
    }
    constexpr std::chrono::seconds kPatience{10};
    constexpr std::size_t kMostAnswerBytes = 64 << 10;
    constexpr int kRedirection = 300;
    TRY(const net::HttpPlace place, net::parse_http(notify_, net::HttpPlace().port));
    const std::string body =
        (form_ == "alertmanager" ? alerts_of(looked.findings) : full_document(context, looked))
            .dump(-1, ' ', false, cli::Json::error_handler_t::replace);
    TRY(const net::HttpAnswer answer,
        net::exchange(place, {.method = "POST", .content_type = "application/json", .body = body},
                      kMostAnswerBytes, net::Deadline::of(kPatience)));
    if (answer.status >= kRedirection) {
      return fail(ErrorKind::Refused, "--notify", notify_,
                  fmt::format("answers with status {}", answer.status), "see the server's log");
    }
    return {};
  }

  LookFlags flags_;
  std::string reported_;
  std::string notify_;
  std::string form_ = "document";
};

}  // namespace

cli::CommandFactory history_check_command() { return cli::command<HistoryCheckCommand>(); }

}  // namespace chokepoint::analysis
