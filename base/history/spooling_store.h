// A history on a server that is not always reached: what cannot be added waits in a spool, and is
// added the next time that the server is reached, by whichever command.
//
//   add(batch) ──▶ server: first what waits, then the batch ──▶ how many were new
//                    │ not reached
//                    └─▶ spool.db ──▶ an Error that says where the batch is kept
//
// One thread at a time.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/history/spool.h"
#include "base/history/store.h"

namespace chokepoint::history {

class SpoolingStore final : public Store {
 public:
  using Connect = std::function<Result<std::unique_ptr<Store>>()>;

  struct Spooling {
    std::string target = {};                       // the server's name, without a password
    std::filesystem::path file = {};               // empty: nothing is kept
    std::chrono::nanoseconds most_handing_over{};  // what waits longer than that is left waiting
    std::int64_t max_bytes = kMaxSpoolBytes;
  };

  // Connects when it is first used; where that fails it is not tried again.
  SpoolingStore(Connect connect, Spooling spooling)
      : connect_(std::move(connect)), spooling_(std::move(spooling)) {}

  Result<std::int64_t> add(const Batch& batch) override;
  Result<std::vector<MeasuredSeries>> read(const Wanted& wanted) override;
  Result<std::vector<StateSpan>> states() override;
  Result<std::int64_t> prune(std::int64_t before_ns) override;
  Result<std::int64_t> thin(std::int64_t before_ns) override;

 private:
  Result<Store*> connected();
  Result<> hand_over(Store& store) const;
  std::unexpected<Error> keep(const Batch& batch, Error reason) const;

  Connect connect_;
  Spooling spooling_;
  std::unique_ptr<Store> store_;
  std::optional<Error> failed_;
};

}  // namespace chokepoint::history
