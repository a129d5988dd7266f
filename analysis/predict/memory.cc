#include "analysis/predict/memory.h"

#include <algorithm>

namespace chokepoint::analysis {
namespace {

constexpr double kFullBytes = 4;  // of an element in FP32
constexpr double kMaskBytes = 1;  // of an element of dropout's masks

// Of each parameter: two moments in FP32, or one; and the weights in FP32 where training works on
// shorter ones.
double optimizer_bytes(Optimizer optimizer, double weight_bytes) {
  const double moments = optimizer == Optimizer::Adam       ? 2
                         : optimizer == Optimizer::Momentum ? 1
                                                            : 0;
  return moments * kFullBytes + (weight_bytes < kFullBytes ? kFullBytes : 0);
}

// Weights in FP32 have a copy in the activations' type while a step goes on (autocast).
double weight_bytes(const Figures& figures) {
  const double bytes = figures.parameter_bytes;
  const double shorter = figures.shape.activation_bytes;
  return bytes + (shorter > 0 && shorter < bytes ? shorter : 0);
}

// Over how many ranks each kind of parallelism spreads the model.
struct Spread {
  double tensor = 1;
  double data = 1;
  double stages = 1;
};

Spread spread_of(const Figures& figures) {
  if (figures.grid) {
    return {.tensor = static_cast<double>(figures.grid->tensor),
            .data = static_cast<double>(figures.grid->data),
            .stages = static_cast<double>(figures.grid->pipeline)};
  }
  const auto ranks = static_cast<double>(figures.ranks);
  switch (figures.parallelism) {
    case Parallelism::Tensor:
      return {.tensor = ranks};
    case Parallelism::Pipeline:
      return {.stages = ranks};
    default:
      return {.data = ranks};
  }
}

// Parts of a kind of state that a rank keeps one of.
double parts(const Figures& figures, int least_stage) {
  const bool is_split =
      figures.parallelism == Parallelism::Zero && figures.zero_stage >= least_stage;
  return is_split ? spread_of(figures).data : 1;
}

// Of one layer and so many samples, as the backward pass needs them. Under tensor parallelism all
// ranks hold the inputs of blocks and norms and dropout's masks, 10 of the 34 bytes, and of the
// rest their part.
double layer_bytes(const Shape& shape, double samples, double ways) {
  const double element = shape.activation_bytes;
  const double tokens = samples * shape.sequence;
  const double whole = tokens * shape.hidden * (4 * element + 2 * kMaskBytes);
  const double split = tokens * shape.hidden * 12 * element;
  const double matrix = shape.heads * tokens * shape.sequence * (2 * element + kMaskBytes);
  return whole + (split + matrix) / ways;
}

// Of so many layers that each keep all, or their input alone but for the one at work.
double layers_bytes(const MemoryQuestion& question, double layers, double samples, double ways) {
  const Shape& shape = question.figures.shape;
  if (!question.is_recomputed) return layers * layer_bytes(shape, samples, ways);
  const double input = samples * shape.sequence * shape.hidden * shape.activation_bytes;
  return layers * input + layer_bytes(shape, samples, ways);
}

// The last layer's answer in the activations' type, in FP32 for the loss, and its gradient.
double logits_bytes(const Shape& shape, double samples) {
  return samples * shape.sequence * shape.vocabulary * (2 * shape.activation_bytes + kFullBytes);
}

bool has_layers(const Shape& shape) {
  return shape.layers > 0 && shape.hidden > 0 && shape.batch > 0 && shape.sequence > 0;
}

Memory state_of(const MemoryQuestion& question) {
  const Figures& figures = question.figures;
  const double parameters = rank_parameters(figures);
  const bool has_buckets = figures.parallelism == Parallelism::Data && spread_of(figures).data > 1;
  return {
      .weights = parameters * weight_bytes(figures) / parts(figures, 3),
      .gradients = parameters * figures.parameter_bytes * (has_buckets ? 2 : 1) / parts(figures, 2),
      .optimizer = parameters * optimizer_bytes(question.optimizer, figures.parameter_bytes) /
                   parts(figures, 1)};
}

// One forward, one backward: the first stage has a micro-batch under way for each stage behind it;
// the last has one, and the logits. Both hold the embeddings.
void add_stage(Memory& memory, const MemoryQuestion& question, const Spread& spread) {
  const Shape& shape = question.figures.shape;
  const double samples = shape.batch / shape.micro_batches;
  const double of_batch =
      layers_bytes(question, shape.layers / spread.stages, samples, spread.tensor);
  const double first = of_batch * std::min(spread.stages, shape.micro_batches);
  const double logits = logits_bytes(shape, samples) / spread.tensor;
  const bool is_first_larger = spread.stages > 1 && first >= of_batch + logits;
  memory.activations = is_first_larger ? first : of_batch;
  memory.logits = is_first_larger ? 0 : logits;
}

}  // namespace

double parameters_of(const Figures& figures) {
  const Shape& shape = figures.shape;
  return figures.parameters > 0
             ? figures.parameters
             : 12 * shape.layers * shape.hidden * shape.hidden + shape.vocabulary * shape.hidden;
}

double rank_parameters(const Figures& figures) {
  const Spread spread = spread_of(figures);
  const double parameters = parameters_of(figures);
  if (spread.stages <= 1) return parameters / spread.tensor;
  const double embeddings = figures.shape.vocabulary * figures.shape.hidden;
  return (std::max(0.0, parameters - embeddings) / spread.stages + embeddings) / spread.tensor;
}

std::optional<Memory> memory_of(const MemoryQuestion& question) {
  const Figures& figures = question.figures;
  if (parameters_of(figures) <= 0 || figures.parallelism == Parallelism::Calls) return std::nullopt;
  const Spread spread = spread_of(figures);
  const Shape& shape = figures.shape;
  Memory memory = state_of(question);
  if (!has_layers(shape)) return memory;
  if (figures.grid || spread.stages > 1 || figures.parallelism == Parallelism::Pipeline) {
    add_stage(memory, question, spread);
  } else {  // data-parallel ranks each have a batch of their own
    memory.activations = layers_bytes(question, shape.layers, shape.batch, spread.tensor);
    memory.logits = logits_bytes(shape, shape.batch) / spread.tensor;
  }
  return memory;
}

}  // namespace chokepoint::analysis
