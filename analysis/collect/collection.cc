#include "analysis/collect/collection.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "analysis/collect/sender.h"
#include "base/math/units.h"
#include "base/record/bundle.h"
#include "base/sys/descriptor.h"
#include "base/sys/signals.h"

namespace chokepoint::analysis {

namespace {

constexpr std::size_t kMaxAtOnce = 8;
constexpr std::chrono::milliseconds kProgressInterval{200};

using CollectClock = std::chrono::steady_clock;

// How far a source is, for the thread that waits for it. Written by its thread, read by another.
struct SourceProgress {
  std::atomic<std::uint64_t> bytes = 0;
  std::atomic<CollectClock::time_point> received_at = CollectClock::time_point::max();
  std::atomic<bool> is_open = false;
};

// The records of one source. What ssh prints beside them is no trouble if all came.
Result<> collect_from(const std::vector<std::string>& command, const Source& source,
                      const SenderDeadline& deadline, record::Collector& collector,
                      SourceProgress& progress, CollectOutcome& outcome) {
  TRY(Sender sender, Sender::start(command, deadline));
  record::BundleReader bundle([&](std::span<char> into) -> Result<std::size_t> {
    TRY(const std::size_t count, sender.read(into));
    progress.bytes += count;
    progress.received_at = CollectClock::now();
    return count;
  });
  const auto collected = [&]() -> Result<> {
    TRY(bundle.head());
    for (;;) {
      TRY(const std::optional<record::BundleEntry> entry, bundle.next());
      if (!entry) {
        return {};
      }
      TRY(record::Collected taken, collector.take(bundle, *entry, source.name()));
      outcome.collected.push_back(std::move(taken));
    }
  }();
  // The wait's error is why nothing more came, not what the program printed before.
  const bool is_left = !collected && (collected.error().kind == ErrorKind::Timeout ||
                                      collected.error().kind == ErrorKind::Interrupted);
  if (is_left) {
    return collected;
  }
  const std::string message = sender.message();
  if (!message.empty() && (!collected || sender.has_failed())) {
    outcome.troubles.push_back(fmt::format("{}: {}", source.name(), message));
    return {};
  }
  return collected;
}

// Sources that are collected at the same time, some at once, each by a thread.
class Collecting {
 public:
  using CollectOne = std::function<Result<>(const Source&, SourceProgress&, CollectOutcome&)>;

  Collecting(const std::vector<Source>& sources, CollectOne collect_one)
      : sources_(sources), progress_(sources.size()), collect_one_(std::move(collect_one)) {
    for (std::size_t count = 0; count < std::min(kMaxAtOnce, sources.size()); ++count) {
      threads_.emplace_back([this] { work(); });
    }
  }

  std::size_t done() const { return done_; }
  // "gpu3:runs/a: 12 MB, nothing for 8 s": the one that has been silent longest.
  std::string note() const;
  // Once all are done.
  CollectOutcome take() {
    threads_.clear();
    std::ranges::sort(all_.collected, {}, &record::Collected::file);
    std::ranges::sort(all_.troubles);
    return std::move(all_);
  }

 private:
  void work() {
    for (std::size_t at = next_++; at < sources_.size(); at = next_++) {
      const Source& source = sources_[at];
      SourceProgress& progress = progress_[at];
      progress.received_at = CollectClock::now();
      progress.is_open = true;
      CollectOutcome outcome;
      const Result<> collected = collect_one_(source, progress, outcome);
      progress.is_open = false;
      if (!collected) {
        Error error = collected.error();
        error.operation.clear();
        outcome.troubles.push_back(fmt::format("{}: {}", source.name(), describe(error)));
      }
      const std::lock_guard guard(mutex_);
      std::ranges::move(outcome.collected, std::back_inserter(all_.collected));
      std::ranges::move(outcome.troubles, std::back_inserter(all_.troubles));
      ++done_;
    }
  }

  const std::vector<Source>& sources_;
  std::vector<SourceProgress> progress_;
  CollectOne collect_one_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> done_ = 0;
  std::mutex mutex_;  // all_
  CollectOutcome all_;
  std::vector<std::jthread> threads_;
};

std::string Collecting::note() const {
  std::optional<std::size_t> quietest;
  for (std::size_t at = 0; at < sources_.size(); ++at) {
    if (progress_[at].is_open &&
        (!quietest || progress_[at].received_at.load() < progress_[*quietest].received_at.load())) {
      quietest = at;
    }
  }
  if (!quietest) {
    return "";
  }
  const auto silent = std::chrono::floor<std::chrono::seconds>(
      CollectClock::now() - progress_[*quietest].received_at.load());
  return fmt::format("{}: {}{}", sources_[*quietest].name(),
                     math::format_bytes(static_cast<double>(progress_[*quietest].bytes.load())),
                     silent.count() > 0 ? fmt::format(", nothing for {} s", silent.count()) : "");
}

}  // namespace

// Ctrl-C ends the requests to other hosts, too: they are not of this terminal's process group.
Result<CollectOutcome> collect(const std::vector<Source>& sources, record::Collector& collector,
                               const CommandFor& command_for, std::chrono::nanoseconds max_silence,
                               const cli::Context& context) {
  TRY(const sys::Signals signals, sys::Signals::watch_for_end());
  const sys::Descriptor interrupt(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const SenderDeadline deadline{.silence = max_silence, .interrupt = interrupt.get()};
  cli::Progress progress(context, "collecting", sources.size());
  Collecting collecting(
      sources, [&](const Source& source, SourceProgress& own, CollectOutcome& outcome) {
        return collect_from(command_for(source), source, deadline, collector, own, outcome);
      });
  while (collecting.done() < sources.size()) {
    pollfd ended{.fd = signals.descriptor(), .events = POLLIN, .revents = 0};
    if (poll(&ended, 1, static_cast<int>(kProgressInterval.count())) > 0) {
      eventfd_write(interrupt.get(), 1);
      return fail(ErrorKind::Interrupted, "", "", "interrupted",
                  "collect again: what came is kept");
    }
    progress.update(collecting.done(), collecting.note());
  }
  return collecting.take();
}

}  // namespace chokepoint::analysis
