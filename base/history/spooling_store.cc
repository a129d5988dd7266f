#include "base/history/spooling_store.h"

#include <fmt/format.h>

namespace chokepoint::history {
namespace {

using Clock = std::chrono::steady_clock;

// What is wrong with a batch, or with what the user typed, does not pass by waiting.
bool may_pass(ErrorKind kind) { return kind != ErrorKind::Usage && kind != ErrorKind::Malformed; }

}  // namespace

Result<std::int64_t> SpoolingStore::add(const Batch& batch) {
  if (!failed_) {
    const auto added = [&]() -> Result<std::int64_t> {
      TRY(Store * store, connected());
      return store->add(batch);
    }();
    if (added || !may_pass(added.error().kind)) {
      return added;
    }
    failed_ = added.error();
    store_.reset();
  }
  return keep(batch, *failed_);
}

Result<Store*> SpoolingStore::connected() {
  if (failed_) {
    return fail(*failed_);
  }
  if (!store_) {
    TRY(store_, connect_());
    TRY(hand_over(*store_));
  }
  return store_.get();
}

// A file that cannot be read is no reason to add nothing.
Result<> SpoolingStore::hand_over(Store& store) const {
  std::error_code ignored;
  if (spooling_.file.empty() || !std::filesystem::exists(spooling_.file, ignored)) {
    return {};
  }
  auto spool = Spool::open(spooling_.file, spooling_.max_bytes);
  const Clock::time_point until = Clock::now() + spooling_.most_handing_over;
  std::int64_t last = 0;
  while (spool && Clock::now() < until) {
    const auto waiting = spool->next(spooling_.target, last);
    if (!waiting || !*waiting) {
      return {};
    }
    last = (*waiting)->id;
    const auto added = store.add((*waiting)->batch);
    if (!added && may_pass(added.error().kind)) {
      return fail(added.error());
    }
    if (!spool->remove(last)) {
      return {};
    }
  }
  return {};
}

std::unexpected<Error> SpoolingStore::keep(const Batch& batch, Error reason) const {
  if (spooling_.file.empty()) {
    return fail(std::move(reason));
  }
  const auto kept = [&]() -> Result<> {
    TRY(Spool spool, Spool::open(spooling_.file, spooling_.max_bytes));
    return spool.put(spooling_.target, batch);
  }();
  const std::string file = spooling_.file.string();
  reason.next_step =
      kept ? fmt::format("kept in {}, and added when the server is reached next", file)
           : fmt::format("not kept either, in {}: {}; {}", file, kept.error().reason,
                         reason.next_step);
  return fail(std::move(reason));
}

Result<std::vector<MeasuredSeries>> SpoolingStore::read(const Wanted& wanted) {
  TRY(Store * store, connected());
  return store->read(wanted);
}

Result<std::vector<StateSpan>> SpoolingStore::states() {
  TRY(Store * store, connected());
  return store->states();
}

Result<std::int64_t> SpoolingStore::prune(std::int64_t before_ns) {
  TRY(Store * store, connected());
  return store->prune(before_ns);
}

Result<std::int64_t> SpoolingStore::thin(std::int64_t before_ns) {
  TRY(Store * store, connected());
  return store->thin(before_ns);
}

}  // namespace chokepoint::history
