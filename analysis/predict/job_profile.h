// What a prediction needs to know of a job, measured in a run or given in figures: of one rank, in
// one step. Unknown is empty. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chokepoint::analysis {

enum class Collective { AllReduce, ReduceScatter, AllGather, Broadcast, AllToAll, SendReceive };

// In the order of rows, as papers list them. Zero: ZeRO and FSDP, whose ranks each keep a part of
// the model's state.
enum class Parallelism { Data, Zero, Tensor, Pipeline, Calls, Unknown };

// Several kinds of parallelism in one job: how many ranks a group of each has. Ranks are counted as
// Megatron-LM counts them: those of a tensor-parallel group are neighbours, then come the copies of
// data parallelism, then the pipeline's stages.
struct Grid {
  std::int64_t tensor = 1;
  std::int64_t data = 1;
  std::int64_t pipeline = 1;
  int zero_stage = 0;  // of the data-parallel copies; 0: each keeps all

  std::int64_t ranks() const { return tensor * data * pipeline; }
};

// Where the groups of one kind stand, and what their hosts' NICs carry for them.
struct Placement {
  double hosts = 1;      // of the group that is on most
  double at_once = 0;    // groups that one host's NICs serve together, at the host with most
  double crossings = 0;  // of groups on several hosts, their hosts summed up
};

// What the ranks send each other in a step: one collective, or many alike that follow one another.
struct PlannedExchange {
  Collective collective = Collective::AllReduce;
  double bytes = 0;      // of the whole tensor, as algorithm bandwidths count it
  double ready_ms = 0;   // of the step's computing, when there is something to send
  double times = 1;      // one after the other
  double ranks = 0;      // that take part; 0: all of the job
  double beside_ms = 0;  // of later steps' computing, that each may go on beside
  // Of a grid: whose groups exchange it, all of them at the same time, and where they are.
  Parallelism of = Parallelism::Unknown;
  std::optional<Placement> at = {};
};

// What a label or a flag calls it: "DP", "Data", "ddp", "FSDP", "zero3", "TP", "pipeline-parallel",
// "rpc" …; Unknown of any other text.
Parallelism parallelism_named(std::string_view name);

// Collectives of one kind that a run's rank takes part in.
struct ObservedCollectives {
  Collective kind = Collective::AllReduce;
  double times = 0;  // a step
  double bytes = 0;  // of the usual one's whole tensor
};

// The network between two ranks, the narrowest if they differ.
struct PathProfile {
  std::optional<double> rate_mbps = {};     // what one direction carries at most
  std::optional<double> payload_mbps = {};  // what a test measured there, in place of the rate
  std::optional<double> rtt_ms = {};        // unloaded
  std::optional<double> loss = {};          // share of packets
  std::optional<double> window_bytes = {};  // the least of socket buffers and windows
};

// Stages that pass micro-batches to the next one and their gradients back.
struct PipelineProfile {
  double micro_batches = 1;
  double micro_batch_bytes = 0;  // of activations between two stages
  bool is_forward_only = false;
  // Of a grid; empty: each rank is a stage.
  struct Stages {
    double count = 1;
    std::vector<bool> is_between = {};  // hosts: of each stage's link to the next one
    double at_once = 0;                 // messages that leave the busiest host, one way
    double most_sent = 0;               // messages that it sends for a micro-batch, both ways
    double sent = 0;                    // likewise by all hosts
    bool has_inside = false;            // messages that stay on their host
  };
  std::optional<Stages> stages = {};
};

// Steps that are remote calls: one rank sends a request to each other rank, which computes and
// answers.
struct CallProfile {
  double request_bytes = 0;             // to each worker
  double answer_bytes = 0;              // from each worker
  double calls = 1;                     // a step, to each worker
  double at_once = 1;                   // of them under way together
  std::optional<double> empty_ms = {};  // that one takes without data or computing, as measured
};

// Of a job whose ranks train alone for several steps before they exchange (outer_steps.h).
struct OuterSteps {
  double every = 1;         // steps from one exchange to the next
  double beside_steps = 0;  // that may go on beside an exchange
};

struct JobProfile {
  Parallelism parallelism = Parallelism::Unknown;
  std::string backend = {};  // "gloo", "nccl"; empty: unknown
  std::int64_t ranks = 0;
  std::int64_t nodes = 0;  // that they are on; 0: one each
  std::optional<std::int64_t> steps = {};
  double step_ms = 0;     // measured; 0: not measured
  double compute_ms = 0;  // what a step takes without any communication
  double exposed_ms = 0;  // communication that computing did not hide
  double overlap_ms = 0;  // computing that communication may hide behind
  double sent_bytes = 0;  // of a rank, on the wire
  double received_bytes = 0;
  double collectives = 0;          // or messages, that a step waits for
  double at_once = 1;              // of the collectives, under way together: they share the link
  double flags = 0;                // collectives of next to no bytes that all computing waits for
  double rounds = 0;               // one-way trips a step that wait for each other
  double bytes_of_collective = 0;  // the usual one's tensor
  // By kind, of the same collectives; empty: all are all-reduces of bytes_of_collective.
  std::vector<ObservedCollectives> kinds = {};
  PathProfile path = {};
  // Of figures rather than of a run: what is exchanged, in order, in place of the sums above.
  std::vector<PlannedExchange> exchanges = {};
  std::optional<PipelineProfile> pipeline = {};
  std::optional<Grid> grid = {};
  std::optional<CallProfile> calls = {};
  std::optional<OuterSteps> outer = {};
  // The path's figures were measured under this library. Otherwise what the library makes of a link
  // is assumed.
  bool is_library_measured = true;
  // How much of the computing that is left when something is ready may hide it, 0 to 1.
  double overlap = 1;
  std::optional<double> single_total_s = {};  // the same work on one processor alone
  std::optional<double> power_w = {};         // of one rank's processor, over a step
};

}  // namespace chokepoint::analysis
