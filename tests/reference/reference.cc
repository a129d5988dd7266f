// Writes the pages of docs/reference, and the types of the documents that web/ draws, from the
// tables in the sources, or checks that they are what the tables say: a row that is added without
// its page is a test that fails.
//
//   reference TREE            write the tree's pages
//   reference --check TREE    exit code 1 where a page differs, with its name
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/attribution/causes.h"
#include "analysis/collect/collection.h"
#include "analysis/commands/compare.h"
#include "analysis/commands/diagnose.h"
#include "analysis/commands/explain.h"
#include "analysis/commands/history.h"
#include "analysis/commands/predict_document.h"
#include "analysis/commands/runs.h"
#include "analysis/confirm/saved_tests.h"
#include "analysis/confirm/tests.h"
#include "analysis/export/export_document.h"
#include "analysis/limits/thresholds.h"
#include "analysis/live/live_run.h"
#include "analysis/load/run_summary.h"
#include "analysis/report/report_document.h"
#include "analysis/web/documents.h"
#include "base/checks/check.h"
#include "base/checks/traps.h"
#include "base/documents/collective.h"
#include "base/documents/doctor.h"
#include "base/documents/pcie.h"
#include "base/documents/probe_latency.h"
#include "base/documents/probe_path.h"
#include "base/documents/probe_paths.h"
#include "base/documents/probe_processor.h"
#include "base/documents/probe_quic.h"
#include "base/documents/probe_rpc.h"
#include "base/documents/probe_storage.h"
#include "base/documents/probe_tcp.h"
#include "base/documents/probe_udp.h"
#include "base/documents/rdma.h"
#include "base/documents/rdma_flows.h"
#include "base/documents/trials.h"
#include "base/json/schema.h"
#include "base/record/series_table.h"
#include "base/record/tables.h"
#include "capture/commands/capture_document.h"
#include "preflight/report/document.h"
#include "rdma/commands/devices_document.h"
#include "tests/reference/document_pages.h"
#include "tests/reference/tables.h"

