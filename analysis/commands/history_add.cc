#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <filesystem>

#include "analysis/commands/history.h"
#include "analysis/commands/history_look.h"
#include "analysis/commands/run_files.h"
#include "analysis/commands/run_history.h"
#include "base/cli/text.h"
#include "base/history/measured.h"
#include "base/history/server_url.h"
#include "base/json/codec.h"
#include "base/record/runs.h"
#include "base/sys/file.h"

namespace chokepoint::analysis {
namespace {

namespace fs = std::filesystem;

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
    const history::Batch batch =
        history::measured_in(*document, {.source = fs::absolute(file).string()});
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
                                      {.source = fs::absolute(folder).string()})));
      }
    }
    TRY(const DiagnosedRun diagnosed, diagnose_unconfirmed(folder, {}));
    return take(rows_of_run(diagnosed, folder));
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
    TRY(const std::unique_ptr<history::Store> store, history::open_to_add(place, context));
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
      fmt::print(context.err, "{} rows are new in {}\n", adder.rows(),
                 cli::printable(history::shown_place(place)));
    }
    return failed == 0 ? cli::ExitCode::Done : cli::ExitCode::Failed;
  }

 private:
  std::vector<std::string> places_;
  history::Flags history_;
};

}  // namespace

cli::CommandFactory history_add_command() { return cli::command<HistoryAddCommand>(); }

}  // namespace chokepoint::analysis
