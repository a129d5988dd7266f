// What NCCL's proxy thread does for a ring all-reduce, or for a message: moves the slices of an
// operation over its connections, and tells the profiler what each of them waits for. Of a
// connection that stays in the host NCCL's proxy tells nothing.
#pragma once

#include <vector>

#include "tests/lab/nccl/neighbours.h"
#include "tests/lab/nccl/operation.h"
#include "tests/lab/nccl/profiler.h"

namespace chokepoint::lab {

// Which of the two neighbours is on another host.
struct Distant {
  bool next = true;
  bool before = true;
};

class Proxy {
 public:
  Proxy(Neighbours& neighbours, Profiler& profiler, Board& board, int ranks, int rank,
        Distant distant = {});

  // Until all of it has moved. False where a neighbour is gone.
  bool reduce(Operation& operation);
  // The same for a message to the next rank or the one before, or from it. Its kernel has begun.
  bool pass(Operation& operation, bool is_send, bool is_next);
  // Waits until its kernel is over.
  void end(Operation& operation);

 private:
  // One way of one operation.
  struct Way {
    int socket = -1;
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
  void wait_for(const Way* sending, const Way* receiving, bool has_begun) const;

  Neighbours& neighbours_;
  Profiler& profiler_;
  Board& board_;
  std::uint64_t ranks_;
  int rank_;
  Distant distant_;
  std::uint64_t total_ = 0;  // of the operation, each way
  std::vector<void*> held_;  // received, but the GPU has not taken them yet
};

}  // namespace chokepoint::lab
