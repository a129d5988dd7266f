// What predict found, and its two views: a document and a page for people. Values; they print from
// the caller's thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/commands/predict_input.h"
#include "base/cli/context.h"
#include "base/cli/output.h"

namespace chokepoint::analysis {

// One row of what if.
struct Alternative {
  std::string name = {};
  double link_mbps = 0;
  Prediction prediction = {};
  std::optional<Upgrade> upgrade = {};
  std::optional<Gain> gain = {};
};

struct Predicted {
  JobProfile profile = {};
  Target target = {};
  Prediction prediction = {};
  std::optional<double> explaining_mbps = {};  // the link that makes the measured time
  std::vector<Alternative> alternatives = {};
  double sent_bytes = 0;                      // a rank and step
  std::vector<std::string> assumptions = {};  // a line each
};

cli::Json document_of(const cli::Context& context, const PredictFlags& told,
                      const Predicted& predicted);
void print_page(const cli::Context& context, const Predicted& predicted);

}  // namespace chokepoint::analysis
