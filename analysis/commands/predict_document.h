// chokepoint.prediction/1: what a step would take on another network, or with other ranks, and what
// that is worth. The page for people (predict_page.cc) prints from it. Values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/commands/predict.h"
#include "base/json/fields.h"

namespace chokepoint::analysis {

enum class PredictedBy : std::uint8_t { Replay, Models };
enum class NetworkLimit : std::uint8_t {
  Link,
  Window,
  Loss,
  Library,
  Throughput,
  Credit,
  IntraLink,
};

struct PredictionInputs {
  std::string from = {};
  std::string parameters = {};
  std::string type = {};
  std::string parallelism = {};
  std::string backend = {};
  std::int64_t ranks = 0;
  std::int64_t nodes = 0;
  std::int64_t nics = 1;
  std::optional<std::int64_t> steps = {};
  std::optional<double> epochs = {};
  std::optional<double> single_time_s = {};
  std::optional<double> measured_step_ms = {};
  double compute_ms = 0;
  double overlap = 0;
  std::optional<double> request_bytes = {};
  std::optional<double> answer_bytes = {};
  std::optional<double> calls = {};
  std::optional<double> at_once = {};
  std::optional<double> call_ms = {};
  std::optional<double> power_w = {};
  std::optional<double> link_mbps = {};
  std::optional<double> intra_link_mbps = {};
  std::optional<double> throughput_mbps = {};
  std::optional<double> throughput_back_mbps = {};
  std::optional<double> rtt_ms = {};
  std::optional<double> loss = {};
  std::optional<double> buffer_bytes = {};
  std::string congestion = {};
  std::string algorithm = {};
  std::string curve = {};
  std::optional<double> late = {};
  std::optional<std::vector<std::int64_t>> rank_order = {};
  std::optional<double> outer_overlap_steps = {};
};

struct PredictedParts {
  double compute = 0;
  double communication = 0;
  double exposed = 0;
  double bubble = 0;
  double other = 0;
};

struct PredictedNetwork {
  std::optional<double> rate_mbps = {};
  std::optional<NetworkLimit> limited_by = {};
  std::optional<Transport> transport = {};
};

struct PredictedStep {
  double step_ms = 0;
  double low_ms = 0;
  double high_ms = 0;
  PredictedParts breakdown_ms = {};
  PredictedBy method = PredictedBy::Models;
  double models_step_ms = 0;
  std::optional<double> total_s = {};
  std::optional<double> speedup = {};
  PredictedNetwork network = {};
  std::optional<double> energy_j_per_step = {};
};

struct PredictedVolume {
  double step_bytes = 0;
  std::optional<double> epoch_bytes = {};
  std::optional<double> run_bytes = {};
};

// Of links that the job does not use there is none.
struct PredictedVolumes {
  PredictedVolume rank = {};
  std::optional<PredictedVolume> inside_host = {};
  std::optional<PredictedVolume> host = {};
  std::optional<PredictedVolume> nic = {};
  std::optional<PredictedVolume> network_frames = {};
};

// A grid's groups of one kind, in the order in which ranks are counted.
struct PredictedGroup {
  std::string kind = {};
  std::int64_t ranks = 1;
  std::int64_t hosts = 1;
  bool crosses_network = false;
  std::int64_t at_once = 0;
  double rank_bytes = 0;
  double inside_host_bytes = 0;
  double host_bytes = 0;
  double network_bytes = 0;
  double communication_ms = 0;
  double exposed_ms = 0;
};

struct PredictedMemory {
  double weights_bytes = 0;
  double gradients_bytes = 0;
  double optimizer_bytes = 0;
  std::optional<double> activations_bytes = {};
  double logits_bytes = 0;
  double total_bytes = 0;
  std::optional<bool> fits = {};
};

struct PredictedSpread {
  PredictedMemory memory = {};
  std::string parallelism = {};
};

struct PredictedMemories {
  PredictedMemory memory = {};
  std::optional<double> limit_bytes = {};
  std::vector<PredictedSpread> ways = {};
};

struct PredictedLink {
  std::string name = {};
  double link_mbps = 0;
  PredictedStep step = {};
};

struct PredictedUpgrade {
  PredictedLink link = {};
  double cost = 0;
  std::optional<double> saved_s = {};
  std::optional<double> cost_per_saved_hour = {};
  std::optional<double> paid_back_after_runs = {};
};

struct PredictedOuterSteps {
  double every_steps = 0;
  double sync_ms = 0;
  double exposed_ms = 0;
  double round_ms = 0;
  double utilisation_percent = 0;
  std::optional<double> least_every_steps = {};
};

struct PredictedRing {
  std::vector<std::string> order = {};
  double slowest_mbps = 0;
  std::optional<double> named_slowest_mbps = {};
  double worst_slowest_mbps = 0;
  bool is_exact = true;
};

struct ShownPrediction {
  PredictionInputs inputs = {};
  PredictedStep step = {};
  std::optional<PredictedRing> ring = {};
  std::optional<PredictedOuterSteps> outer = {};
  double sent_bytes_per_step = 0;
  PredictedVolumes volume = {};
  std::vector<PredictedGroup> groups = {};
  std::optional<PredictedMemories> memory = {};
  std::optional<double> explaining_link_mbps = {};
  std::vector<PredictedLink> alternatives = {};
  std::vector<PredictedUpgrade> upgrades = {};
  std::vector<std::string> assumptions = {};
};

ShownPrediction document_of(const PredictFlags& given, const Predicted& predicted);

// What a step has, of all steps together; nullopt where their number is not known.
std::optional<double> in_run(const Predicted& predicted, std::optional<double> of_step);

}  // namespace chokepoint::analysis

