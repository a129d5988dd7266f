#include "analysis/attribution/step_accounts.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "analysis/attribution/charges.h"
#include "analysis/attribution/findings.h"
#include "base/math/proportional_fit.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t column_of(Account account) { return static_cast<std::size_t>(account); }

// Which account a limit of a direction went to; nothing under way is a limit of its own.
class AccountOf {
 public:
  explicit AccountOf(const std::vector<Charge>& charges) {
    for (const Charge& charge : charges) {
      if (charge.limit) {
        accounts_[{charge.direction, *charge.limit}] = charge.account;
      } else {
        of_idle_ = charge.account;
      }
    }
  }

  Account held(const DirectionLimits& direction, Limit limit) const {
    const auto found = accounts_.find({&direction, limit});
    return found == accounts_.end() ? Account::Other : found->second;
  }
  Account idle() const { return of_idle_; }

 private:
  std::map<std::pair<const DirectionLimits*, Limit>, Account> accounts_;
  Account of_idle_ = Account::Other;
};

// What is known of the steps, one by one, in nanoseconds.
class StepEstimates {
 public:
  explicit StepEstimates(const DiagnosisInput& input)
      : input_(input),
        table_{.columns = kAccounts,
               .cells = std::vector<double>(input.steps.settled.size() * kAccounts, 0)},
        held_(input.steps.settled.size(), 0) {}

  math::GuessTable make() {
    const AccountOf account_of(charges_of(input_));
    add_moments(account_of);
    add_waiting();
    for (std::size_t row = 0; row < input_.steps.settled.size(); ++row) {
      add_rest(row, account_of);
    }
    return std::move(table_);
  }

 private:
  double& cell(std::size_t row, Account account) {
    return table_.cells[row * kAccounts + column_of(account)];
  }

  // Steps are in order and apart.
  template <class F>
  void each_touched(Span span, F&& visit) {
    const std::vector<Span>& steps = input_.steps.settled;
    auto step = std::ranges::upper_bound(steps, span.start_ns, {}, &Span::end_ns);
    for (; step != steps.end() && step->start_ns < span.end_ns; ++step) {
      const auto common =
          std::min(step->end_ns, span.end_ns) - std::max(step->start_ns, span.start_ns);
      visit(static_cast<std::size_t>(step - steps.begin()), static_cast<double>(common));
    }
  }

  void add_moments(const AccountOf& account_of) {
    for (const HeldMoment& moment : input_.limit_timeline.moments) {
      const DirectionLimits& direction = input_.limit_timeline.directions[moment.direction];
      const auto length = static_cast<double>(moment.span.length_ns());
      each_touched(moment.span, [&](std::size_t row, double common_ns) {
        for (std::size_t limit = 0; limit < kLimits; ++limit) {
          const double ns = moment.times.ns.at(limit) * common_ns / length;
          cell(row, account_of.held(direction, Limit(limit))) += ns;
          held_[row] += ns;
        }
      });
    }
  }

  void add_waiting() {
    for (const Late& late : input_.phases.late) {
      each_touched(late.waited, [&](std::size_t row, double common_ns) {
        cell(row, Account::Straggler) += std::min(common_ns, late.lost_ns);
      });
    }
  }

  // Communication in which nothing was seen to be held up, and what is left for computing.
  void add_rest(std::size_t row, const AccountOf& account_of) {
    const Span step = input_.steps.settled[row];
    const auto communicated = static_cast<double>(covered_ns(input_.phases.communicating, step));
    cell(row, account_of.idle()) += std::max(0.0, communicated - held_[row]);
    const double both_ms = input_.phases.exposed_ms + input_.phases.hidden_ms;
    const double exposed = both_ms > 0 ? input_.phases.exposed_ms / both_ms : 1;
    const auto length = static_cast<double>(step.length_ns());
    cell(row, Account::Compute) =
        std::max(length / 100, length - exposed * communicated - cell(row, Account::Straggler));
  }

  const DiagnosisInput& input_;
  math::GuessTable table_;
  std::vector<double> held_;
};

}  // namespace

std::vector<StepAccounts> step_accounts(const RunData& run, const DiagnoseOptions& options,
                                        const Inquiry& inquiry) {
  if (!inquiry.diagnosis.accounting || !inquiry.limit_timeline) {
    return {};
  }
  const DiagnosisInput input = input_of(run, options, inquiry);
  const Accounting& whole = *inquiry.diagnosis.accounting;
  const std::vector<Span>& steps = input.steps.settled;
  std::vector<double> rows;
  for (const Span& step : steps) {
    rows.push_back(static_cast<double>(step.length_ns()) / 1e6);
  }
  const double all_ms = std::reduce(rows.begin(), rows.end());
  std::vector<double> columns;
  for (const double ms : whole.ms) {
    columns.push_back(whole.sum() > 0 ? ms * all_ms / whole.sum() : 0);
  }
  math::GuessTable table = StepEstimates(input).make();
  math::fit_to_sums(table, rows, columns);
  std::vector<StepAccounts> accounts;
  for (std::size_t row = 0; row < steps.size(); ++row) {
    accounts.push_back({.span = steps[row]});
    std::copy_n(table.cells.begin() + static_cast<std::ptrdiff_t>(row * kAccounts), kAccounts,
                accounts.back().accounting.ms.begin());
  }
  return accounts;
}

}  // namespace chokepoint::analysis
