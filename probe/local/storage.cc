#include "probe/local/storage.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>

#include "base/math/histogram.h"
#include "base/math/units.h"
#include "base/sys/pages.h"
#include "base/sys/thread.h"
#include "probe/local/storage_file.h"

namespace chokepoint::probe::storage {
namespace {

constexpr std::uint64_t kBlock = std::uint64_t{1} << 20;
constexpr std::uint64_t kSmall = 4096;
constexpr std::uint64_t kSyncedBytes = std::uint64_t{32} << 20;
constexpr std::uint64_t kMaxSyncs = 100'000;

// `done`: what the call returned; a short one leaves errno as it was.
Error failed(std::string_view operation, const Plan& plan, ssize_t done = -1) {
  return from_errno(done < 0 ? errno : EIO, operation, plan.folder.string());
}

// Until the time is over or the user asks to stop.
class Deadline {
 public:
  Deadline(const Plan& plan, const sys::Clock& clock)
      : plan_(plan), clock_(clock), began_ns_(clock.monotonic_ns()) {}

  bool is_over() const { return elapsed_ns() >= plan_.time.count() || plan_.stopped(); }
  std::int64_t elapsed_ns() const { return clock_.monotonic_ns() - began_ns_; }
  double seconds() const {
    return std::max(static_cast<double>(elapsed_ns()), 1.0) / math::kNsPerSecond;
  }

 private:
  const Plan& plan_;
  const sys::Clock& clock_;
  std::int64_t began_ns_;
};

double mb_per_s(std::uint64_t bytes, const Deadline& deadline) {
  return static_cast<double>(bytes) / math::kMega / deadline.seconds();
}

// Differs from block to block, and does not compress.
void fill(std::span<std::byte> bytes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= bytes.size();
       at += sizeof(std::uint64_t)) {
    const std::uint64_t value = random();
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
}

// A page of each block is new; to make all of it anew would take longer than a fast disk.
void refresh(std::span<std::byte> block, std::uint64_t number) {
  for (std::size_t at = 0; at < block.size(); at += kSmall) {
    std::memcpy(block.data() + at, &number, sizeof number);
  }
}

class Survey {
 public:
  Survey(const Plan& plan, const sys::Clock& clock, sys::Descriptor file, sys::Pages memory)
      : plan_(plan), clock_(clock), file_(std::move(file)), memory_(std::move(memory)) {
    outcome_.folder = plan.folder.string();
    fill(block(), plan.bytes);
  }

  documents::ProbeStorage run(std::uint64_t most_bytes) {
    note("writing", [&] { return write(most_bytes); });
    if (outcome_.file_bytes >= kSmall) {
      note("small synced writes", [&] { return sync_small(); });
      note("reading", [&] { return read(); });
      note("random reads", [&] { return read_anywhere(1); });
      if (plan_.threads > 1) {
        note("random reads of several threads", [&] { return read_anywhere(plan_.threads); });
      }
    }
    outcome_.interrupted = plan_.stopped();
    return std::move(outcome_);
  }

 private:
  std::span<std::byte> block() const { return memory_.bytes().first(kBlock); }

  void note(const std::string& what, const std::function<Result<>()>& step) {
    if (plan_.stopped()) {
      return;
    }
    plan_.on_step(what);
    if (const Result<> done = step(); !done) {
      outcome_.problems.push_back(describe(done.error()));
    }
  }

  Result<> write(std::uint64_t most_bytes) {
    const Deadline deadline(plan_, clock_);
    std::uint64_t unsynced = 0;
    while (outcome_.file_bytes < most_bytes && !deadline.is_over()) {
      const std::uint64_t length = std::min(kBlock, most_bytes - outcome_.file_bytes);
      refresh(block(), outcome_.file_bytes);
      const ssize_t written =
          pwrite(file_.get(), block().data(), length, static_cast<off_t>(outcome_.file_bytes));
      if (written <= 0) {
        return fail(failed("write", plan_, written));
      }
      outcome_.file_bytes += static_cast<std::uint64_t>(written);
      unsynced += static_cast<std::uint64_t>(written);
      if (unsynced >= kSyncedBytes) {
        TRY(sync());
        unsynced = 0;
      }
    }
    TRY(sync());
    outcome_.write_mb_per_s = mb_per_s(outcome_.file_bytes, deadline);
    return {};
  }

  Result<> sync() const {
    return fdatasync(file_.get()) == 0 ? Result<>() : fail(failed("sync", plan_));
  }

