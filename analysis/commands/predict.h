// chokepoint predict: what a step would take on another network, or with other ranks, and what that
// is worth. predict_input.cc defines and reads the flags, predict.cc predicts, predict_page.cc
// shows the prediction. Values, on the caller's thread; of files, these functions read --curve
// alone.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/predict/figures.h"
#include "analysis/predict/predict.h"
#include "analysis/predict/upgrade.h"
#include "base/cli/context.h"
#include "base/cli/flags.h"
#include "base/cli/output.h"

namespace chokepoint::analysis {

// The command line as it was written.
struct PredictFlags {
  // The job, from a run or in figures. Counts are text, since 708M is one.
  std::string from = {};
  std::string parameters = {};
  std::string type = {};
  std::string activations = {};
  std::string ranks = {};
  std::string nodes = {};
  std::string steps = {};
  std::chrono::nanoseconds single_time{};
  std::chrono::nanoseconds compute{};
  std::chrono::nanoseconds measured_time{};
  std::string parallelism = {};
  std::string backend = {};
  std::string overlap = {};
  std::string bucket = {};
  std::string layers = {};
  std::string hidden = {};
  std::string batch = {};
  std::string sequence = {};
  std::string micro_batches = {};
  std::string vocabulary = {};
  math::Bytes request = {};
  math::Bytes answer = {};
  std::string calls = {};
  std::string at_once = {};
  std::chrono::nanoseconds call_time{};
  std::string call_rate = {};
  // The network.
  std::string link = {};
  std::string throughput = {};
  std::string throughput_back = {};
  std::string rtt = {};  // text, since 0 is a value, too
  std::string loss = {};
  math::Bytes buffer = {};
  std::string congestion = "cubic";
  std::string transport = "auto";
  std::string algorithm = "ring";
  std::string curve = {};
  // Money.
  std::vector<std::string> upgrades = {};
  std::string runs = {};
  std::string hour_price = {};
};

void define(cli::Flags& flags, PredictFlags& given);

// What predict was given, as the models take it. Reads the file of --curve, and nothing else.

Result<Figures> figures_of(const PredictFlags& given);
Result<Target> target_of(const PredictFlags& given);  // without ranks and nodes
// With --from: an Error if a figure of the job is given, too.
Result<> refuse_figures(const PredictFlags& given);
// With --from: how many ranks and nodes to predict, from what the run had, and the job as the flags
// want it. `labels`: of the run.
Result<> change(Target& target, const PredictFlags& given, const JobProfile& profile,
                const std::map<std::string, std::string>& labels);

struct Money {
  std::vector<Upgrade> upgrades = {};
  double runs = 1;
  std::optional<double> hour_price = {};
};

Result<Money> money_of(const PredictFlags& given);

// One row of the table "what if".
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

  const JobProfile& job() const { return job_of(profile, target); }
};

// The chokepoint.prediction/1 document.
cli::Json document_of(const cli::Context& context, const PredictFlags& given,
                      const Predicted& predicted);
void print_page(const cli::Context& context, const Predicted& predicted);

}  // namespace chokepoint::analysis
