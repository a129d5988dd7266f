// How the computing of a training step divides into its passes.
#pragma once

namespace chokepoint::math {

// The backward pass makes two products, for the gradients of inputs and of weights, for each one of
// the forward pass: Kaplan et al. 2020, "Scaling Laws for Neural Language Models", section 2.1.
inline constexpr double kBackwardPerForward = 2;

// Shares of a step's computing.
inline constexpr double kForwardShare = 1 / (1 + kBackwardPerForward);
inline constexpr double kBackwardShare = 1 - kForwardShare;

// Of gradients that are exchanged together: bucket_cap_mb of PyTorch's DistributedDataParallel.
inline constexpr double kBucketBytes = 25.0 * 1024 * 1024;

}  // namespace chokepoint::math
