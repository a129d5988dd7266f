// usage: lab_nccl RANK RANKS OWN_ADDRESS NEXT_ADDRESS [--steps N] [--buckets N] [--bytes N]
//                 [--compute-ms N] [--late-ms N] [--port N] [--tell 1: how long each step took]
//                 [--absent-step N: that step never begins]
//
// Stands in for a job on NCCL over sockets, on a host without a GPU: a rank of a ring all-reduce
// over real connections, whose "GPU" computes by sleeping and has a clock of its own. It calls the
// profiler plugin as NCCL does, on the threads on which NCCL does:
//
//   program   asks for a step's all-reduces at once, long before they begin; then it is the GPU's
//             stream: a kernel begins when its bucket is computed and the one before is over
//   compute   what a backward pass takes, bucket by bucket; --late-ms more in each step
//   proxy     moves data, and tells the profiler
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>

#include "tests/lab/nccl/proxy.h"

namespace chokepoint::lab {
namespace {

constexpr double kLongMs = 1e6;
constexpr std::uint64_t kCommunicator = 0x6c61625f6e63636c;

struct Asked {
  int rank = 0;
  int ranks = 2;
  std::string own = {};
  std::string next = {};
  std::map<std::string, long> numbers = {
      {"--steps", 100}, {"--buckets", 5},  {"--bytes", 500'000}, {"--compute-ms", 50},
      {"--late-ms", 0}, {"--port", 5'000}, {"--tell", 0},        {"--absent-step", -1}};
  long operator[](const char* name) const { return numbers.at(name); }
  int port_of(int of_rank) const { return static_cast<int>(numbers.at("--port")) + of_rank; }
};

Asked asked_of(int count, char** words) {
  Asked asked{
      .rank = std::atoi(words[1]), .ranks = std::atoi(words[2]), .own = words[3], .next = words[4]};
  for (int place = 5; place + 1 < count; place += 2) {
    asked.numbers.at(words[place]) = std::atol(words[place + 1]);
  }
  return asked;
}

void rest(double ms) { ::usleep(static_cast<useconds_t>(ms * 1e3)); }

class Rank {
 public:
  explicit Rank(const Asked& asked)
      : asked_(asked),
        neighbours_(meet({asked.own, asked.port_of(asked.rank)},
                         {asked.next, asked.port_of((asked.rank + 1) % asked.ranks)})),
        profiler_(kCommunicator, asked.ranks, asked.rank),
        proxy_(neighbours_, profiler_, board_, asked.ranks, asked.rank) {}

  void run() {
    std::thread proxy([this] { move_all(); });
    std::uint64_t sequence = 0;
    for (long step = 0; step < asked_["--steps"]; ++step) {
      const auto began = std::chrono::steady_clock::now();
      while (step == asked_["--absent-step"]) {
        rest(kLongMs);
      }
      Operations operations;
      for (long bucket = 0; bucket < asked_["--buckets"]; ++bucket) {
        operations.push_back(asked_for(sequence++));
      }
      board_.set([&] { queue_ = operations; });
      std::thread compute([&] { this->compute(operations); });
      stream(operations);
      compute.join();
      board_.wait([&] { return queue_.empty(); });
      if (asked_["--tell"] != 0) {
        const std::chrono::duration<double, std::milli> took =
            std::chrono::steady_clock::now() - began;
        std::printf("step %ld time %.3fms\n", step, took.count());
        std::fflush(stdout);
      }
    }
    board_.set([this] { is_over_ = true; });
    proxy.join();
  }

 private:
  std::shared_ptr<Operation> asked_for(std::uint64_t sequence) {
    auto operation = std::make_shared<Operation>();
    operation->bytes = static_cast<std::uint64_t>(asked_["--bytes"]);
    operation->event = profiler_.start_collective(sequence, operation->bytes);
    profiler_.stop(operation->event);
    return operation;
  }

  void move_all() {
    while (true) {
      board_.wait([this] { return is_over_ || !queue_.empty(); });
      const auto next = board_.look(
          [this] { return queue_.empty() ? std::shared_ptr<Operation>() : queue_.front(); });
      if (!next) {
        return;
      }
      if (!proxy_.reduce(*next)) {
        std::fprintf(stderr, "a neighbour is gone\n");
        std::_Exit(1);
      }
      proxy_.end(*next);
      board_.set([this] { queue_.pop_front(); });
    }
  }

  void compute(const Operations& operations) {
    constexpr double kForwardShare = 1.0 / 3;
    const auto all_ms = static_cast<double>(asked_["--compute-ms"]);
    rest(all_ms * kForwardShare + static_cast<double>(asked_["--late-ms"]));
    for (const auto& operation : operations) {
      rest(all_ms * (1 - kForwardShare) / static_cast<double>(operations.size()));
      board_.set([&] { operation->is_ready = true; });
    }
  }

  void stream(const Operations& operations) {
    for (const auto& operation : operations) {
      board_.wait([&] { return operation->is_ready; });
      board_.set([&] { operation->gpu_begin_ns = gpu_ns(); });
      board_.wait([&] { return operation->is_moved; });
      board_.set([&] { operation->gpu_end_ns = gpu_ns(); });
    }
  }

  Asked asked_;
  Neighbours neighbours_;
  Board board_;
  Profiler profiler_;
  Proxy proxy_;
  Operations queue_ = {};  // behind the board
  bool is_over_ = false;
};

}  // namespace
}  // namespace chokepoint::lab

int main(int count, char** words) {
  if (count < 5) {
    std::fprintf(stderr,
                 "usage: lab_nccl RANK RANKS OWN_ADDRESS NEXT_ADDRESS [--NAME NUMBER]...\n");
    return 2;
  }
  chokepoint::lab::Rank(chokepoint::lab::asked_of(count, words)).run();
  return 0;
}
