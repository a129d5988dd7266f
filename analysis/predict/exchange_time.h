// How long one exchange takes: a measured curve where there is one, Gloo's ring with its credits,
// else the α–β model. A pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/predict/curve.h"
#include "analysis/predict/exchange.h"
#include "analysis/predict/wire.h"

namespace chokepoint::analysis {

enum class Algorithm { Ring, Tree };

struct Ranks {
  double count = 0;
  double nodes = 0;  // hosts they are on; 0: one each
};

struct Medium {
  Wire wire = {};
  Ranks ranks = {};
  std::string backend = {};
  Algorithm algorithm = Algorithm::Ring;
  const Curve* curve = nullptr;  // of all-reduce; others take it by their bus factors
};

double exchange_ms(const PlannedExchange& exchange, const Medium& medium);

}  // namespace chokepoint::analysis
