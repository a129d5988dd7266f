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

bool has_failed(ssize_t moved) {
  return moved == 0 || (moved < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace

Proxy::Proxy(Neighbours& neighbours, Profiler& profiler, Board& board, int ranks, int rank)
    : neighbours_(neighbours),
      profiler_(profiler),
      board_(board),
      ranks_(static_cast<std::uint64_t>(ranks)),
      rank_(rank),
      buffer_(kSlice) {}

void Proxy::begin_step(Way& way, nccl::State state) {
  way.step = profiler_.start_step(way.proxy, static_cast<int>(way.done / kSlice));
  way.step_end = std::min(way.done + kSlice, total_);
  way.has_data = false;
  profiler_.change(way.step, state);
}

bool Proxy::send(Way& way, std::uint64_t upto) {
  if (way.step_end == way.done && way.done < total_) {
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
  const ssize_t sent =
      ::send(neighbours_.next.get(), buffer_.data(), end - way.done, MSG_NOSIGNAL | MSG_DONTWAIT);
  way.done += sent > 0 ? static_cast<std::uint64_t>(sent) : 0;
  if (way.done == way.step_end) {
    profiler_.stop(way.step);
  }
  return !has_failed(sent);
}

bool Proxy::receive(Way& way, std::uint64_t upto, bool has_begun) {
  if (way.step_end == way.done && way.done < total_) {
    begin_step(way, nccl::State::ReceiveWait);
  }
  const std::uint64_t end = std::min(way.step_end, upto);
  if (way.done >= end) {
    return true;
  }
  const ssize_t got =
      ::recv(neighbours_.before.get(), buffer_.data(), end - way.done, MSG_DONTWAIT);
  way.done += got > 0 ? static_cast<std::uint64_t>(got) : 0;
  if (way.done == way.step_end) {
    profiler_.change(way.step, nccl::State::ReceiveFlushWait, kSlice);
    profiler_.change(way.step, nccl::State::ReceiveGpuWait);
    held_.push_back(way.step);
    end_steps(has_begun);
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

bool Proxy::work(Operation& operation) {
  const std::uint64_t chunk = operation.bytes / ranks_;
  total_ = 2 * (ranks_ - 1) * chunk;
  const auto steps = static_cast<int>((total_ + kSlice - 1) / kSlice);
  const auto ranks = static_cast<int>(ranks_);
  Way out{.proxy = profiler_.start_proxy(operation.event, true, (rank_ + 1) % ranks, steps)};
  Way in{.proxy =
             profiler_.start_proxy(operation.event, false, (rank_ + ranks - 1) % ranks, steps)};
  void* kernel = nullptr;
  bool has_begun = false;
  while (out.done < total_ || in.done < total_ || !has_begun) {
    if (const auto begin_ns = board_.look([&] { return operation.gpu_begin_ns; });
        begin_ns != 0 && !has_begun) {
      has_begun = true;
      kernel = profiler_.start_kernel(operation.event, begin_ns);
      end_steps(true);
    }
    const std::uint64_t receivable = has_begun ? total_ : std::min(total_, kAhead);
    if (!receive(in, receivable, has_begun)) {
      return false;
    }
    // Each round sends on what the round before received and reduced.
    const std::uint64_t sendable =
        has_begun ? std::min(total_, chunk + in.done / chunk * chunk) : 0;
    if (!send(out, sendable)) {
      return false;
    }
    pollfd ready[2] = {{neighbours_.next.get(), POLLOUT, 0}, {neighbours_.before.get(), POLLIN, 0}};
    ready[0].fd = out.done < sendable ? ready[0].fd : -1;
    ready[1].fd = in.done < receivable ? ready[1].fd : -1;
    if (out.done < total_ || in.done < total_ || !has_begun) {
      ::poll(ready, 2, kSoonMs);
    }
  }
  profiler_.stop(out.proxy);
  profiler_.stop(in.proxy);
  board_.set([&] { operation.is_moved = true; });
  board_.wait([&] { return operation.gpu_end_ns != 0; });
  profiler_.stop_kernel(kernel, operation.gpu_end_ns);
  return true;
}

}  // namespace chokepoint::lab
