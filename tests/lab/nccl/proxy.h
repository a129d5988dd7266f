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
  // Takes what another host has sent for the operation, whose kernel has not begun: of a message as
  // pass() is to receive it. False where a neighbour is gone.
  bool reduce_ahead(const Operation& operation);
  bool pass_ahead(const Operation& operation, bool is_next);
  bool awaits_more(const Operation& operation) const;
  // Waits until its kernel is over.
  void end(Operation& operation);

 private:
  // One way of one operation.
  struct Way {
    int socket = -1;
    std::uint64_t total = 0;
    std::uint64_t slice = 0;  // in one step
    void* proxy = nullptr;
    void* step = nullptr;
    std::uint64_t done = 0;
    std::uint64_t step_end = 0;
    bool has_data = false;  // the step sends
  };

  Way ring(const Operation& operation, bool is_send);
  Way message(const Operation& operation, bool is_send, bool is_next);
  Way way(Way made, const Operation& operation, bool is_send, bool is_next);
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
  const Operation* receiving_ = nullptr;  // whose data it takes before its kernel begins
  Way in_ = {};                           // of that
  std::vector<void*> held_;               // received, but the GPU has not taken them yet
};

}  // namespace chokepoint::lab
