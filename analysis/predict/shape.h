// A transformer's sizes, as far as they decide what its ranks send each other. A value.
#pragma once

namespace chokepoint::analysis {

struct Shape {
  double layers = 0;
  double hidden = 0;
  double batch = 0;  // samples a step, of one copy of the model
  double sequence = 0;
  double micro_batches = 1;
  double vocabulary = 0;        // of embeddings that the first and last layers share; 0: none
  double activation_bytes = 0;  // of one element

  double activations() const { return batch * sequence * hidden * activation_bytes; }
};

}  // namespace chokepoint::analysis
