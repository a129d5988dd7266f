// How long collectives take by the α–β model: a latency for each hop, and the bytes a rank sends
// over what a link carries. The slowest link of a ring sets its pace. Pure functions.
#pragma once

#include <span>

#include "analysis/predict/exchange.h"

namespace chokepoint::analysis {

struct Hop {
  double alpha_ms = 0;      // from one rank to the next, without data
  double bytes_per_ms = 0;  // of payload
};

Hop slowest(std::span<const Hop> hops);  // the longest latency and the lowest rate; not empty

// Bytes that a rank sends for each byte of the tensor: nccl-tests' factor from algorithm to bus
// bandwidth. 2(n−1)/n for all-reduce, (n−1)/n for its halves and all-to-all, else 1.
double bus_factor(Collective collective, double ranks);

// Hops that wait for each other in a ring of this many.
double ring_hops(Collective collective, double ranks);

double ring_ms(Collective collective, double bytes, double ranks, const Hop& hop);
// As many ranks as hops, around the ring.
double ring_ms(Collective collective, double bytes, std::span<const Hop> hops);

// All-reduce over two trees that have half of the data each, up and down. 2(n−1)/n of the data
// passes a link, as in a ring; the latency grows with the logarithm of n.
double tree_all_reduce_ms(double bytes, double nodes, const Hop& hop);

double algorithm_mbps(double bytes, double ms);
double bus_mbps(Collective collective, double ranks, double bytes, double ms);

}  // namespace chokepoint::analysis