namespace chokepoint::reference {
namespace {

std::string_view folding(Fold fold) {
  switch (fold) {
    case Fold::None:
      return "";
    case Fold::Key:
      return "key";
    case Fold::Start:
    case Fold::Min:
      return "least";
    case Fold::End:
    case Fold::Max:
      return "most";
    case Fold::Span:
      return "span";
    case Fold::Merged:
    case Fold::Sum:
    case Fold::Busy:
      return "sum";
    case Fold::Last:
      return "last";
    case Fold::Mean:
      return "mean";
  }
  return "";
}

template <class Row>
void add_sample_table(std::string& page) {
  page += fmt::format("\n## {}\n| column | folded | says |\n|---|---|---|\n", Fields<Row>::kTable);
  each_field<Row>([&](const auto& field) {
    page += fmt::format("| `{}` | {} | {} |\n", field.name, folding(field.fold), cell(field.text));
  });
}

template <class Row>
void add_table(std::string& page) {
  page += fmt::format("\n## {}\n| column | says |\n|---|---|\n", Fields<Row>::kTable);
  each_field<Row>([&](const auto& field) {
    page += fmt::format("| `{}` | {} |\n", field.name, cell(field.text));
  });
}

std::string record_page() {
  std::string page = fmt::format(
      "# Columns of the run record\n{}\nWhat the tables are for, and how a record is written and "
      "read: [record.md](../internals/record.md). Unknown is NULL.\n\nThe tables of samples are "
      "folded when "
      "a "
      "record grows large: rows of one key and one span become one row. *Key*: rows that differ "
      "here are never folded together. *Span*: from the earliest start to the latest end. Means "
      "are weighed by `merged`. Directions, kinds and sources are numbers in the record, and words "
      "in "
      "an export: [record.md](../internals/record.md).\n",
      kMade);
  add_sample_table<record::FlowSample>(page);
  add_sample_table<record::SocketSample>(page);
  add_sample_table<record::CounterSample>(page);
  add_sample_table<record::GaugeSample>(page);
  add_sample_table<record::Step>(page);
  add_sample_table<record::Collective>(page);
  add_sample_table<record::FlowMark>(page);
  add_table<record::Session>(page);
  add_table<record::Label>(page);
  add_table<record::ClockAnchor>(page);
  add_table<record::ClockOffset>(page);
  add_table<record::Fact>(page);
  add_table<record::Probe>(page);
  add_table<record::Process>(page);
  add_table<record::Flow>(page);
  add_table<record::FlowTotal>(page);
  add_table<record::Series>(page);
  add_table<record::Event>(page);
  return page;
}

std::string series_page() {
  std::string page = fmt::format(
      "# Series of the run record\n{}\nHow often each is read, and how to read it: "
      "[run-counters.md](../internals/run-counters.md). A name that ends in `*` is a family: what "
      "stands "
      "there is the driver's or the kernel's own name. The metric is what [`run "
      "--metrics`](metrics.md) and "
      "`export --to prometheus` call it, behind `chokepoint_`.\n\n| series | kind | unit | says | "
      "on the page "
      "| "
      "metric |\n|---|---|---|---|---|---|\n",
      kMade);
  for (const auto& row : record::series_table()) {
    page += fmt::format(
        "| `{}{}` | {} | {} | {} | {} | {} |\n", row.name, row.is_family ? "*" : "",
        row.kind == record::SeriesKind::Counter ? "counter" : "gauge", row.unit, cell(row.text),
        row.track.group.empty() ? "" : fmt::format("{}: {}", row.track.group, row.track.label),
        row.metric.name.empty() ? "" : fmt::format("`{}`", row.metric.name));
  }
  return page;
}

// "check …: `command`"; empty where there is none.
std::string advice_text(const analysis::AdviceText& advice) {
  if (advice.what.empty() || advice.command.empty()) {
    return std::string(advice.what);
  }
  return fmt::format("{}: `{}`", advice.what, advice.command);
}

std::vector<std::string> texts_of(std::span<const analysis::AdviceText> advice) {
  std::vector<std::string> texts;
  for (const analysis::AdviceText& each : advice) {
    if (!each.what.empty()) {
      texts.push_back(advice_text(each));
    }
  }
  return texts;
}

void add_causes_under(std::string& page, analysis::VerdictClass verdict) {
  bool is_first = true;
  for (const analysis::CauseDescription& cause : analysis::cause_table()) {
    const analysis::CauseUnder* under = analysis::describe(verdict, cause.cause);
    if (under == nullptr) {
      continue;
    }
    if (std::exchange(is_first, false)) {
      page +=
          "\n| cause | says | advice | evidence it must carry begins with |\n|---|---|---|---|\n";
    }
    page += fmt::format("| `{}` | {} | {} | {} |\n", cause.name, cell(under->sentence),
                        cell(fmt::format("{}", fmt::join(texts_of(under->advice), "; else "))),
                        cell(cause.evidence));
  }
}

void add_tests(std::string& page, analysis::VerdictClass verdict) {
  bool is_first = true;
  for (const analysis::confirm::Check& check : analysis::confirm::check_table()) {
    if (check.verdict != verdict) {
      continue;
    }
    if (std::exchange(is_first, false)) {
      page +=
          "\n| tested by | of cause | role | supports it | contradicts it |\n"
          "|---|---|---|---|---|\n";
    }
    const auto& rule = analysis::confirm::describe(check.rule);
    page += fmt::format(
        "| {} | {} | {} | {} | {} |\n", analysis::confirm::describe(check.test).text,
        check.cause == analysis::Cause::None ? "any other"
                                             : fmt::format("`{}`", name_of(check.cause)),
        analysis::confirm::words_of(check.role), rule.text_for, rule.text_against);
  }
}

std::string causes_page() {
  std::string page = fmt::format(
      "# Verdicts and causes\n{}\nHow to read a diagnosis: "
      "[reading-a-verdict.md](../guide/reading-a-verdict.md). Words in "
      "braces are filled in from the run. A cause's own sentence and advice stand before those of "
      "its class; where it has none, the class's are said. The tests are those "
      "of [`diagnose --confirm`](../guide/confirm.md).\n",
      kMade);
  for (const analysis::VerdictDescription& verdict : analysis::verdict_table()) {
    page += fmt::format("\n## {}\nSays: {}.\n", verdict.name, verdict.sentence);
    if (!verdict.disproof.empty()) {
      page += fmt::format("\nDisproved if {}.\n", verdict.disproof);
    }
    if (!verdict.advice.front().what.empty()) {
      page += "\nAdvice:\n";
    }
    for (const analysis::AdviceText& advice : verdict.advice) {
      if (!advice.what.empty()) {
        page += fmt::format("- {}\n", advice_text(advice));
      }
    }
    add_causes_under(page, verdict.verdict);
    add_tests(page, verdict.verdict);
  }
  return page;
}

std::string traps_page() {
  std::string page = fmt::format(
      "# Known traps\n{}\nTraps that cost other people days, and how `chokepoint doctor` and "
      "`chokepoint "
      "preflight` see it: [doctor.md](doctor.md) and [preflight-checks.md](preflight-checks.md) "
      "have the checks, `chokepoint explain NAME` prints the same. Each sign comes from a public "
      "report. Not all that was reported has a sign before something is measured: a ConnectX-7 "
      "that "
      "started degraded carries 13 Gb/s with every link as it should be "
      "([report](https://github.com/NVIDIA/dgx-spark-playbooks/pull/108)); `chokepoint probe tcp`, "
      "`chokepoint rdma write bw` and preflight's `link.rate` show that.\n\n| trap | means | shown "
      "by | check | what to do | reported |\n|---|---|---|---|---|---|\n",
      kMade);
  for (const checks::Trap& trap : checks::kTraps) {
    page += fmt::format("| `{}` | {} | {} | {}: `{}` | {} | [report]({}) |\n", trap.name,
                        cell(trap.means), cell(trap.shown_by), trap.command, trap.check,
                        cell(trap.advice), trap.source);
  }
  return page;
}

std::string thresholds_page() {
  std::string page = fmt::format(
      "# Thresholds of limits\n{}\nThe thresholds by which the limits of a direction of a "
      "connection are found "
      "([attribution.md](attribution.md)); `analysis/limits/limits.def` has them. *Chosen*: a "
      "judgement.\n\n| threshold | value | unit | bounds | source |\n"
      "|---|---|---|---|---|\n",
      kMade);
  for (const analysis::Threshold& each : analysis::kThresholds) {
    page += fmt::format("| `{}` | {} | {} | {} | {} |\n", each.name, each.value, each.unit,
                        cell(each.bounds), each.source);
  }
  return page;
}

json::Json live_schema() {
  json::Json node = json::schema_of<analysis::LiveNode>();
  const json::Json dialect = node["$schema"];
  node.erase("$schema");
  return {{"$schema", dialect},
          {"properties",
           {{"run",
             {{"description", "its folder, or how many nodes serve metrics"}, {"type", "string"}}},
            {"nodes", {{"type", "array"}, {"items", std::move(node)}}},
            {"diagnosis",
             {{"description", "the verdict so far; null from metrics"},
              {"anyOf", {{{"$ref", "diagnosis.schema.json"}}, {{"type", "null"}}}}}}}},
          {"required", {"run", "nodes", "diagnosis"}}};
}

Schema with_head(std::string_view name, std::string_view command, const json::Json& parts) {
  return published(documents::schema_of_parts(name, documents::printed_by(command), parts));
}

// Every document that a struct describes.
std::vector<Schema> described_documents() {
  return {document_schema<documents::Doctor>(),
          with_head(preflight::kSchema, "preflight", preflight::document_schema()),
          with_head("chokepoint.diagnosis/1", "diagnose", analysis::diagnosis_schema()),
          with_head("chokepoint.live/1", "live", live_schema()),
          document_schema<capture::Findings>(),
          document_schema<analysis::ReportDocument>(),
          document_schema<analysis::RunSummary>(),
          document_schema<analysis::confirm::SavedDocument>(),
          document_schema<analysis::RunList>(),
          document_schema<analysis::ShownHistory>(),
          document_schema<analysis::web::Fleet>(),
          document_schema<analysis::web::SubjectOverTime>(),
          document_schema<analysis::Explanation>(),
          document_schema<analysis::CollectOutcome>(),
          document_schema<analysis::ExportDocument>(),
          document_schema<analysis::Exported>(),
          test_schema<documents::ProbeTcp>(),
          test_schema<documents::ProbeUdp>(),
          test_schema<documents::ProbeQuic>(),
          test_schema<documents::ProbeRpc>(),
          test_schema<documents::ProbeLatency>(),
          test_schema<documents::ProbePath>(),
          test_schema<documents::ProbePaths>(),
          test_schema<documents::ProbeProcessor>(),
          test_schema<documents::ProbeStorage>(),
          test_schema<documents::Pcie>(),
          test_schema<documents::Collective>(),
          test_schema<documents::Rdma>(),
          test_schema<documents::RdmaFlows>(),
          document_schema<rdma::ShownDevices>(),
          document_schema<documents::Trials>(),
          with_head("chokepoint.comparison/1", "compare", analysis::comparison_schema()),
          document_schema<analysis::ShownPrediction>(),
          with_head("chokepoint.prediction.check/1", "predict --check",
                    analysis::prediction_check_schema())};
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

int run(const std::filesystem::path& tree, bool is_check) {
  const std::vector<Schema> schemas = described_documents();
  const std::string folder = "docs/reference/";
  std::vector<std::pair<std::string, std::string>> pages{
      {folder + "record.md", record_page()},
      {folder + "series.md", series_page()},
      {folder + "causes.md", causes_page()},
      {folder + "traps.md", traps_page()},
      {"docs/internals/thresholds.md", thresholds_page()},
      {folder + "fields.md", fields_page(schemas)},
      {"web/src/document/documents.ts",
       types_page(schemas, {"chokepoint.report/1", "chokepoint.preflight/1",
                            "chokepoint.web.fleet/1", "chokepoint.web.subject/1"})}};
  for (const Schema& each : schemas) {
    pages.emplace_back(folder + each.file, each.content.dump(2) + "\n");
  }
  int different = 0;
  for (const auto& [name, text] : pages) {
    const auto path = tree / name;
    if (content_of(path) == text) {
      continue;
    }
    if (is_check) {
      fmt::print(stderr, "{} is not what the tables say: run scripts/reference\n", path.string());
      ++different;
    } else if (!(std::ofstream(path) << text)) {
      fmt::print(stderr, "cannot write {}\n", path.string());
      return 1;
    }
  }
  return different == 0 ? 0 : 1;
}

}  // namespace
}  // namespace chokepoint::reference

int main(int count, char** arguments) {
  const bool is_check = count == 3 && std::string_view(arguments[1]) == "--check";
  if (count != 2 && !is_check) {
    fmt::print(stderr, "usage: reference [--check] TREE\n");
    return 2;
  }
  return chokepoint::reference::run(arguments[count - 1], is_check);
}
