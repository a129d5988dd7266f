// What NCCL's proxy thread does for a ring all-reduce: moves the slices of an operation over the
// two connections, and tells the profiler what each of them waits for.
#pragma once

#include <vector>

#include "tests/lab/nccl/neighbours.h"
#include "tests/lab/nccl/operation.h"
#include "tests/lab/nccl/profiler.h"

namespace chokepoint::lab {

class Proxy {
 public:
  Proxy(Neighbours& neighbours, Profiler& profiler, Board& board, int ranks, int rank);

  // Until all of it has moved and its kernel is over. False where a neighbour is gone.
  bool work(Operation& operation);

 private:
  // One way of one operation.
  struct Way {
    void* proxy = nullptr;
    void* step = nullptr;
    std::uint64_t done = 0;
    std::uint64_t step_end = 0;
    bool has_data = false;  // the step sends
  };

  bool send(Way& way, std::uint64_t upto);
  bool receive(Way& way, std::uint64_t upto, bool has_begun);
  void begin_step(Way& way, nccl::State state);
  void end_steps(bool has_begun);

  Neighbours& neighbours_;
  Profiler& profiler_;
  Board& board_;
  std::uint64_t ranks_;
  int rank_;
  std::uint64_t total_ = 0;  // of the operation, each way
  std::vector<void*> held_;  // received, but the GPU has not taken them yet
  std::vector<char> buffer_;
};

}  // namespace chokepoint::lab
