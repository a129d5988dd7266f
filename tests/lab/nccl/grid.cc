// usage: RANK=R WORLD_SIZE=N lab_nccl_grid ADDRESSES [--tensor N] [--pipeline N] [--steps N]
//            [--batches N] [--layers N] [--forward-ms N] [--buckets N] [--bytes N] [--message N]
//            [--longer N: bytes, by which each message is longer than the one before it]
//            [--late-rank N] [--late-ms N] [--port N] [--tell 1: rank 0 says what each step took]
//
// Stands in for a rank of a large model on NCCL, on a host without a GPU: tensor, data and pipeline
// parallel at once, so in five communicators. ADDRESSES are the hosts', "10.0.0.1,10.0.0.2"; all
// have as many ranks, one after the other. Of rank r with T tensor and D data parallel ranks:
//
//   tensor     r mod T, the fastest; an all-reduce in each layer of each pass
//   data       r / T mod D; gradients are reduced at the step's end, bucket by bucket
//   pipeline   r / (T·D), the stage; activations forward, their gradients back
//   model      all ranks of one copy of the model: tensor and pipeline; a norm, once a step
//   world      once, at the start
//
// What stays in a host passes by Unix sockets, which stand for NVLink: nothing of it is traffic.
// One thread is the program, the GPU and the proxy: it computes by sleeping, receives meanwhile
// what other hosts send, and asks for a step's collectives before the step. So a rank costs as
// little as its data do, and 64 of them fit on two processors.
#include <poll.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/lab/nccl/proxy.h"

