#include "analysis/compare/probe_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/json/codec.h"

namespace chokepoint::analysis {
namespace {

using json::Json;
using trials::MainFigure;
using trials::MainSetting;

constexpr const char* kTrials = "chokepoint.trials/1";
constexpr std::size_t kMostTrials = 100'000;  // of all variants of one document
constexpr std::size_t kLongestLabel = 256;

std::string text_at(const Json& document, std::string_view pointer) {
  const Json* found = trials::found_at(document, pointer);
  return found != nullptr && found->is_string()
             ? found->get_ref<const std::string&>().substr(0, kLongestLabel)
             : "";
}

// Of a setting: texts as they are, numbers and truths as JSON has them; else nothing.
std::string label_at(const Json& document, std::string_view pointer) {
  const Json* found = trials::found_at(document, pointer);
  if (found == nullptr || found->is_null() || found->is_structured()) {
    return "";
  }
  return found->is_string() ? text_at(document, pointer)
                            : found->dump(-1, ' ', false, Json::error_handler_t::replace);
}

// "tcp" of chokepoint.probe.tcp/1, "rdma" of chokepoint.rdma/1.
std::string kind_of(std::string_view schema) {
  for (const std::string_view prefix : {"chokepoint.", "probe."}) {
    if (schema.starts_with(prefix)) {
      schema.remove_prefix(prefix.size());
    }
  }
  return std::string(schema.substr(0, schema.find('/')));
}

void add_figure(ComparedRun& run, const MainFigure& figure, std::optional<double> value) {
  const auto known = figure_of(figure.key);
  if (known && value && !run.figures[place_of(*known)]) {
    run.figures[place_of(*known)] = {.value = *value, .from = figure.pointer};
  }
}

// How all hosts were set up. On one machine both ends may have one name.
std::vector<HostSettings> hosts_of(const Json& document, const std::string& own_name,
                                   const std::string& peer_name) {
  std::vector<HostSettings> hosts;
  const auto add = [&](const Json* facts, const std::string& name) {
    if (facts != nullptr) {
      hosts.push_back(
          {.host = name,
           .settings = std::make_shared<const host::Settings>(host::settings_in(*facts))});
    }
  };
  add(trials::found_at(document, "/host_facts/own"), own_name);
  add(trials::found_at(document, "/host_facts/peer"),
      own_name == peer_name ? peer_name + " (peer)" : peer_name);
  const Json* peers = trials::found_at(document, "/host_facts/peers");
  if (peers != nullptr && peers->is_object()) {
    for (const auto& [name, facts] : peers->items()) {
      add(&facts, name.substr(0, kLongestLabel));
    }
  }
  std::erase_if(hosts, [](const HostSettings& each) { return each.settings->empty(); });
  return hosts;
}

// What all runs of a document have.
ComparedRun common_of(const Json& document, const std::string& name) {
  ComparedRun run{.is_probe = true, .path = name, .folder = name, .is_complete = true};
  const std::string host = text_at(document, "/host");
  const std::string peer = text_at(document, "/peer/name");
  const std::string peer_host = peer.empty() ? text_at(document, "/peer/host") : peer;
  run.nodes = {host};
  run.labels["host"] = host;
  if (!peer_host.empty()) {
    run.labels["peer"] = peer_host;
  }
  if (const std::string family = text_at(document, "/peer/family"); !family.empty()) {
    run.labels["family"] = family;
  }
  run.hosts = hosts_of(document, host, peer_host);
  const Json* interrupted = trials::found_at(document, "/interrupted");
  run.is_complete = interrupted == nullptr || *interrupted != Json(true);
  if (!run.is_complete) {
    run.remarks.emplace_back("was interrupted");
  }
  return run;
}

ComparedRun run_of(const Json& document, const std::string& schema, const std::string& name) {
  ComparedRun run = common_of(document, name);
  run.labels["probe"] = kind_of(schema);
  for (const MainSetting& setting : trials::kMainSettings) {
    if (const std::string label =
            schema == setting.schema ? label_at(document, setting.pointer) : "";
        !label.empty()) {
      run.labels[setting.key] = label;
    }
  }
  for (const MainFigure& figure : trials::kMainFigures) {
    if (schema == figure.schema) {
      add_figure(run, figure, trials::number_at(document, figure.pointer));
    }
  }
  return run;
}

// A figure of trials names where it stood in the documents of its probe.
const MainFigure* figure_named(const Json& figure) {
  const std::string pointer = text_at(figure, "/field");
  const std::string name = text_at(figure, "/name");
  const auto* const found = std::ranges::find_if(trials::kMainFigures, [&](const MainFigure& each) {
    return pointer == each.pointer && name == each.name;
  });
  return found == trials::kMainFigures.end() ? nullptr : found;
}

const Json& list_at(const Json& object, std::string_view pointer) {
  static const Json empty = Json::array();
  const Json* found = trials::found_at(object, pointer);
  return found != nullptr && found->is_array() ? *found : empty;
}

// A run for each trial of a variant, as many as its figures have values.
void add_trials(const Json& variant, const ComparedRun& common, std::vector<ComparedRun>& runs) {
  ComparedRun model = common;
  model.labels["variant"] = text_at(variant, "/name");
  if (auto hosts =
          hosts_of(variant, model.labels["host"],
                   model.labels.contains("peer") ? model.labels["peer"] : std::string("peer"));
      !hosts.empty()) {
    model.hosts = std::move(hosts);
  }
  const std::size_t first = runs.size();
  for (const Json& figure : list_at(variant, "/figures")) {
    const MainFigure* known = figure_named(figure);
    const Json& values = list_at(figure, "/values");
    for (std::size_t trial = 0;
         known != nullptr && trial < values.size() && first + trial < kMostTrials; ++trial) {
      if (first + trial == runs.size()) {
        runs.push_back(model);
        runs.back().labels["trial"] = fmt::format("{}", trial + 1);
      }
      add_figure(runs[first + trial], *known, trials::number_at(values[trial], ""));
    }
  }
}

std::unexpected<Error> not_to_compare(const std::string& name, const std::string& schema) {
  return fail(ErrorKind::Malformed, "", name,
              schema.empty() ? "names no schema, so it is no document of chokepoint"
                             : fmt::format("is a {} document, and no probe's", schema),
              "give what a probe, an RDMA test or --repeat printed with --json");
}

}  // namespace

bool is_comparable(std::string_view schema) {
  return schema == kTrials || !trials::figures_of(schema).empty();
}

Result<std::vector<ComparedRun>> runs_of_document(std::string_view text, const std::string& name) {
  const Result<Json> document = json::parse_object(text, kMaxDocumentBytes, "document");
  if (!document) {
    return fail(ErrorKind::Malformed, "", name, document.error().reason,
                "give what a probe printed with --json");
  }
  const std::string schema = text_at(*document, "/schema");
  if (!is_comparable(schema)) {
    return not_to_compare(name, schema);
  }
  if (schema != kTrials) {
    return std::vector<ComparedRun>{run_of(*document, schema, name)};
  }
  ComparedRun common = common_of(*document, name);
  const std::string command = text_at(*document, "/command");
  common.labels["test"] = command;
  std::vector<ComparedRun> runs;
  for (const Json& variant : list_at(*document, "/variants")) {
    add_trials(variant, common, runs);
  }
  if (runs.empty()) {
    return fail(ErrorKind::Malformed, "", name, "has no trial with a figure that is known");
  }
  return runs;
}

}  // namespace chokepoint::analysis
