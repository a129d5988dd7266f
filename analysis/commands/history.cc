#include "analysis/commands/history.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "analysis/commands/commands.h"
#include "analysis/commands/diagnose.h"
#include "analysis/commands/history_text.h"
#include "analysis/commands/run_files.h"
#include "analysis/history/run_rows.h"
#include "base/cli/output.h"
#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/history/measured.h"
#include "base/history/place.h"
#include "base/json/codec.h"
#include "base/math/units.h"
#include "base/net/http.h"
#include "base/record/runs.h"
#include "base/sys/file.h"

namespace chokepoint::analysis {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours kLately{24 * 30};

// An Error where the user has switched the history off, or has no home.
Result<std::string> wanted_place(const history::Flags& flags, const cli::Context& context) {
  if (auto place = history::place_of(flags, context)) {
    return *std::move(place);
  }
  return fail(ErrorKind::Usage, "", "--history", "no history is named, and none is this user's own",
              "give --history FILE");
}

std::size_t rows_in(const std::vector<history::MeasuredSeries>& all) {
  std::size_t rows = 0;
  for (const history::MeasuredSeries& series : all) {
    rows += series.points.size();
  }
  return rows;
}

// What a history says of the wanted subjects.
struct Looked {
  std::string place = {};
  std::int64_t since_ns = 0;
  std::vector<history::MeasuredSeries> series = {};
  std::vector<HistoryFinding> findings = {};
};

struct LookFlags {
  history::Flags history = {};
  history::Wanted wanted = {};
  std::chrono::nanoseconds since = kLately;

  void define(cli::Flags& flags) {
    flags.group("What to look at")
        .option("metric", &wanted.metric, "NAME", "of this figure alone, like throughput_mbps")
        .option("since", &since, "TIME",
                "changes of the last hours or days, like 48h; default: 720h");
    history::define_to_read(flags, history);
  }
};

Result<Looked> look(const LookFlags& flags, const cli::Context& context) {
  Looked looked;
  TRY(looked.place, wanted_place(flags.history, context));
  TRY(const std::unique_ptr<history::Store> store, history::open_to_read(looked.place));
  TRY(looked.series, store->read(flags.wanted));
  if (looked.series.empty() && !(flags.wanted.subject + flags.wanted.metric).empty()) {
    return fail(ErrorKind::NotFound, "", flags.wanted.subject + flags.wanted.metric,
                "nothing is remembered of it", "'chokepoint history --list' shows what is");
  }
  TRY(const std::vector<history::StateSpan> states, store->states());
  const std::int64_t now_ns = context.clock.wall_ns();
  looked.since_ns = now_ns - flags.since.count();
  looked.findings = changed_since(looked.series, states, looked.since_ns, now_ns);
  return looked;
}

ShownHistory document_of(const Looked& looked) {
  ShownHistory document{.history = looked.place,
                        .since = {.ns = looked.since_ns},
                        .series = looked.series.size(),
                        .rows = rows_in(looked.series)};
  std::ranges::transform(looked.findings, std::back_inserter(document.findings), shown);
  return document;
}

cli::Json full_document(const cli::Context& context, const Looked& looked) {
  cli::Json document = cli::document(context, Fields<ShownHistory>::kSchema);
  document.update(json::to_json(document_of(looked)));
  return document;
}

void print_document(cli::Context& context, const Looked& looked) {
  cli::print(context, full_document(context, looked));
}

void print_findings(const cli::Context& context, const std::vector<HistoryFinding>& findings) {
  for (const HistoryFinding& finding : findings) {
    fmt::print(context.out, "{}",
               cli::wrapped(cli::printable(headline_of(finding)), context.out_terminal.width, 2));
  }
}

// Figures over time in one row of letters, the oldest left.
std::string sparkline(const std::vector<history::Measured>& points, std::size_t most) {
  static constexpr std::array kBars{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t first = points.size() > most ? points.size() - most : 0;
  const auto [least, largest] =
      std::ranges::minmax_element(points.begin() + static_cast<std::ptrdiff_t>(first), points.end(),
                                  {}, &history::Measured::value);
  const double range = largest->value - least->value;
  std::string bars;
  for (std::size_t at = first; at < points.size(); ++at) {
    const double share = range > 0 ? (points[at].value - least->value) / range : 0;
    bars += kBars.at(static_cast<std::size_t>(std::lround(share * (kBars.size() - 1))));
  }
  return bars;
}

void print_series(const cli::Context& context, const std::vector<history::MeasuredSeries>& all) {
  constexpr std::size_t kBarsShown = 32;
  cli::Table table({{"subject"},
                    {"figure"},
                    {"rows", cli::Align::Right},
                    {"newest", cli::Align::Right},
                    {"over time"},
                    {"asked for"}});
  for (const history::MeasuredSeries& series : all) {
    table.add({cli::printable(history::text_of(series.series.subject)),
               cli::printable(series.series.metric), fmt::format("{}", series.points.size()),
               cli::printable(quantity_text(series.points.back().value, series.series.unit)),
               sparkline(series.points, kBarsShown), cli::printable(series.series.setting)});
  }
  table.print(context.out, context.out_terminal);
}

class HistoryCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {.name = "history",
            .purpose = "since when something is slower, where, and what changed just before",
            .description =
                "Each probe, RDMA test, doctor, preflight and run adds a few figures to a history "
                "when it ends. This command says which of them changed lately, the worst first: "
                "since when, by how much, on which host, and which settings changed there between "
                "the last good measurement and the first bad one.\n\n"
                "With a subject (a host, \"gpu1 > gpu2\", or the beginning of a job's command) it "
                "shows its figures over time.",
            .examples = {{"chokepoint history", "what changed in the last 30 days"},
                         {"chokepoint history gpu3", "of what is on gpu3, and of paths from it"},
                         {"chokepoint history --list", "all that is remembered"},
                         {"chokepoint history --since 48h --json", "for a script"}}};
  }