  Result<> sync_small() {
    const Deadline deadline(plan_, clock_);
    math::Histogram latencies;
    const std::uint64_t places = outcome_.file_bytes / kSmall;
    while (latencies.count() < kMaxSyncs && !deadline.is_over()) {
      refresh(block().first(kSmall), latencies.count());
      const auto at = static_cast<off_t>(latencies.count() % places * kSmall);
      const std::int64_t began_ns = clock_.monotonic_ns();
      const ssize_t written = pwrite(file_.get(), block().data(), kSmall, at);
      if (written != static_cast<ssize_t>(kSmall)) {
        return fail(failed("write", plan_, written));
      }
      TRY(sync());
      latencies.add(static_cast<std::uint64_t>(clock_.monotonic_ns() - began_ns));
    }
    if (latencies.count() > 0) {
      outcome_.sync_ms = latencies.distribution(math::kNsPerMs);
    }
    return {};
  }

  Result<> read() {
    make_cold(file_);
    outcome_.read_cold = is_cold(file_, outcome_.file_bytes);
    const Deadline deadline(plan_, clock_);
    std::uint64_t bytes = 0;
    while (bytes < outcome_.file_bytes && !deadline.is_over()) {
      const ssize_t got = pread(file_.get(), block().data(), kBlock, static_cast<off_t>(bytes));
      if (got <= 0) {
        return fail(failed("read", plan_, got));
      }
      bytes += static_cast<std::uint64_t>(got);
    }
    outcome_.read_mb_per_s = mb_per_s(bytes, deadline);
    return {};
  }

  Result<> read_anywhere(std::size_t threads) {
    const sys::Descriptor direct = opened_directly(file_);
    outcome_.random_direct = static_cast<bool>(direct);
    if (!direct) {
      make_cold(file_);
      posix_fadvise(file_.get(), 0, 0, POSIX_FADV_RANDOM);
    }
    const int file = direct ? direct.get() : file_.get();
    const Deadline deadline(plan_, clock_);
    math::Histogram all;
    std::optional<Error> error;
    std::mutex mutex;
    std::vector<std::thread> readers;
    for (std::size_t number = 0; number < threads; ++number) {
      Result<std::thread> reader = sys::start_thread("storage-read", [&, number] {
        math::Histogram latencies;
        const Result<> done = read_until(deadline, file, number, latencies);
        const std::lock_guard lock(mutex);
        all.merge(latencies);
        if (!done) {
          error = done.error();
        }
      });
      if (!reader) {
        const std::lock_guard lock(mutex);
        error = reader.error();
        break;
      }
      readers.push_back(std::move(*reader));
    }
    for (std::thread& reader : readers) {
      reader.join();
    }
    if (all.count() > 0 && readers.size() == threads) {
      outcome_.random_reads.push_back(
          {.threads = threads,
           .per_s = static_cast<double>(all.count()) / deadline.seconds(),
           .latency_ms = all.distribution(math::kNsPerMs)});
    }
    return error ? fail(*error) : Result<>();
  }

  // Each thread has a page of the memory of its own.
  Result<> read_until(const Deadline& deadline, int file, std::size_t number,
                      math::Histogram& latencies) const {
    std::byte* const page = memory_.data() + kBlock + number * kSmall;
    std::mt19937_64 random(number);
    const std::uint64_t places = outcome_.file_bytes / kSmall;
    while (!deadline.is_over()) {
      const auto at = static_cast<off_t>(random() % places * kSmall);
      const std::int64_t began_ns = clock_.monotonic_ns();
      const ssize_t got = pread(file, page, kSmall, at);
      if (got != static_cast<ssize_t>(kSmall)) {
        return fail(failed("read", plan_, got));
      }
      latencies.add(static_cast<std::uint64_t>(clock_.monotonic_ns() - began_ns));
    }
    return {};
  }

  const Plan& plan_;
  const sys::Clock& clock_;
  sys::Descriptor file_;
  sys::Pages memory_;  // a block, and a page for each thread
  documents::ProbeStorage outcome_;
};

}  // namespace

Result<documents::ProbeStorage> measure(const Plan& plan, const sys::Clock& clock) {
  TRY(const Room room, room_of(plan.folder));
  TRY(const std::uint64_t most_bytes, file_bytes(room, plan.bytes, plan.folder));
  TRY(sys::Descriptor file, make_file(plan.folder));
  TRY(sys::Pages memory, sys::Pages::map(kBlock + plan.threads * kSmall, {}));
  Survey survey(plan, clock, std::move(file), std::move(memory));
  documents::ProbeStorage outcome = survey.run(most_bytes);
  if (!outcome.write_mb_per_s && !outcome.interrupted) {
    return fail(ErrorKind::Io, "", "", outcome.problems.front());
  }
  return outcome;
}

}  // namespace chokepoint::probe::storage
