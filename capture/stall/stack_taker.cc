#include "capture/stall/stack_taker.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "capture/stall/kernel_stacks.h"
#include "capture/stall/py_spy.h"

namespace chokepoint::capture::stall {
namespace {

// Judgements. py-spy takes some tenths of a second where the process has many libraries.
constexpr int kMaxLooks = 3;
constexpr std::int64_t kLookIntervalNs = 60'000'000'000;
constexpr std::size_t kMaxRanksLookedAt = 16;
constexpr std::int64_t kMaxDumpNs = 5'000'000'000;
constexpr std::int64_t kMaxEndNs = 1'000'000'000;  // of what was killed and hangs in the kernel
constexpr std::chrono::milliseconds kReaped{50};
constexpr std::size_t kMaxRemarkBytes = 200;

std::string first_line_of(std::string_view text) {
  return cleaned(text.substr(0, text.find('\n')), kMaxRemarkBytes);
}

}  // namespace

void StackTaker::look(const record::Stall& stall, std::int64_t now_ns) {
  const bool is_busy = dumping_.has_value() || !waiting_.empty();
  if (is_busy || looks_ == kMaxLooks || (looks_ > 0 && now_ns - looked_ns_ < kLookIntervalNs)) {
    return;
  }
  ++looks_;
  looked_ns_ = now_ns;
  std::vector<const record::StallRank*> ranks;
  for (const record::StallRank& rank : stall.ranks) {
    ranks.push_back(&rank);
  }
  std::ranges::stable_sort(ranks, std::greater<>(), &record::StallRank::does);
  ranks.resize(std::min(ranks.size(), kMaxRanksLookedAt));
  for (const record::StallRank* rank : ranks) {
    waiting_.push_back({.number = rank->rank, .pid = rank->pid});
  }
}

void StackTaker::poll(std::int64_t now_ns) {
  if (dumping_) {
    if (!has_ended(*dumping_, now_ns)) {
      return;
    }
    finish(*dumping_);
    dumping_.reset();
  }
  if (!waiting_.empty()) {
    const Rank rank = waiting_.front();
    waiting_.pop_front();
    begin(rank, now_ns);
  }
}

void StackTaker::end_stall() {
  if (dumping_) {
    std::ignore = dumping_->child.process.signal(SIGKILL);
    std::ignore = dumping_->child.process.wait_until(std::chrono::steady_clock::now() + kReaped);
    dumping_.reset();
  }
  waiting_.clear();
  looks_ = 0;
}

void StackTaker::begin(const Rank& rank, std::int64_t now_ns) {
  record::Stacks stacks = kernel_stacks(root_, rank.pid);
  stacks.rank = rank.number;
  auto child = sys::start_child({.command = py_spy_command(rank.pid)}, "read stacks");
  if (!child) {
    stacks.remark = first_line_of(describe(child.error()));
    write(stacks, now_ns);
    return;
  }
  dumping_.emplace(
      Dumping{.child = std::move(*child), .stacks = std::move(stacks), .t_ns = now_ns});
}

// Also of one that was killed and does not end.
bool StackTaker::has_ended(Dumping& dumping, std::int64_t now_ns) const {
  const auto status = dumping.child.process.poll();
  dumping.child.out.take(dumping.out, kMaxDumpBytes);
  dumping.child.err.take_last(dumping.err);
  if (!status || *status) {
    const bool is_good = status && (**status).code == 0;
    if (dumping.failed.empty() && !is_good) {
      dumping.failed = "py-spy: " + first_line_of(dumping.err);
    }
    return true;
  }
  const bool is_late = now_ns - dumping.t_ns >= kMaxDumpNs;
  if (is_late || dumping.out.size() > kMaxDumpBytes) {
    dumping.failed = is_late ? "py-spy took too long" : "py-spy printed too much";
    std::ignore = dumping.child.process.signal(SIGKILL);
  }
  return now_ns - dumping.t_ns >= kMaxDumpNs + kMaxEndNs;
}

void StackTaker::finish(Dumping& dumping) {
  if (dumping.failed.empty()) {
    auto threads = threads_in_dump(dumping.out);
    if (threads) {
      add_python(dumping.stacks, *std::move(threads));
    } else {
      dumping.failed = first_line_of(describe(threads.error()));
    }
  }
  dumping.stacks.remark = dumping.failed;
  write(dumping.stacks, dumping.t_ns);
}

// A thread of Python is described whether or not it is idle.
void StackTaker::add_python(record::Stacks& stacks,
                            std::vector<record::StackThread> threads) const {
  stacks.source = record::StackSource::PySpy;
  // In a container Python has the number that the thread has there.
  const bool has_id = std::ranges::count(threads, stacks.pid, &record::StackThread::id) > 0;
  for (record::StackThread& thread : threads) {
    const bool is_first = has_id ? thread.id == stacks.pid : thread.name == "MainThread";
    const auto known = is_first
                           ? stacks.threads.begin()
                           : std::ranges::find(stacks.threads, thread.id, &record::StackThread::id);
    if (thread.id != 0 && known == stacks.threads.end()) {
      record::StackThread kernels = kernel_thread(root_, stacks.pid, thread.id);
      std::swap(kernels.frames, thread.frames);
      kernels.name = thread.name.empty() ? kernels.name : thread.name;
      stacks.threads.push_back(std::move(kernels));
      stacks.idle_threads = std::max<std::int64_t>(stacks.idle_threads - 1, 0);
    } else if (known == stacks.threads.end()) {
      stacks.threads.push_back(std::move(thread));
    } else {
      known->frames = std::move(thread.frames);
      known->name = thread.name.empty() ? known->name : thread.name;
    }
  }
}

void StackTaker::write(const record::Stacks& stacks, std::int64_t t_ns) {
  writer_.add(record::Event{.t_ns = t_ns,
                            .kind = std::string(record::kStacks),
                            .subject = stacks.rank ? fmt::format("rank {}", *stacks.rank)
                                                   : fmt::format("process {}", stacks.pid),
                            .detail = record::text_of(stacks)});
}

}  // namespace chokepoint::capture::stall