  void define(cli::Flags& flags) override {
    flags.positional("SUBJECT", &flags_.wanted.subject, "a host, a path, a device or a job", false);
    flags_.define(flags);
    flags.group("What to show").toggle("list", &is_listed_, "all series, with their newest value");
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    TRY(const Looked looked, look(flags_, context));
    if (context.json) {
      print_document(context, looked);
      return cli::ExitCode::Done;
    }
    if (is_listed_ || !flags_.wanted.subject.empty()) {
      print_series(context, looked.series);
      fmt::print(context.out, "{}", looked.findings.empty() ? "" : "\n");
    }
    print_findings(context, looked.findings);
    if (looked.findings.empty()) {
      fmt::print(context.out, "nothing changed in {:.0f} days: {} rows of {} series\n",
                 std::chrono::duration<double>(flags_.since) / std::chrono::hours(24),
                 rows_in(looked.series), looked.series.size());
    }
    return cli::ExitCode::Done;
  }

 private:
  LookFlags flags_;
  bool is_listed_ = false;
};

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

  bool has(const HistoryFinding& finding) const {
    return ("\n" + lines_).contains("\n" + line_of(finding));
  }

  Result<> add(const std::vector<HistoryFinding>& findings) {
    if (file_.empty() || findings.empty()) {
      return {};
    }
    for (const HistoryFinding& finding : findings) {
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
  static std::string line_of(const HistoryFinding& finding) {
    constexpr std::size_t kDay = 10;  // letters
    const SeriesChange& first = finding.changes.front();
    return cli::printable(
               fmt::format("{} {} {}", sys::rfc3339(first.change.first_bad_ns).substr(0, kDay),
                           history::text_of(first.series.subject), first.series.metric)) +
           "\n";
  }

  std::string file_;
  std::string lines_ = {};
};

// What Alertmanager takes at /api/v2/alerts.
cli::Json alerts_of(const std::vector<HistoryFinding>& findings) {
  cli::Json alerts = cli::Json::array();
  for (const HistoryFinding& finding : findings) {
    const SeriesChange& first = finding.changes.front();
    alerts.push_back({{"labels",
                       {{"alertname", "ChokepointSlower"},
                        {"subject", history::text_of(first.series.subject)},
                        {"metric", first.series.metric}}},
                      {"annotations", {{"summary", headline_of(finding)}}},
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
    std::erase_if(looked.findings, [&](const HistoryFinding& finding) {
      return !finding.is_worse || reported.has(finding);
    });
    if (context.json) {
      print_document(context, looked);
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

// Of a run's folder its rows; of a record of probes and of documents those of each test.
class Adder {
 public:
  explicit Adder(history::Store& store) : store_(store) {}

  Result<> add(const std::string& place) {
    std::error_code ignored;
    if (fs::is_regular_file(place, ignored) && !place.ends_with(".db")) {
      return add_document(place);
    }
    const std::vector<record::RunFolder> below = record::runs_below(place);
    for (const record::RunFolder& folder : below) {
      TRY(add_run(folder.path));
    }
    return below.empty() ? add_run(place) : Result<>();
  }

  std::int64_t rows() const { return rows_; }

 private:
  static constexpr std::size_t kMaxDocumentBytes = std::size_t{64} << 20;

  Result<> take(const history::Batch& batch) {
    TRY(const std::int64_t added, store_.add(batch));
    rows_ += added;
    return {};
  }

  Result<> add_document(const std::string& file) {
    TRY(const std::string text, sys::read_input(file, kMaxDocumentBytes, "history add"));
    const auto document = json::parse_object(text, kMaxDocumentBytes, "document");
    if (!document) {
      return fail(ErrorKind::Malformed, "", file, document.error().reason,
                  "give a run's folder, or what a probe printed with --json");
    }
    const history::Batch batch = history::measured_in(*document, {.source = file});
    if (batch.empty()) {
      return fail(ErrorKind::Malformed, "", file, "has no figure that is remembered",
                  "give what a probe, an RDMA test, doctor or preflight printed with --json");
    }
    return take(batch);
  }

  Result<> add_run(const fs::path& folder) {
    TRY(record::Run records, records_of(folder));
    for (record::Reader& node : records.nodes) {
      TRY(const std::vector<record::Probe> probes, node.all<record::Probe>());
      for (const record::Probe& probe : probes) {
        TRY(take(history::measured_in(json::object_or_null(probe.document),
                                      {.source = folder.string()})));
      }
    }
    TRY(const history::Batch batch, batch_of_run(folder, std::move(records)));
    return take(batch);
  }

  static Result<history::Batch> batch_of_run(const fs::path& folder, record::Run records) {
    std::int64_t began_ns = 0;
    std::string program;
    for (const record::Reader& node : records.nodes) {
      for (const record::Session& session : node.sessions()) {
        began_ns =
            began_ns == 0 ? session.start_wall_ns : std::min(began_ns, session.start_wall_ns);
        program = session.program;
      }
    }
    TRY(const DiagnosedRun diagnosed, diagnose_unconfirmed(folder, {}));
    return rows_of({.run = diagnosed.run,
                    .diagnosis = diagnosed.inquiry.diagnosis,
                    .folder = fs::absolute(folder).string(),
                    .program = program,
                    .began_wall_ns = began_ns});
  }

  history::Store& store_;
  std::int64_t rows_ = 0;
};

class HistoryAddCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {
        .name = "history add",
        .purpose = "adds runs and documents of earlier times to the history",
        .description =
            "Takes folders of runs, records of probes, and files that probes, RDMA tests, "
            "doctor and preflight printed with --json. What is there already is not added again.",
        .examples = {{"chokepoint history add chokepoint-runs", "all runs in a folder"},
                     {"chokepoint history add tcp-*.json", "what probes printed"}}};
  }

  void define(cli::Flags& flags) override {
    flags.positional("PLACE", &places_, "folders of runs, records, documents", true);
    history::define_to_read(flags, history_);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    TRY(const std::string place, wanted_place(history_, context));
    TRY(const std::unique_ptr<history::Store> store, history::open(place));
    Adder adder(*store);
    std::size_t failed = 0;
    {
      cli::Progress progress(context, "adding", places_.size());
      for (std::size_t at = 0; at < places_.size(); ++at) {
        progress.update(at, cli::printable(places_[at]));
        if (const auto added = adder.add(places_[at]); !added) {
          fmt::print(context.err, "chokepoint: history add: {}\n", describe(added.error()));
          ++failed;
        }
      }
    }
    if (!context.quiet) {
      fmt::print(context.err, "{} rows are new in {}\n", adder.rows(), cli::printable(place));
    }
    return failed == 0 ? cli::ExitCode::Done : cli::ExitCode::Failed;
  }

 private:
  std::vector<std::string> places_;
  history::Flags history_;
};

class HistoryPruneCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {.name = "history prune",
            .purpose = "removes old rows from the history",
            .description = "Removes all rows that are older than --keep.",
            .examples = {{"chokepoint history prune --keep 8760h", "keep a year"}}};
  }

  void define(cli::Flags& flags) override {
    flags.group("What to keep")
        .option("keep", &keep_, "TIME", "rows of the last hours or days, like 8760h for a year");
    history::define_to_read(flags, history_);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    if (keep_.count() <= 0) {
      return fail(ErrorKind::Usage, "", "--keep", "is missing",
                  "give a time, like 8760h for a year");
    }
    TRY(const std::string place, wanted_place(history_, context));
    TRY(history::open_to_read(place));
    TRY(const std::unique_ptr<history::Store> store, history::open(place));
    TRY(const std::int64_t gone, store->prune(context.clock.wall_ns() - keep_.count()));
    if (!context.quiet) {
      fmt::print(context.err, "{} rows removed from {}\n", gone, cli::printable(place));
    }
    return cli::ExitCode::Done;
  }

 private:
  std::chrono::nanoseconds keep_{};
  history::Flags history_;
};

// A field of CSV as RFC 4180 has it; a formula of a spreadsheet is a text.
std::string csv_field(const std::string& text) {
  const bool is_formula = !text.empty() && std::string_view("=+-@").contains(text.front());
  const std::string safe = is_formula ? "'" + text : text;
  if (safe.find_first_of(",\"\r\n") == std::string::npos) {
    return safe;
  }
  std::string quoted = "\"";
  for (const char letter : safe) {
    quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  }
  return quoted + "\"";
}

class HistoryExportCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {
        .name = "history export",
        .purpose = "writes the history's rows for other tools",
        .description =
            "Writes one line a row as CSV: time, subject, metric, what the test was asked for, "
            "value, unit, spread, count, source, program. Apache Otava reads it with time as its "
            "time column and value as its metric.",
        .examples = {{"chokepoint history export -o rows.csv", "all of it"},
                     {"chokepoint history export gpu3 --metric throughput_mbps", "a part"}}};
  }

  void define(cli::Flags& flags) override {
    flags.positional("SUBJECT", &wanted_.subject, "a host, a path, a device or a job", false);
    flags.group("What to write")
        .option("metric", &wanted_.metric, "NAME", "of this figure alone")
        .option("output,o", &output_, "FILE", "default: standard output");
    history::define_to_read(flags, history_);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    TRY(const std::string place, wanted_place(history_, context));
    TRY(const std::unique_ptr<history::Store> store, history::open_to_read(place));
    TRY(const std::vector<history::MeasuredSeries> all, store->read(wanted_));
    std::unique_ptr<cli::Output> output = cli::open_stream(context.out, "standard output");
    if (!output_.empty()) {
      TRY(output, cli::open_file(output_));
    }
    output->write("time,subject,metric,setting,value,unit,spread,count,source,program\n");
    for (const history::MeasuredSeries& series : all) {
      for (const history::Measured& point : series.points) {
        output->write(line_of(series.series, point));
      }
    }
    TRY(output->finish());
    return cli::ExitCode::Done;
  }

 private:
  static std::string line_of(const history::Series& series, const history::Measured& point) {
    return fmt::format("{},{},{},{},{},{},{},{},{},{}\n", sys::rfc3339(point.wall_ns),
                       csv_field(history::text_of(series.subject)), csv_field(series.metric),
                       csv_field(series.setting), point.value, csv_field(series.unit),
                       point.spread ? fmt::format("{}", *point.spread) : "", point.count,
                       csv_field(point.source), csv_field(point.program));
  }

  history::Wanted wanted_;
  std::string output_;
  history::Flags history_;
};

}  // namespace

