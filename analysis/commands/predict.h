// chokepoint predict: what a step would take on another network, or with other ranks, and what
// that is worth. predict_flags.cc defines the flags, predict_input.cc reads them, predict.cc
// predicts, predict_check.cc compares predictions with runs (--check), predict_document.h and
// predict_page.cc show them. Values, on the caller's thread; of files, these functions read
// records and --curve.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/predict/figures.h"
#include "analysis/predict/memory.h"
#include "analysis/predict/predict.h"
#include "analysis/predict/ring_order.h"
#include "analysis/replay/replay.h"
#include "base/cli/command.h"
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
  std::string outer_every = {};
  std::string outer_type = {};
  std::string outer_overlap = {};
  std::string utilisation = {};
  std::string layers = {};
  std::string hidden = {};
  std::string batch = {};
  std::string sequence = {};
  std::string micro_batches = {};
  std::string vocabulary = {};
  std::string heads = {};
  std::string epochs = {};
  std::string power = {};
  math::Bytes request = {};
  math::Bytes answer = {};
  std::string calls = {};
  std::string at_once = {};
  std::chrono::nanoseconds call_time{};
  std::string call_rate = {};
  // Memory of a rank.
  math::Bytes gpu_memory = {};
  std::string optimizer = {};
  bool is_recomputed = false;
  // The network.
  std::string link = {};
  std::string intra_link = {};
  std::string nics = {};
  std::string throughput = {};
  std::string throughput_back = {};
  std::string rtt = {};  // text, since 0 is a value, too
  std::string loss = {};
  math::Bytes buffer = {};
  std::string congestion = "cubic";
  std::string transport = "auto";
  std::string algorithm = "ring";
  std::string curve = {};
  std::string late = {};
  std::string rank_order = {};
  std::vector<std::string> between = {};
  // Money.
  std::vector<std::string> upgrades = {};
  std::string runs = {};
  std::string hour_price = {};
  // What is held against records.
  bool is_check = false;
  std::vector<std::string> checked = {};
};

void define(cli::Flags& flags, PredictFlags& given);

// What predict was given, as the models take it. Reads the file of --curve, and nothing else.

Result<Figures> figures_of(const PredictFlags& given);
Result<Target> target_of(const PredictFlags& given);  // without ranks and nodes
// Of --between, whose best ring is the target's path.
Result<std::optional<RingChoice>> ring_of(const PredictFlags& given, Target& target);
// With --from: an Error if a figure of the job is given, too.
Result<> refuse_figures(const PredictFlags& given);
// Whether any is.
bool has_figures(const PredictFlags& given);
// Whether --parallelism names kinds and their ranks.
bool has_grid(const PredictFlags& given);
// Whether the ranks exchange seldom.
bool has_outer_steps(const PredictFlags& given);
// The share of --utilisation.
Result<std::optional<double>> utilisation_of(const PredictFlags& given);
// An Error for a flag that would say nothing beside the others; with --check, and without.
Result<> refuse_unused(const PredictFlags& given);
Result<> refuse_unchecked(const PredictFlags& given);
Result<std::optional<double>> epochs_of(const PredictFlags& given);
Optimizer optimizer_of(const PredictFlags& given);
// With --from: how many ranks and nodes to predict, from what the run had, and the job as the flags
// want it. `labels`: of the run.
Result<> change(Target& target, const PredictFlags& given, const JobProfile& profile,
                const std::map<std::string, std::string>& labels);

// What the run is replayed with: the target's path, --late, --rank-order. nullopt where the flags
// ask for what a replay does not answer: another job, other ranks, a curve.
Result<std::optional<ReplayChange>> replay_change_of(const PredictFlags& given,
                                                     const Target& target);

struct Money {
  std::vector<Upgrade> upgrades = {};
  double runs = 1;
  std::optional<double> hour_price = {};
};

Result<Money> money_of(const PredictFlags& given);

// A job as its records show it.
struct RecordedJob {
  JobProfile profile = {};
  std::map<std::string, std::string> labels = {};
  std::optional<double> volume_bytes = {};  // frames that its hosts sent each other
  std::optional<Replay> replay = {};        // where its record permits one
};

Result<RecordedJob> recorded_job(const std::string& given);

// One row of the table "what if".
struct Alternative {
  std::string name = {};
  double link_mbps = 0;
  Prediction prediction = {};
  std::optional<Upgrade> upgrade = {};
  std::optional<Gain> gain = {};
};

// The same job spread otherwise over as many ranks, and what each of them then keeps.
struct MemoryWay {
  std::string name = {};
  Memory memory = {};
};

struct Predicted {
  JobProfile profile = {};
  Target target = {};
  // Of --from, where record and flags permit it.
  std::optional<Replay> replay = {};
  ReplayChange change = {};
  Prediction prediction = {};
  std::optional<double> explaining_mbps = {};  // the link that makes the measured time
  std::vector<Alternative> alternatives = {};
  Load sent = {};  // a step, of payload
  std::optional<double> epochs = {};
  // The least number of steps between exchanges for --utilisation.
  std::optional<double> least_every = {};
  std::optional<RingChoice> ring = {};  // of --between
  // Of figures alone.
  std::optional<Memory> memory = {};
  std::optional<double> memory_limit_bytes = {};
  std::vector<MemoryWay> memory_ways = {};    // where a limit is given
  std::vector<std::string> assumptions = {};  // a line each

  const JobProfile& job() const { return job_of(profile, target); }
  Ranks ranks() const { return ranks_of(profile, target); }
};

// predict --check: prints what was predicted of each run beside what was measured. Failed where
// not one run could be checked.
Result<cli::ExitCode> check_runs(cli::Context& context, const PredictFlags& given);

void print_page(const cli::Context& context, const PredictFlags& given, const Predicted& predicted);

// The JSON Schema of chokepoint.prediction.check/1 but its head, for docs/reference.
cli::Json prediction_check_schema();

}  // namespace chokepoint::analysis
