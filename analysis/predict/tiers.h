// Ranks on hosts: what one exchange takes, and which bytes pass which link, where links inside a
// host (NVLink, PCIe, shared memory) differ from the NICs between hosts. n ranks on N hosts, g on
// each, k NICs a host.
//
//   host 0                      host 1
//   r0 ─inside─ r1 ══ k NICs ══ r2 ─inside─ r3
//
// Steps are counted as in NCCL's own model, ncclTopoTuneModel() in src/graph/tuning.cc of 2.30: a
// ring has 2(n−1) steps of which 2(N−1) pass between hosts, a tree 2((g−1) inside + log₂ N
// between). Rings and trees are as many as NICs (channels), each of which stays on its NIC of every
// host, so that rails (NIC i reaches NIC i of the others alone) change nothing for them. Values;
// pure functions; any thread.
#pragma once

#include <optional>
#include <vector>

#include "analysis/predict/job_profile.h"

namespace chokepoint::analysis {

// Hierarchical: reduce-scatter inside each host, a ring between hosts of each part, all-gather
// inside.
enum class Algorithm { Ring, Tree, Hierarchical };

// The α–β model: a latency for each hop, and what a link carries.
struct Hop {
  double alpha_ms = 0;      // from one rank to the next, without data
  double bytes_per_ms = 0;  // of payload
};

struct Ranks {
  double count = 0;
  double nodes = 0;  // hosts they are on; 0: one each
  double nics = 1;   // of a host, that the job uses

  double hosts() const { return nodes > 0 && nodes < count ? nodes : count; }
  double each() const { return hosts() > 0 ? count / hosts() : 0; }  // ranks of a host
};

struct Tiers {
  Ranks ranks = {};
  Hop between = {};                // hosts: of all NICs of a host together
  std::optional<Hop> inside = {};  // of one rank's link in its host; empty: like the network's
};

// Bytes that a rank sends for each byte of the tensor: nccl-tests' factor from algorithm to bus
// bandwidth. 2(n−1)/n for all-reduce, (n−1)/n for its halves and all-to-all, else 1.
double bus_factor(Collective collective, double ranks);

// Hops that wait for each other in a ring of this many.
double ring_hops(Collective collective, double ranks);

double ring_ms(Collective collective, double bytes, double ranks, const Hop& hop);

// All-reduce over two trees that have half of the data each, up and down. 2(n−1)/n of the data
// passes a link, as in a ring; the latency grows with the logarithm of n.
double tree_all_reduce_ms(double bytes, double nodes, const Hop& hop);

double exchange_ms(Collective collective, Algorithm algorithm, double bytes, const Tiers& tiers);

// What the job's ranks exchange in a step, in order; deduced from sums if its run showed no more.
std::vector<PlannedExchange> exchanges_of(const JobProfile& profile, double ranks);

// Payload that one exchange, or a step, moves.
struct Load {
  double rank = 0;     // sent by a rank, on average
  double inside = 0;   // sent by the busiest rank to others of its host
  double host = 0;     // sent by the busiest host to others, over all of its NICs
  double network = 0;  // sent by all hosts to others

  Load& operator+=(const Load& more);
};

Load times(const Load& load, double factor);

// The ranks that take part in one that is not of all: a pair on two hosts, by one NIC; one group of
// a grid, by what NICs its host has for it.
Ranks taking_part(const PlannedExchange& exchange, const Ranks& ranks);

// How many of the groups that a host's NICs serve at once share one NIC; 1: none.
double sharing(double at_once, double nics);

// Of all groups of a grid that exchange it.
Load load_of(const PlannedExchange& exchange, Algorithm algorithm, const Ranks& ranks);

// Of all that a step exchanges, pipelines and remote calls included; or of the groups of one kind.
Load load_of(const JobProfile& job, Algorithm algorithm, const Ranks& ranks,
             std::optional<Parallelism> of = {});

}  // namespace chokepoint::analysis