ShownFinding shown(const HistoryFinding& finding) {
  ShownFinding document{.sentence = headline_of(finding), .is_worse = finding.is_worse};
  for (const SeriesChange& each : finding.changes) {
    const LevelChange& change = each.change;
    document.changes.push_back({.subject = history::text_of(each.series.subject),
                                .metric = each.series.metric,
                                .setting = each.series.setting,
                                .unit = each.series.unit,
                                .before = change.before.median,
                                .after = change.after.median,
                                .percent = change.relative
                                               ? std::optional(math::kPercent * *change.relative)
                                               : std::nullopt,
                                .p = change.p,
                                .last_good = {.ns = change.last_good_ns},
                                .first_bad = {.ns = change.first_bad_ns},
                                .source_before = each.source_before,
                                .source_after = each.source_after});
  }
  for (const FactLink& link : finding.settings) {
    document.settings.push_back({.host = finding.host,
                                 .name = link.fact,
                                 .before = link.old_value,
                                 .after = link.new_value,
                                 .share = link.share});
  }
  return document;
}

std::vector<cli::CommandFactory> history_commands() {
  return {cli::command<HistoryCommand>(), cli::command<HistoryAddCommand>(),
          cli::command<HistoryCheckCommand>(), cli::command<HistoryExportCommand>(),
          cli::command<HistoryPruneCommand>()};
}

}  // namespace chokepoint::analysis
