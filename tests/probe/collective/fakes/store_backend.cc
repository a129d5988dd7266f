#include "tests/probe/collective/fakes/store_backend.h"

#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "probe/collective/pattern.h"

namespace chokepoint::fakes {
namespace {

using namespace probe::collective;

class ByStore final : public Communicator {
 public:
  ByStore(const RankPosition& position, Store& store, std::string trouble)
      : position_(position),
        store_(store),
        trouble_(position.rank == 1 ? std::move(trouble) : "") {}

  Result<> prepare(const Operation& operation) override {
    operation_ = operation;
    return {};
  }

  Result<> write_input(std::span<const std::byte> bytes) override {
    input_.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }

  Result<std::vector<double>> run(int times) override {
    std::vector<double> took;
    for (int i = 0; i < times; ++i) {
      const auto begun = std::chrono::steady_clock::now();
      if (const Result<> done = once(); !done) {
        return std::unexpected(done.error());
      }
      took.push_back(
          std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun)
              .count());
    }
    return took;
  }

  Result<> read_output(std::span<std::byte> bytes) const override {
    std::memcpy(bytes.data(), output_.data(), std::min(bytes.size(), output_.size()));
    if (trouble_ == "damage") {
      bytes.back() ^= std::byte{1};
    }
    return {};
  }

  DataPath data_path() const override {
    return {.library = "by store", .transport = "tcp", .interface = "lo", .sockets_per_peer = 1};
  }

 private:
  Result<> once() {
    if (trouble_ == "fail") {
      return chokepoint::fail(ErrorKind::Io, "all-reduce", "lo", "so it is");
    }
    if (trouble_ == "vanish") {
      _exit(0);
    }
    while (trouble_ == "hang") {
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    ++round_;
    if (const Result<> set = store_.set(key(position_.rank), input_); !set) {
      return set;
    }
    std::vector<std::string> all;
    for (int rank = 0; rank < position_.ranks; ++rank) {
      Result<std::string> value = store_.get(key(rank));
      if (!value) {
        return std::unexpected(value.error());
      }
      all.push_back(std::move(*value));
    }
    output_ = result(all);
    return {};
  }

  std::string key(int rank) const {
    return "data/" + std::to_string(round_) + "/" + std::to_string(rank);
  }

  std::string sum(const std::vector<std::string>& all) const {
    const std::size_t size = bytes_of(operation_.type);
    std::string total(all.front().size(), '\0');
    for (std::size_t at = 0; at < total.size(); at += size) {
      double value = 0;
      for (const std::string& each : all) {
        value += decode(operation_.type, std::as_bytes(std::span(each).subspan(at, size)));
      }
      encode(operation_.type, static_cast<std::uint64_t>(value),
             std::as_writable_bytes(std::span(total).subspan(at, size)));
    }
    return total;
  }

  std::string result(const std::vector<std::string>& all) const {
    const auto mine = static_cast<std::size_t>(position_.rank);
    const std::size_t part = operation_.bytes / static_cast<std::size_t>(operation_.ranks);
    std::string joined;
    switch (operation_.collective) {
      case Collective::AllReduce:
        return sum(all);
      case Collective::ReduceScatter:
        return sum(all).substr(mine * part, part);
      case Collective::Broadcast:
        return all.at(static_cast<std::size_t>(operation_.root));
      case Collective::SendReceive:
        return all.at((mine + all.size() - 1) % all.size());
      case Collective::AllGather:
        for (const std::string& each : all) {
          joined += each;
        }
        return joined;
      case Collective::AllToAll:
        for (const std::string& each : all) {
          joined += each.substr(mine * part, part);
        }
        return joined;
    }
    return joined;
  }

  RankPosition position_;
  Store& store_;
  std::string trouble_;
  Operation operation_;
  std::string input_;
  std::string output_;
  std::uint64_t round_ = 0;
};

}  // namespace

Backend store_backend(const std::string& name) {
  return {.name = name,
          .open = [](const RankPosition& position, Store& store,
                     const BackendOptions& options) -> Result<std::unique_ptr<Communicator>> {
            return std::make_unique<ByStore>(position, store, options.algorithm);
          }};
}

}  // namespace chokepoint::fakes
