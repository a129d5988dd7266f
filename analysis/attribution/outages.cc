#include "analysis/attribution/outages.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

constexpr double kFewStepsShare = 0.25;  // of all steps take
constexpr double kMostLost = 0.8;        // of what was lost

// Containers come and go with cards of their own.
bool is_jobs(const NodeData& node, const std::string& name) {
  const Interface* interface = node.interface(name);
  return (interface != nullptr && interface->kind == "physical") ||
         std::ranges::any_of(node.flows,
                             [&](const FlowData& flow) { return flow.row.interface == name; });
}

struct Flap {
  const NodeData* node = nullptr;
  const record::Event* event = nullptr;
  bool is_cause = false;  // it was switched off, and did not only lose its carrier
};

bool was_switched_off(const record::Event& event) {
  const auto detail = nlohmann::json::parse(event.detail, nullptr, false);
  return event.kind == record::kInterfaceGone ||
         (detail.is_object() && !detail.value("enabled", true));
}

// Where both ends of a link went down, the one that somebody or something switched off.
Flap flap_of(const DiagnosisInput& input) {
  Flap first;
  for (std::size_t place = 0; place < input.run.nodes.size(); ++place) {
    const Span span = input.span_of(place);
    for (const record::Event& event : input.run.nodes[place].events) {
      const bool is_down =
          event.kind == record::kInterfaceDown || event.kind == record::kInterfaceGone;
      if (!is_down || event.t_ns < span.start_ns || event.t_ns > span.end_ns ||
          !is_jobs(input.run.nodes[place], event.subject)) {
        continue;
      }
      const Flap flap{&input.run.nodes[place], &event, was_switched_off(event)};
      first = first.event == nullptr || (flap.is_cause && !first.is_cause) ? flap : first;
    }
  }
  return first;
}

// Few steps took nearly all of the time that is above the usual step.
bool is_outage(const Spans& steps) {
  std::vector<double> lengths;
  for (const Span& step : steps) {
    lengths.push_back(static_cast<double>(step.length_ns()));
  }
  std::ranges::sort(lengths, std::ranges::greater{});
  const double usual = lengths[lengths.size() / 2];
  const auto few = static_cast<std::size_t>(kFewStepsShare * static_cast<double>(lengths.size()));
  double all = 0;
  double of_few = 0;
  for (std::size_t place = 0; place < lengths.size(); ++place) {
    const double lost = std::max(0.0, lengths[place] - usual);
    all += lost;
    of_few += place < std::max<std::size_t>(few, 1) ? lost : 0;
  }
  return of_few > kMostLost * all && lengths.front() > 4 * usual && lengths.front() > usual + 500e6;
}

}  // namespace

void explain_loss(const DiagnosisInput& input, Verdict& verdict) {
  if (const Flap flap = flap_of(input); flap.event != nullptr) {
    verdict.cause = "interface-flap";
    verdict.where.interface = flap.event->subject;
    verdict.where.node = flap.node->name;
    verdict.evidence.push_back({flap.event->subject + " of " + flap.node->name + " went down",
                                std::nullopt, "", "events of " + flap.node->name});
    return;
  }
  if (input.steps.settled.size() > 3 && is_outage(input.steps.settled)) {
    verdict.cause = "link-cut";
  }
}

}  // namespace chokepoint::analysis