namespace chokepoint {

template <>
struct EnumNames<analysis::PredictedBy> {
  using enum analysis::PredictedBy;
  static constexpr std::string_view kWhat = "replay or models";
  static constexpr auto kNames =
      std::to_array<EnumName<analysis::PredictedBy>>({{Replay, "replay"}, {Models, "models"}});
};

template <>
struct EnumNames<analysis::NetworkLimit> {
  using enum analysis::NetworkLimit;
  static constexpr std::string_view kWhat = "what limits the network";
  static constexpr auto kNames =
      std::to_array<EnumName<analysis::NetworkLimit>>({{Link, "link"},
                                                       {Window, "window"},
                                                       {Loss, "loss"},
                                                       {Library, "library"},
                                                       {Throughput, "throughput"},
                                                       {Credit, "credit"},
                                                       {IntraLink, "intra-link"}});
};

template <>
struct EnumNames<analysis::Transport> {
  using enum analysis::Transport;
  static constexpr std::string_view kWhat = "tcp or rdma";
  static constexpr auto kNames =
      std::to_array<EnumName<analysis::Transport>>({{Tcp, "tcp"}, {Rdma, "rdma"}});
};

template <>
struct Fields<analysis::PredictionInputs> {
  using I = analysis::PredictionInputs;
  static constexpr FieldList kList{
      field("from", &I::from, "folder of the run").null_if_empty(),
      field("parameters", &I::parameters, "as they were given").null_if_empty(),
      field("type", &I::type, "type of a parameter").null_if_empty(),
      field("parallelism", &I::parallelism,
            "dp, zero, tp, pp or rpc; several kinds as they were given; or unknown"),
      field("backend", &I::backend, "the library").null_if_empty(),
      field("ranks", &I::ranks, "number of all ranks").at_least(0),
      field("nodes", &I::nodes, "hosts that the ranks are on").at_least(0),
      field("nics", &I::nics, "NICs of a host").at_least(1),
      field("steps", &I::steps, "steps of the job").at_least(0),
      field("epochs", &I::epochs, "number of epochs that the steps make").at_least(0),
      field("single_time_s", &I::single_time_s, "seconds of all steps on one processor alone")
          .at_least(0),
      field("measured_step_ms", &I::measured_step_ms, "measured time of a step; null: not measured")
          .at_least(0),
      field("compute_ms", &I::compute_ms, "milliseconds of computing in a step").at_least(0),
      field("overlap", &I::overlap, "share of the communication that computing can hide")
          .between(0, 1),
      field("request_bytes", &I::request_bytes,
            "bytes of a remote call to each worker; null without remote calls")
          .at_least(0),
      field("answer_bytes", &I::answer_bytes, "bytes of the answer from each worker").at_least(0),
      field("calls", &I::calls, "calls per step to each worker").at_least(0),
      field("at_once", &I::at_once, "number of calls under way at the same time").at_least(0),
      field("call_ms", &I::call_ms,
            "milliseconds of a call without data, as measured; null: derived from the round trip")
          .at_least(0),
      field("power_w", &I::power_w, "mean power of a rank's GPU").at_least(0),
      field("link_mbps", &I::link_mbps, "10^6 bit/s").at_least(0),
      field("intra_link_mbps", &I::intra_link_mbps,
            "rate of a rank's link inside its host, 10^6 bit/s in one direction")
          .at_least(0),
      field("throughput_mbps", &I::throughput_mbps,
            "measured over one connection, in place of the link's rate")
          .at_least(0),
      field("throughput_back_mbps", &I::throughput_back_mbps,
            "the same for the answers to remote calls")
          .at_least(0),
      field("rtt_ms", &I::rtt_ms, "round trip of the path").at_least(0),
      field("loss", &I::loss, "share of packets lost").between(0, 1),
      field("buffer_bytes", &I::buffer_bytes, "size of a socket's buffer").at_least(0),
      field("congestion", &I::congestion, "the congestion control"),
      field("algorithm", &I::algorithm, "algorithm of the collective"),
      field("curve", &I::curve, "file with a measured curve").null_if_empty(),
      field("late", &I::late, "share of the lateness of late ranks that remains").between(0, 1),
      field("rank_order", &I::rank_order, "for each rank, the rank whose place it takes")
          .at_least(0),
      field("outer_overlap_steps", &I::outer_overlap_steps,
            "steps that go on beside an exchange; null: each step exchanges")
          .at_least(0)};
};

template <>
struct Fields<analysis::PredictedParts> {
  using P = analysis::PredictedParts;
  static constexpr FieldList kList{
      field("compute", &P::compute, "computing of a rank").at_least(0),
      field("communication", &P::communication, "all communication").at_least(0),
      field("exposed", &P::exposed, "communication that computing does not hide").at_least(0),
      field("bubble", &P::bubble, "idle time of a pipeline").at_least(0),
      field("other", &P::other, "the rest of a measured step").at_least(0)};
};

template <>
struct Fields<analysis::PredictedNetwork> {
  using N = analysis::PredictedNetwork;
  static constexpr FieldList kList{
      field("rate_mbps", &N::rate_mbps,
            "payload that a host's NICs carry, 10^6 bit/s; null: a curve replaces it")
          .at_least(0),
      field("limited_by", &N::limited_by, "what limits the rate; null: a curve replaces it"),
      field("transport", &N::transport, "transport; null for the link inside a host")};
};

template <>
struct Fields<analysis::PredictedStep> {
  using P = analysis::PredictedStep;
  static constexpr FieldList kList{
      field("step_ms", &P::step_ms, "what a step takes").at_least(0),
      field("low_ms", &P::low_ms, "lower bound of the step time").at_least(0),
      field("high_ms", &P::high_ms, "upper bound of the step time").at_least(0),
      field("breakdown_ms", &P::breakdown_ms, "parts of a step"),
      field("method", &P::method,
            "replay: the run's own graph is replayed; models: formulas alone"),
      field("models_step_ms", &P::models_step_ms, "step time by the models alone").at_least(0),
      field("total_s", &P::total_s, "seconds of all steps; null: their number is not known")
          .at_least(0),
      field("speedup", &P::speedup, "speedup over the run, or over one processor alone")
          .at_least(0),
      field("network", &P::network, "network that the ranks use"),
      field("energy_j_per_step", &P::energy_j_per_step,
            "energy of all GPUs; null: their power is not known")
          .at_least(0)};
};

template <>
struct Fields<analysis::PredictedVolume> {
  using V = analysis::PredictedVolume;
  static constexpr FieldList kList{
      field("step_bytes", &V::step_bytes, "bytes in a step").at_least(0),
      field("epoch_bytes", &V::epoch_bytes,
            "bytes in an epoch; null: the number of epochs is not known")
          .at_least(0),
      field("run_bytes", &V::run_bytes, "bytes in the run; null: the number of steps is not known")
          .at_least(0)};
};

template <>
struct Fields<analysis::PredictedVolumes> {
  using V = analysis::PredictedVolumes;
  static constexpr FieldList kList{
      field("rank", &V::rank, "payload that a rank sends"),
      field("inside_host", &V::inside_host,
            "payload that the busiest rank sends to others of its host; only where hosts have "
            "several ranks")
          .omitted_if_unknown(),
      field("host", &V::host,
            "payload that the busiest host sends to others; only with several hosts")
          .omitted_if_unknown(),
      field("nic", &V::nic, "payload that each of its NICs sends; only with several NICs")
          .omitted_if_unknown(),
      field("network_frames", &V::network_frames,
            "all that all hosts send, with the headers of Ethernet, IP and TCP; only with several "
            "hosts")
          .omitted_if_unknown()};
};

template <>
struct Fields<analysis::PredictedGroup> {
  using G = analysis::PredictedGroup;
  static constexpr FieldList kList{
      field("kind", &G::kind, "tp, dp or zero1 to zero3, pp"),
      field("ranks", &G::ranks, "ranks of a group").at_least(0),
      field("hosts", &G::hosts, "hosts of the group that is spread over most hosts").at_least(0),
      field("crosses_network", &G::crosses_network,
            "whether at least one group is on several hosts"),
      field("at_once", &G::at_once,
            "groups, or a pipeline's messages, that the busiest host's NICs serve together")
          .at_least(0),
      field("rank_bytes", &G::rank_bytes, "payload that a rank sends in a step").at_least(0),
      field("inside_host_bytes", &G::inside_host_bytes,
            "part of it that the busiest rank sends to others of its host")
          .at_least(0),
      field("host_bytes", &G::host_bytes, "sent by the busiest host to others").at_least(0),
      field("network_bytes", &G::network_bytes, "sent by all hosts to others").at_least(0),
      field("communication_ms", &G::communication_ms, "communication, hidden by computing or not")
          .at_least(0),
      field("exposed_ms", &G::exposed_ms, "communication that is not hidden").at_least(0)};
};

template <>
struct Fields<analysis::PredictedMemory> {
  using M = analysis::PredictedMemory;
  static constexpr FieldList kList{
      field("weights_bytes", &M::weights_bytes, "weights, and their copies in a shorter type")
          .at_least(0),
      field("gradients_bytes", &M::gradients_bytes, "gradients, and DDP's buckets").at_least(0),
      field("optimizer_bytes", &M::optimizer_bytes, "state of the optimizer").at_least(0),
      field("activations_bytes", &M::activations_bytes,
            "activations; null: the model's sizes are not known")
          .at_least(0),
      field("logits_bytes", &M::logits_bytes, "logits of the last layer").at_least(0),
      field("total_bytes", &M::total_bytes, "sum, without activations that are unknown")
          .at_least(0),
      field("fits", &M::fits, "whether the total fits into memory.limit_bytes; null: unknown")};
};

template <>
struct Fields<analysis::PredictedSpread> {
  using S = analysis::PredictedSpread;
  static constexpr FieldList kList{
      spread(&S::memory),
      field("parallelism", &S::parallelism, "how the job is spread over the ranks")};
};

template <>
struct Fields<analysis::PredictedMemories> {
  using M = analysis::PredictedMemories;
  static constexpr FieldList kList{
      spread(&M::memory),
      field("limit_bytes", &M::limit_bytes, "memory limit as it was given").at_least(0),
      field("ways", &M::ways, "the same job spread in other ways; empty without a memory limit")};
};

template <>
struct Fields<analysis::PredictedLink> {
  using L = analysis::PredictedLink;
  static constexpr FieldList kList{field("name", &L::name, "name of the link"),
                                   field("link_mbps", &L::link_mbps, "10^6 bit/s").at_least(0),
                                   spread(&L::step)};
};

template <>
struct Fields<analysis::PredictedUpgrade> {
  using U = analysis::PredictedUpgrade;
  static constexpr FieldList kList{
      spread(&U::link), field("cost", &U::cost, "cost as it was given").at_least(0),
      field("saved_s", &U::saved_s, "seconds saved per run"),
      field("cost_per_saved_hour", &U::cost_per_saved_hour,
            "cost of each hour saved; null: nothing is saved")
          .at_least(0),
      field("paid_back_after_runs", &U::paid_back_after_runs,
            "number of runs after which the cost is recovered; null: an hour has no price")
          .at_least(0)};
};

template <>
struct Fields<analysis::PredictedRing> {
  using R = analysis::PredictedRing;
  static constexpr FieldList kList{
      field("order", &R::order, "sites in the order whose slowest path is the fastest"),
      field("slowest_mbps", &R::slowest_mbps, "rate of that path, 10^6 bit/s").at_least(0),
      field(
          "named_slowest_mbps", &R::named_slowest_mbps,
          "rate of the slowest path in the order in which sites were named; null: a path of it is "
          "not known")
          .at_least(0),
      field("worst_slowest_mbps", &R::worst_slowest_mbps,
            "rate of the slowest path in the worst order")
          .at_least(0),
      field("exact", &R::is_exact, "whether all orders were tried")};
};

template <>
struct Fields<analysis::PredictedOuterSteps> {
  using O = analysis::PredictedOuterSteps;
  static constexpr FieldList kList{
      field("every_steps", &O::every_steps, "steps from one exchange to the next").at_least(1),
      field("sync_ms", &O::sync_ms, "milliseconds of an exchange").at_least(0),
      field("exposed_ms", &O::exposed_ms, "milliseconds of an exchange for which no step goes on")
          .at_least(0),
      field("round_ms", &O::round_ms, "milliseconds of these steps with their exchange")
          .at_least(0),
      field("utilisation_percent", &O::utilisation_percent,
            "share of a round that its steps take without the exchange")
          .between(0, 100),
      field("least_every_steps", &O::least_every_steps,
            "fewest steps between exchanges for --utilisation; null without it")
          .at_least(1)};
};

template <>
struct Fields<analysis::ShownPrediction> {
  using P = analysis::ShownPrediction;
  static constexpr std::string_view kSchema = "chokepoint.prediction/1";
  static constexpr const char* kCommand = "predict";
  static constexpr FieldList kList{
      field("inputs", &P::inputs, "what was given, or taken from a run"),
      spread(&P::step),
      field("ring", &P::ring, "the ring of sites (--between); else null"),
      field("outer", &P::outer,
            "where ranks exchange in some steps only (--outer-every, --utilisation); else null"),
      field("sent_bytes_per_step", &P::sent_bytes_per_step, "bytes that a rank sends per step")
          .at_least(0),
      field("volume", &P::volume,
            "bytes that are sent; links that the job does not use are left out"),
      field("groups", &P::groups,
            "where --parallelism names several kinds: those with more than one rank, in the order "
            "in which ranks are counted; else empty"),
      field("memory", &P::memory,
            "memory of the rank that needs most; null: predicted from a run, or the model's size "
            "is not known"),
      field("explaining_link_mbps", &P::explaining_link_mbps,
            "a link of this rate would explain the measured time")
          .at_least(0),
      field("alternatives", &P::alternatives, "predictions for other links"),
      field("upgrades", &P::upgrades, "predictions for links that were given with a cost"),
      field("assumptions", &P::assumptions, "assumptions, one line each")};
};

}  // namespace chokepoint
