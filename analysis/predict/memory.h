// What a rank keeps in its processor's memory: the model's state, and what the backward pass needs
// of the forward pass. For a transformer; for another model only the state is known. Neither
// CUDA's own context nor what an allocator leaves unused is counted. Values; pure functions; any
// thread.
//
//   state        Rajbhandari et al. 2020 (ZeRO), section 3.1: Adam keeps 12 bytes a parameter where
//                weights have 2, 8 where they have 4
//   activations  Korthikanti et al. 2022 ("Reducing Activation Recomputation"), section 4.1:
//                sbh(34 + 5as/h) bytes a layer at 2 bytes an element; 5as/h falls away where
//                attention does not keep its matrix (FlashAttention)
#pragma once

#include <optional>

#include "analysis/predict/figures.h"

namespace chokepoint::analysis {

enum class Optimizer { Adam, Momentum, Plain };

struct MemoryQuestion {
  Figures figures = {};
  Optimizer optimizer = Optimizer::Adam;
  bool is_recomputed = false;  // layers keep their input alone, and are computed again
};

// Bytes of the rank that needs most.
struct Memory {
  double weights = 0;    // and their copies in a shorter type
  double gradients = 0;  // and DDP's buckets, which are another copy of them
  double optimizer = 0;
  std::optional<double> activations = {};  // empty: the model's sizes are not known
  double logits = 0;                       // of the last layer, over the vocabulary

  double total() const {
    return weights + gradients + optimizer + activations.value_or(0) + logits;
  }
};

// nullopt where not even the number of parameters is known.
std::optional<Memory> memory_of(const MemoryQuestion& question);

// Of a transformer: 12Lh² in its layers, Vh in its embeddings. What was given, if it was.
double parameters_of(const Figures& figures);

// Of the rank that holds most of them: a stage's part, and of that a tensor-parallel rank's. ZeRO
// is not counted here.
double rank_parameters(const Figures& figures);

}  // namespace chokepoint::analysis
