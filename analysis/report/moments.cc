#include "analysis/report/moments.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/attribution/sentences.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kShownSteps = 5;

// Of accounts that can be mended, the one that takes most.
std::optional<Account> worst_of(const Accounting& accounting) {
  std::optional<Account> worst;
  for (std::size_t place = 0; place < kAccounts; ++place) {
    const auto account = Account(place);
    if (account != Account::Compute && account != Account::Other && accounting[account] > 0 &&
        (!worst || accounting[account] > accounting[*worst])) {
      worst = account;
    }
  }
  return worst;
}

// Where the cost shows most, the worst first.
void add_evidence(const Inquiry& inquiry, const std::vector<StepAccounts>& steps,
                  std::vector<Moment>& moments) {
  const bool is_named = inquiry.diagnosis.verdict.lost_ms_per_step > 0;
  const auto worst =
      inquiry.diagnosis.accounting ? worst_of(*inquiry.diagnosis.accounting) : std::nullopt;
  if (!is_named || !worst) {
    return;
  }
  std::vector<const StepAccounts*> order;
  for (const StepAccounts& step : steps) {
    order.push_back(&step);
  }
  const auto cost = [&](const StepAccounts* step) { return step->accounting[*worst]; };
  std::ranges::stable_sort(order, std::greater<>(), cost);
  order.resize(std::min(order.size(), kShownSteps));
  for (const StepAccounts* step : order) {
    const auto at =
        std::ranges::lower_bound(inquiry.steps.all, step->span.start_ns, {}, &Span::start_ns);
    moments.push_back(
        {.span = step->span,
         .is_evidence = true,
         .what = fmt::format("step {}: {:.1f} ms {}", at - inquiry.steps.all.begin() + 1,
                             cost(step), words_of(*worst)),
         .detail = fmt::format("of {:.1f} ms; the mean is {:.1f} ms", step->accounting.sum(),
                               (*inquiry.diagnosis.accounting)[*worst]),
         .source = "the step's own account"});
  }
}

void add_events(const RunData& run, const Clocks& clocks, std::size_t most,
                std::vector<Moment>& moments, std::vector<std::string>& remarks) {
  std::size_t left_out = 0;
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    const NodeData& node = run.nodes[place];
    std::size_t shown = 0;
    for (const record::Event& event : node.events) {
      if (++shown > std::max<std::size_t>(1, most / run.nodes.size())) {
        ++left_out;
        continue;
      }
      const std::int64_t t_ns = clocks.common_ns(place, event.t_ns);
      moments.push_back(
          {.span = {t_ns, t_ns},
           .node = node.name,
           .what = event.subject.empty() ? event.kind : event.kind + " " + event.subject,
           .detail = event.detail == "{}" ? "" : event.detail,
           .source = "events of " + node.name});
    }
  }
  if (left_out > 0) {
    remarks.push_back(
        fmt::format("{} more events are in the records: export --to csv has all", left_out));
  }
}

}  // namespace

std::vector<Moment> moments_of(const RunData& run, const Inquiry& inquiry,
                               const std::vector<StepAccounts>& steps, std::size_t most,
                               std::vector<std::string>& remarks) {
  std::vector<Moment> moments;
  add_evidence(inquiry, steps, moments);
  add_events(run, inquiry.clocks, most, moments, remarks);
  std::ranges::stable_sort(moments, {}, [](const Moment& moment) { return moment.span.start_ns; });
  return moments;
}

}  // namespace chokepoint::analysis
