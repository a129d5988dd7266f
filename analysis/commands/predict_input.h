// What predict was told, as the models take it. Reads the file of --curve, and nothing else.
#pragma once

#include <optional>
#include <vector>

#include "analysis/commands/predict_flags.h"
#include "analysis/predict/figures.h"
#include "analysis/predict/predict.h"
#include "analysis/predict/upgrade.h"

namespace chokepoint::analysis {

Result<Figures> figures_of(const PredictFlags& told);
Result<Target> target_of(const PredictFlags& told);  // without ranks and nodes
// With --from: how many ranks and nodes to predict, from what the run had.
Result<> spread(Target& target, const PredictFlags& told, const JobProfile& profile);

struct Money {
  std::vector<Upgrade> upgrades = {};
  double runs = 1;
  std::optional<double> hour_price = {};
};

Result<Money> money_of(const PredictFlags& told);

}  // namespace chokepoint::analysis
