// A library that moves a collective's data, as the rest of `probe collective` knows it. Which one
// it is was chosen by its name; what it is given is all it needs: no environment is read behind
// it. Values; open() is called once, by the thread that uses the communicator.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "probe/collective/communicator.h"

namespace chokepoint::probe::collective {

struct BackendOptions {
  std::string interface = {};        // or an address of it; empty: the library's own choice
  std::chrono::seconds timeout{60};  // for connecting, and for each step of a collective
  std::optional<int> gpu = {};       // NCCL: this device; nothing: by the local rank
  std::string algorithm = {};        // as the library calls it; empty: its default
};

// Finds the other ranks through the store, and connects to them. Neither the place nor the options
// are kept; the store outlives the communicator.
using OpenBackend = std::function<Result<std::unique_ptr<Communicator>>(
    const Place& place, Store& store, const BackendOptions& options)>;

struct Backend {
  std::string name;  // "gloo", "nccl"
  OpenBackend open;
};

}  // namespace chokepoint::probe::collective
