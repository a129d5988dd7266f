// One rank's part in a group, whatever library moves the data: what a collective is measured
// through. A Backend makes a Communicator of a RankPosition and of the Store by which the ranks
// find each other; the store outlives it.
//
//   open ─▶ prepare ─▶ write_input ─▶ run… ─▶ read_output
//              ▲                                  │
//              └──────────────────────────────────┘  the next size
//
// One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/error.h"
#include "probe/collective/operation.h"

namespace chokepoint::probe::collective {

// A rank among all. Ranks of one host have the same `host`.
struct RankPosition {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;
  std::string host = {};
};

// By which ranks exchange values before they are connected: one sets a key, others wait for it.
// Values are text; binary data is kept in hexadecimal.
class Store {
 public:
  virtual ~Store() = default;

  virtual Result<> set(const std::string& key, const std::string& value) = 0;
  // Waits until a rank has set it; an error once a rank has failed or the time is over.
  virtual Result<std::string> get(const std::string& key) = 0;
};

// A store from which a rank also takes its next order, which is for it alone.
class Group : public Store {
 public:
  // Waits as get() does, and removes the key.
  virtual Result<std::string> take(const std::string& key) = 0;
};

std::string to_hex(std::string_view bytes);
std::optional<std::string> from_hex(std::string_view text);  // nullopt: not hexadecimal

using documents::DataPath;

class Communicator {
 public:
  virtual ~Communicator() = default;

  // Allocates memory for this operation, to which the calls below refer.
  virtual Result<> prepare(const Operation& operation) = 0;
  // This rank's whole input: input_bytes() of the operation.
  virtual Result<> write_input(std::span<const std::byte> bytes) = 0;
  // Runs the operation `times` times without a pause; returns how long each took on this rank, in
  // microseconds. Works in place where the library can, so that the output is the result of one run
  // only if `times` is 1.
  virtual Result<std::vector<double>> run(int times) = 0;
  virtual Result<> read_output(std::span<std::byte> bytes) const = 0;
  // Only after a run.
  virtual DataPath data_path() const = 0;
};

struct BackendOptions {
  std::string interface = {};        // or an address of it; empty: the library's own choice
  std::chrono::seconds timeout{60};  // for connecting, and for each step of a collective
  std::optional<int> gpu = {};       // NCCL: this device; nullopt: by the local rank
  std::string algorithm = {};        // as the library calls it; empty: its default
};

// Finds the other ranks through the store, and connects to them. Called once, by the thread that
// uses the communicator, which keeps neither the position nor the options.
using OpenBackend = std::function<Result<std::unique_ptr<Communicator>>(
    const RankPosition& position, Store& store, const BackendOptions& options)>;

// A library that moves a collective's data.
struct Backend {
  std::string name;  // "gloo", "nccl"
  OpenBackend open;
};

}  // namespace chokepoint::probe::collective