namespace chokepoint::lab {
namespace {

using Numbers = std::map<std::string, long>;

long number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? -1 : std::atol(text);
}

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts(1);
  for (const char letter : list) {
    if (letter == ',') {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  return parts;
}

struct Asked {
  long rank = number_in("RANK");
  long ranks = number_in("WORLD_SIZE");
  std::vector<std::string> addresses = {};
  Numbers numbers = {{"--tensor", 4},    {"--pipeline", 2},    {"--steps", 60},
                     {"--batches", 4},   {"--layers", 1},      {"--forward-ms", 20},
                     {"--buckets", 2},   {"--bytes", 200'000}, {"--message", 20'000},
                     {"--longer", 0},    {"--late-rank", -1},  {"--late-ms", 0},
                     {"--port", 20'000}, {"--tell", 0}};

  long operator[](const char* name) const { return numbers.at(name); }
  long tensor() const { return numbers.at("--tensor"); }
  long pipeline() const { return numbers.at("--pipeline"); }
  long data() const { return ranks / tensor() / pipeline(); }
  long host_of(long of_rank) const { return of_rank * static_cast<long>(addresses.size()) / ranks; }
};

// The ranks of a communicator of which this rank is one, in their order.
struct Members {
  long kind = 0;   // a number of its own for each kind of communicator
  long which = 0;  // of those of a kind
  std::vector<long> ranks = {};
  bool is_ring = true;  // else a line
};

// `count` ranks from `first` on, `apart` from each other.
std::vector<long> every(long first, long count, long apart) {
  std::vector<long> ranks;
  for (long place = 0; place < count; ++place) {
    ranks.push_back(first + place * apart);
  }
  return ranks;
}

Members world(const Asked& asked) { return {.kind = 0, .ranks = every(0, asked.ranks, 1)}; }

Members tensor(const Asked& asked) {
  const long which = asked.rank / asked.tensor();
  return {.kind = 1, .which = which, .ranks = every(which * asked.tensor(), asked.tensor(), 1)};
}

Members data(const Asked& asked) {
  const long stage_ranks = asked.tensor() * asked.data();
  const long stage = asked.rank / stage_ranks;
  const long place = asked.rank % asked.tensor();
  return {.kind = 2,
          .which = stage * asked.tensor() + place,
          .ranks = every(stage * stage_ranks + place, asked.data(), asked.tensor())};
}

Members pipeline(const Asked& asked) {
  const long stage_ranks = asked.tensor() * asked.data();
  const long which = asked.rank % stage_ranks;
  return {.kind = 3,
          .which = which,
          .ranks = every(which, asked.pipeline(), stage_ranks),
          .is_ring = false};
}

Members model(const Asked& asked) {
  const long stage_ranks = asked.tensor() * asked.data();
  const long which = asked.rank % stage_ranks / asked.tensor();
  Members members{.kind = 4, .which = which};
  for (const long first : every(which * asked.tensor(), asked.pipeline(), stage_ranks)) {
    for (const long rank : every(first, asked.tensor(), 1)) {
      members.ranks.push_back(rank);
    }
  }
  return members;
}

// As NCCL's are: any 64 bits, the same on all ranks. By splitmix64's last steps.
std::uint64_t hash_of(const Members& members) {
  auto word = static_cast<std::uint64_t>(members.kind << 16 | members.which) + 1;
  word *= 0x9e37'79b9'7f4a'7c15;
  word = (word ^ (word >> 30U)) * 0xbf58'476d'1ce4'e5b9;
  word = (word ^ (word >> 27U)) * 0x94d0'49bb'1331'11eb;
  return word ^ (word >> 31U);
}

using Asking = std::shared_ptr<Operation>;

class Communicator {
 public:
  Communicator(const Asked& asked, Members members)
      : asked_(asked),
        members_(std::move(members)),
        rank_(place_in(members_, asked.rank)),
        neighbours_(meet(listening(), place_of(rank_ + 1))),
        profiler_(hash_of(members_), static_cast<int>(count()), static_cast<int>(rank_)),
        proxy_(neighbours_, profiler_, board_, static_cast<int>(count()), static_cast<int>(rank_),
               {.next = is_distant(rank_ + 1), .before = is_distant(rank_ - 1)}) {}

  long count() const { return static_cast<long>(members_.ranks.size()); }
  bool is_first() const { return rank_ == 0; }
  bool is_last() const { return rank_ + 1 == count(); }

  // What NCCL is told, and what really passes.
  Asking asked_for(std::uint64_t told_bytes, std::uint64_t bytes) {
    auto operation = std::make_shared<Operation>(
        Operation{.bytes = bytes, .event = profiler_.start_collective(sequence_++, told_bytes)});
    profiler_.stop(operation->event);
    note(operation, false, false);
    return operation;
  }

  Asking asked_for_message(bool is_send, bool is_next, std::uint64_t bytes) {
    const long peer = rank_ + (is_next ? 1 : -1);
    auto operation = std::make_shared<Operation>(Operation{
        .bytes = bytes, .event = profiler_.start_message(is_send, static_cast<int>(peer), bytes)});
    profiler_.stop(operation->event);
    if (!is_send) {
      note(operation, true, is_next);
    }
    return operation;
  }

  void reduce(const Asking& operation) {
    forget(operation);
    operation->gpu_begin_ns = gpu_ns();
    over(*operation, proxy_.reduce(*operation));
  }

  void pass(const Asking& operation, bool is_send, bool is_next) {
    forget(operation);
    operation->gpu_begin_ns = gpu_ns();
    over(*operation, proxy_.pass(*operation, is_send, is_next));
  }

  // Where data for what is asked for next may come from another host; -1: nowhere.
  int awaited() const {
    return awaited_.empty() || !proxy_.awaits_more(*awaited_.front().operation)
               ? -1
               : (awaited_.front().is_next ? neighbours_.next : neighbours_.before).get();
  }

  void take_ahead() {
    const Awaited& next = awaited_.front();
    if (!(next.is_message ? proxy_.pass_ahead(*next.operation, next.is_next)
                          : proxy_.reduce_ahead(*next.operation))) {
      give_up();
    }
  }

 private:
  struct Awaited {
    Asking operation;
    bool is_message = false;
    bool is_next = false;
  };

  void note(const Asking& operation, bool is_message, bool is_next) {
    if (is_distant(is_next ? rank_ + 1 : rank_ - 1)) {
      awaited_.push_back({operation, is_message, is_next});
    }
  }

  void forget(const Asking& operation) {
    if (!awaited_.empty() && awaited_.front().operation == operation) {
      awaited_.pop_front();
    }
  }

  [[noreturn]] static void give_up() {
    std::fprintf(stderr, "a neighbour is gone\n");
    std::_Exit(1);
  }

  static long place_in(const Members& members, long rank) {
    long place = 0;
    while (members.ranks[static_cast<std::size_t>(place)] != rank) {
      ++place;
    }
    return place;
  }

  bool is_there(long place) const { return members_.is_ring || (place >= 0 && place < count()); }
  long rank_at(long place) const {
    return members_.ranks[static_cast<std::size_t>((place + count()) % count())];
  }
  bool is_distant(long place) const {
    return is_there(place) && asked_.host_of(rank_at(place)) != asked_.host_of(asked_.rank);
  }

  // Of a rank that listens for the one before it.
  Place place_of(long place) const {
    if (!is_there(place)) {
      return {};
    }
    const long rank = rank_at(place);
    if (asked_.host_of(rank) == asked_.host_of(rank_at(place - 1))) {
      return {.address = "@lab-nccl-grid-" + std::to_string(asked_["--port"]) + "-" +
                         std::to_string(members_.kind) + "-" + std::to_string(rank)};
    }
    return {.address = asked_.addresses[static_cast<std::size_t>(asked_.host_of(rank))],
            .port = static_cast<int>(asked_["--port"] + members_.kind * asked_.ranks + rank)};
  }
  Place listening() const { return is_there(rank_ - 1) ? place_of(rank_) : Place{}; }

  void over(Operation& operation, bool is_whole) {
    if (!is_whole) {
      give_up();
    }
    operation.gpu_end_ns = gpu_ns();
    proxy_.end(operation);
  }

  const Asked& asked_;
  Members members_;
  long rank_;
  Neighbours neighbours_;
  Board board_;
  Profiler profiler_;
  Proxy proxy_;
  std::uint64_t sequence_ = 0;
  std::deque<Awaited> awaited_ = {};  // from other hosts, in the order in which it was asked for
};

// A step of one rank: what it asks for beforehand, in the order in which it comes to it. All
// forward passes of a step go before the backward ones.
class Rank {
 public:
  explicit Rank(const Asked& asked)
      : asked_(asked),
        world_(asked, world(asked)),
        tensor_(asked, tensor(asked)),
        data_(asked, data(asked)),
        pipeline_(asked, pipeline(asked)),
        model_(asked, model(asked)) {}

  void run() {
    constexpr std::uint64_t kFew = 4;
    const Asking all = world_.asked_for(kFew, static_cast<std::uint64_t>(asked_.ranks) * kFew);
    world_.reduce(all);
    for (long step = 0; step < asked_["--steps"]; ++step) {
      const auto began = std::chrono::steady_clock::now();
      for (auto& work : asked_step(step)) {
        work();
      }
      if (asked_["--tell"] != 0 && asked_.rank == 0) {
        const std::chrono::duration<double, std::milli> took =
            std::chrono::steady_clock::now() - began;
        std::printf("step %ld time %.3fms\n", step, took.count());
        std::fflush(stdout);
      }
    }
  }

 private:
  using Works = std::vector<std::function<void()>>;

  Works asked_step(long step) {
    Works works;
    const long first = step * asked_["--batches"];
    for (long batch = 0; batch < asked_["--batches"]; ++batch) {
      add_pass(works, true, first + batch, 0);
    }
    for (long batch = 0; batch < asked_["--batches"]; ++batch) {
      const bool is_late = batch == 0 && asked_.rank == asked_["--late-rank"];
      add_pass(works, false, first + batch, is_late ? asked_["--late-ms"] : 0);
    }
    const auto bytes = static_cast<std::uint64_t>(asked_["--bytes"]);
    for (long bucket = 0; bucket < asked_["--buckets"]; ++bucket) {
      add_collective(works, data_, bytes, bytes);
    }
    add_collective(works, model_, sizeof(float), kLittle);
    return works;
  }

  // The way of micro-batch `number` through this stage: backward takes twice as long as forward.
  void add_pass(Works& works, bool is_forward, long number, long late_ms) {
    constexpr std::uint64_t kActivation = 8 << 20;
    const double all_ms = static_cast<double>(asked_["--forward-ms"]) * (is_forward ? 1 : 2);
    const auto layers = static_cast<double>(asked_["--layers"]);
    if (!(is_forward ? pipeline_.is_first() : pipeline_.is_last())) {
      add_message(works, false, !is_forward, number);
    }
    works.emplace_back([this, late_ms] { compute(static_cast<double>(late_ms)); });
    for (long layer = 0; layer < asked_["--layers"]; ++layer) {
      works.emplace_back([this, ms = all_ms / layers] { compute(ms); });
      add_collective(works, tensor_, kActivation, kLittle);
    }
    if (!(is_forward ? pipeline_.is_last() : pipeline_.is_first())) {
      add_message(works, true, is_forward, number);
    }
  }

  void compute(double ms) {
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                          std::chrono::duration<double, std::milli>(ms));
    for (auto now = Clock::now(); now < until; now = Clock::now()) {
      std::array<Communicator*, 5> all = {&world_, &tensor_, &data_, &pipeline_, &model_};
      std::array<pollfd, 5> ready = {};
      for (std::size_t each = 0; each < all.size(); ++each) {
        ready.at(each) = {all.at(each)->awaited(), POLLIN, 0};
      }
      const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(until - now).count();
      const timespec wait{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
      if (::ppoll(ready.data(), ready.size(), &wait, nullptr) <= 0) {
        continue;
      }
      for (std::size_t each = 0; each < all.size(); ++each) {
        if (ready.at(each).revents != 0) {
          all.at(each)->take_ahead();
        }
      }
    }
  }

  static void add_collective(Works& works, Communicator& communicator, std::uint64_t told_bytes,
                             std::uint64_t bytes) {
    if (communicator.count() > 1) {
      works.emplace_back([&communicator, operation = communicator.asked_for(told_bytes, bytes)] {
        communicator.reduce(operation);
      });
    }
  }

  void add_message(Works& works, bool is_send, bool is_next, long number) {
    const auto bytes =
        static_cast<std::uint64_t>(asked_["--message"] + number * asked_["--longer"]);
    works.emplace_back(
        [this, is_send, is_next, operation = pipeline_.asked_for_message(is_send, is_next, bytes)] {
          pipeline_.pass(operation, is_send, is_next);
        });
  }

  // Enough for a byte from each rank to each other, which makes all wait for the last one.
  static constexpr std::uint64_t kLittle = 256;

  const Asked& asked_;
  Communicator world_;
  Communicator tensor_;
  Communicator data_;
  Communicator pipeline_;
  Communicator model_;
};

Asked asked_of(int count, char** words) {
  Asked asked{.addresses = parts_of(words[1])};
  for (int place = 2; place + 1 < count; place += 2) {
    asked.numbers.at(words[place]) = std::atol(words[place + 1]);
  }
  return asked;
}

bool makes_sense(const Asked& asked) {
  return asked.rank >= 0 && asked.rank < asked.ranks && asked.tensor() > 0 &&
         asked.pipeline() > 0 && asked.data() * asked.tensor() * asked.pipeline() == asked.ranks;
}

}  // namespace
}  // namespace chokepoint::lab

int main(int count, char** words) {
  if (count < 2) {
    std::fprintf(stderr, "usage: RANK=R WORLD_SIZE=N lab_nccl_grid ADDRESSES [--NAME NUMBER]...\n");
    return 2;
  }
  const chokepoint::lab::Asked asked = chokepoint::lab::asked_of(count, words);
  if (!chokepoint::lab::makes_sense(asked)) {
    std::fprintf(stderr, "these ranks make no grid\n");
    return 2;
  }
  chokepoint::lab::Rank(asked).run();
  return 0;
}
