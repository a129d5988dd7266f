#include "tests/lab/nccl/proxy.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace chokepoint::lab {
namespace {

constexpr std::uint64_t kSlice = std::uint64_t{1} << 19U;
constexpr std::uint64_t kAhead = 8 * kSlice;  // what a receiver takes before its kernel begins
constexpr int kSoonMs = 1;

// One for all communicators of a thread.
char* buffer() {
  thread_local std::vector<char> made(kSlice);
  return made.data();
}

bool has_failed(ssize_t moved) {
  return moved == 0 || (moved < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace

Proxy::Proxy(Neighbours& neighbours, Profiler& profiler, Board& board, int ranks, int rank,
             Distant distant)
    : neighbours_(neighbours),
      profiler_(profiler),
      board_(board),
      ranks_(static_cast<std::uint64_t>(ranks)),
      rank_(rank),
      distant_(distant) {}

void Proxy::begin_step(Way& way, nccl::State state) {
  if (way.done == way.total) {
    return;
  }
  way.step = way.proxy == nullptr
                 ? nullptr
                 : profiler_.start_step(way.proxy, static_cast<int>(way.done / way.slice));
  way.step_end = std::min(way.done + way.slice, way.total);
  way.has_data = false;
  profiler_.change(way.step, state);
}

bool Proxy::send(Way& way, std::uint64_t upto) {
  if (way.done == 0 && way.step_end == 0) {
    begin_step(way, nccl::State::SendGpuWait);
  }
  const std::uint64_t end = std::min(way.step_end, upto);
  if (way.done >= end) {
    return true;
  }
  if (!way.has_data) {
    way.has_data = true;
    profiler_.change(way.step, nccl::State::SendPeerWait);
    profiler_.change(way.step, nccl::State::SendWait, way.step_end - way.done);
  }
  const ssize_t sent = ::send(way.socket, buffer(), end - way.done, MSG_NOSIGNAL | MSG_DONTWAIT);
  way.done += sent > 0 ? static_cast<std::uint64_t>(sent) : 0;
  if (way.done == way.step_end) {
    profiler_.stop(way.step);
    begin_step(way, nccl::State::SendGpuWait);
  }
  return !has_failed(sent);
}

bool Proxy::receive(Way& way, std::uint64_t upto, bool has_begun) {
  if (way.done == 0 && way.step_end == 0) {
    begin_step(way, nccl::State::ReceiveWait);
  }
  const std::uint64_t end = std::min(way.step_end, upto);
  if (way.done >= end) {
    return true;
  }
  const ssize_t got = ::recv(way.socket, buffer(), end - way.done, MSG_DONTWAIT);
  way.done += got > 0 ? static_cast<std::uint64_t>(got) : 0;
  if (way.done == way.step_end) {
    profiler_.change(way.step, nccl::State::ReceiveFlushWait, way.slice);
    profiler_.change(way.step, nccl::State::ReceiveGpuWait);
    held_.push_back(way.step);
    end_steps(has_begun);
    begin_step(way, nccl::State::ReceiveWait);
  }
  return !has_failed(got);
}

void Proxy::end_steps(bool has_begun) {
  for (void* step : has_begun ? held_ : std::vector<void*>()) {
    profiler_.stop(step);
  }
  if (has_begun) {
    held_.clear();
  }
}

// Null: nothing is to move that way now. A kernel that has not begun is looked for again soon.
void Proxy::wait_for(const Way* sending, const Way* receiving, bool has_begun) const {
  pollfd ready[2] = {{sending == nullptr ? -1 : sending->socket, POLLOUT, 0},
                     {receiving == nullptr ? -1 : receiving->socket, POLLIN, 0}};
  ::poll(ready, 2, has_begun ? -1 : kSoonMs);
}

Proxy::Way Proxy::ring(const Operation& operation, bool is_send) {
  const std::uint64_t chunk = operation.bytes / ranks_;
  return way({.socket = (is_send ? neighbours_.next : neighbours_.before).get(),
              .total = 2 * (ranks_ - 1) * chunk,
              .slice = std::min(chunk, kSlice)},
             operation, is_send, is_send);
}

Proxy::Way Proxy::message(const Operation& operation, bool is_send, bool is_next) {
  return way({.socket = (is_next ? neighbours_.next : neighbours_.before).get(),
              .total = operation.bytes,
              .slice = kSlice},
             operation, is_send, is_next);
}

// Of a peer on this host nothing is told.
Proxy::Way Proxy::way(Way made, const Operation& operation, bool is_send, bool is_next) {
  if (is_next ? distant_.next : distant_.before) {
    const auto ranks = static_cast<int>(ranks_);
    const int peer = (rank_ + ranks + (is_next ? 1 : -1)) % ranks;
    const auto steps = static_cast<int>((made.total + made.slice - 1) / made.slice);
    made.proxy = profiler_.start_proxy(operation.event, is_send, peer, steps);
  }
  return made;
}

bool Proxy::awaits_more(const Operation& operation) const {
  return receiving_ != &operation || in_.done < std::min(in_.total, kAhead);
}

bool Proxy::reduce_ahead(const Operation& operation) {
  if (receiving_ != &operation) {
    in_ = ring(operation, false);
    receiving_ = &operation;
  }
  return receive(in_, std::min(in_.total, kAhead), false);
}

bool Proxy::pass_ahead(const Operation& operation, bool is_next) {
  if (receiving_ != &operation) {
    in_ = message(operation, false, is_next);
    receiving_ = &operation;
  }
  return receive(in_, std::min(in_.total, kAhead), false);
}

bool Proxy::reduce(Operation& operation) {
  const std::uint64_t chunk = operation.bytes / ranks_;
  Way out = ring(operation, true);
  Way in = receiving_ == &operation ? in_ : ring(operation, false);
  receiving_ = nullptr;
  bool has_begun = false;
  while (out.done < out.total || in.done < in.total || !has_begun) {
    if (const auto begin_ns = board_.look([&] { return operation.gpu_begin_ns; });
        begin_ns != 0 && !has_begun) {
      has_begun = true;
      operation.kernel = profiler_.start_kernel(operation.event, begin_ns);
      end_steps(true);
    }
    const std::uint64_t receivable = has_begun ? in.total : std::min(in.total, kAhead);
    if (!receive(in, receivable, has_begun)) {
      return false;
    }
    // Each round sends on what the round before received and reduced.
    const std::uint64_t sendable =
        has_begun ? std::min(out.total, chunk + in.done / chunk * chunk) : 0;
    if (!send(out, sendable)) {
      return false;
    }
    if (out.done < out.total || in.done < in.total || !has_begun) {
      wait_for(out.done < sendable ? &out : nullptr, in.done < receivable ? &in : nullptr,
               has_begun);
    }
  }
  profiler_.stop(out.proxy);
  profiler_.stop(in.proxy);
  board_.set([&] { operation.is_moved = true; });
  return true;
}

bool Proxy::pass(Operation& operation, bool is_send, bool is_next) {
  operation.kernel = profiler_.start_kernel(operation.event, operation.gpu_begin_ns);
  const bool has_begun = !is_send && receiving_ == &operation;
  Way way = has_begun ? in_ : message(operation, is_send, is_next);
  if (has_begun) {
    receiving_ = nullptr;
    end_steps(true);
  }
  while (way.done < way.total) {
    if (!(is_send ? send(way, way.total) : receive(way, way.total, true))) {
      return false;
    }
    if (way.done < way.total) {
      wait_for(is_send ? &way : nullptr, is_send ? nullptr : &way, true);
    }
  }
  profiler_.stop(way.proxy);
  board_.set([&] { operation.is_moved = true; });
  return true;
}

void Proxy::end(Operation& operation) {
  board_.wait([&] { return operation.gpu_end_ns != 0; });
  profiler_.stop_kernel(operation.kernel, operation.gpu_end_ns);
}

}  // namespace chokepoint::lab
