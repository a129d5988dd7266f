#include "analysis/compare/probe_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/documents/document.h"
#include "base/documents/host_facts.h"
#include "base/documents/test_head.h"
#include "base/documents/trials.h"

namespace chokepoint::analysis {
namespace {

using documents::MainFigure;
using documents::TestedPeer;
using documents::TestHead;
using json::Json;

constexpr std::size_t kMostTrials = 100'000;  // of all variants of one document
void add_figure(ComparedRun& run, const MainFigure& figure, std::optional<double> value) {
  const auto known = figure_of(figure.key);
  if (known && value && !run.figures[place_of(*known)]) {
    run.figures[place_of(*known)] = {.value = *value, .from = figure.pointer};
  }
}

// How all hosts were set up. On one machine both ends may have one name.
std::vector<HostSettings> hosts_of(const documents::HostFacts& facts, const std::string& own_name,
                                   const std::string& peer_name) {
  std::vector<HostSettings> hosts;
  const auto add = [&](const documents::Settings& settings, const std::string& name) {
    if (!settings.empty()) {
      hosts.push_back(
          {.host = name, .settings = std::make_shared<const documents::Settings>(settings)});
    }
  };
  add(facts.own, own_name);
  add(facts.peer.value_or(documents::Settings()),
      own_name == peer_name ? peer_name + " (peer)" : peer_name);
  for (const auto& [name, settings] :
       facts.peers.value_or(std::map<std::string, documents::Settings>())) {
    add(settings, documents::label_of(name));
  }
  return hosts;
}

// What all runs of a document have.
ComparedRun common_of(const TestHead& head, const std::string& name) {
  ComparedRun run{.is_probe = true, .path = name, .folder = name, .is_complete = true};
  const std::string host = documents::label_of(head.host);
  const TestedPeer tested = head.peer.value_or(TestedPeer());
  const std::string peer = documents::label_of(tested.name.empty() ? tested.host : tested.name);
  run.nodes = {host};
  run.labels["host"] = host;
  if (!peer.empty()) {
    run.labels["peer"] = peer;
  }
  if (!tested.family.empty()) {
    run.labels["family"] = documents::label_of(tested.family);
  }
  run.hosts = hosts_of(head.host_facts.value_or(documents::HostFacts()), host, peer);
  run.is_complete = !head.interrupted;
  if (!run.is_complete) {
    run.remarks.emplace_back("was interrupted");
  }
  return run;
}

ComparedRun run_of(const Json& document, const TestHead& head, const std::string& name) {
  ComparedRun run = common_of(head, name);
  const std::string& schema = head.schema;
  run.labels["probe"] = documents::kind_of(schema);
  run.labels.merge(documents::settings_of(document, schema));
  for (const MainFigure& figure : documents::kMainFigures) {
    if (schema == figure.schema) {
      add_figure(run, figure, documents::number_at(document, figure.pointer));
    }
  }
  return run;
}

// A figure of trials names where it stood in the documents of its probe.
const MainFigure* figure_named(const documents::TrialsFigure& figure) {
  const auto* const found =
      std::ranges::find_if(documents::kMainFigures, [&](const MainFigure& each) {
        return figure.field == each.pointer && figure.name == each.name;
      });
  return found == documents::kMainFigures.end() ? nullptr : found;
}

// A run for each trial of a variant, as many as its figures have values.
void add_trials(const documents::TrialsVariant& variant, const ComparedRun& common,
                std::vector<ComparedRun>& runs) {
  ComparedRun model = common;
  model.labels["variant"] = documents::label_of(variant.name);
  if (variant.host_facts) {
    const auto peer = common.labels.find("peer");
    model.hosts = hosts_of(*variant.host_facts, common.labels.at("host"),
                           peer == common.labels.end() ? "peer" : peer->second);
  }
  const std::size_t first = runs.size();
  for (const documents::TrialsFigure& figure : variant.figures) {
    const MainFigure* known = figure_named(figure);
    for (std::size_t trial = 0;
         known != nullptr && trial < figure.values.size() && first + trial < kMostTrials; ++trial) {
      if (first + trial == runs.size()) {
        runs.push_back(model);
        runs.back().labels["trial"] = fmt::format("{}", trial + 1);
      }
      add_figure(runs[first + trial], *known, figure.values[trial]);
    }
  }
}

Result<std::vector<ComparedRun>> runs_of_trials(const documents::Trials& trials,
                                                const TestHead& head, const std::string& name) {
  ComparedRun common = common_of(head, name);
  common.labels["test"] = documents::label_of(trials.command);
  std::vector<ComparedRun> runs;
  for (const documents::TrialsVariant& variant : trials.variants) {
    add_trials(variant, common, runs);
  }
  if (runs.empty()) {
    return fail(ErrorKind::Malformed, "", name, "has no trial with a figure that is known");
  }
  return runs;
}

std::unexpected<Error> not_to_compare(const std::string& name, const std::string& schema) {
  return fail(ErrorKind::Malformed, "", name,
              schema.empty() ? "names no schema, so it is no document of chokepoint"
                             : fmt::format("is a {} document, and no probe's", schema),
              "give what a probe, an RDMA test or --repeat printed with --json");
}

}  // namespace

bool is_comparable(std::string_view schema) {
  return schema == Fields<documents::Trials>::kSchema || !documents::figures_of(schema).empty();
}

Result<std::vector<ComparedRun>> runs_of_document(std::string_view text, const std::string& name) {
  const auto wrong = [&](const std::string& why) {
    return fail(ErrorKind::Malformed, "", name, why, "give what a probe printed with --json");
  };
  const auto wrong_field = [&](const Error& error) {
    return wrong(fmt::format("{}: {}", error.subject, error.reason));
  };
  const Result<Json> document = json::parse_object(text, kMaxDocumentBytes, "document");
  if (!document) {
    return wrong(document.error().reason);
  }
  const Result<TestHead> head = json::from_json<TestHead>(*document, "document");
  if (!head) {
    return wrong_field(head.error());
  }
  if (!is_comparable(head->schema)) {
    return not_to_compare(name, head->schema);
  }
  if (head->schema != Fields<documents::Trials>::kSchema) {
    return std::vector<ComparedRun>{run_of(*document, *head, name)};
  }
  const Result<documents::Trials> trials = documents::read<documents::Trials>(*document);
  return trials ? runs_of_trials(*trials, *head, name) : wrong_field(trials.error());
}

}  // namespace chokepoint::analysis
