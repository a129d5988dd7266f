#include "probe/collective/gloo/communicator.h"

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <utility>

#include "probe/collective/gloo/store_calls.h"
#include "probe/collective/way/way.h"

namespace chokepoint::probe::collective {
namespace {

struct AlgorithmName {
  std::string_view name;
  Collective collective;
  gloo_module::Algorithm algorithm;
};

constexpr std::array kAlgorithms{
    AlgorithmName{"ring", Collective::AllReduce, gloo_module::Algorithm::Ring},
    AlgorithmName{"bcube", Collective::AllReduce, gloo_module::Algorithm::Bcube},
    AlgorithmName{"halving-doubling", Collective::ReduceScatter,
                  gloo_module::Algorithm::HalvingDoubling},
    AlgorithmName{"all-reduce", Collective::ReduceScatter, gloo_module::Algorithm::ByAllReduce},
};

Result<gloo_module::Algorithm> algorithm_of(const std::string& name, Collective collective) {
  if (name.empty()) {
    return gloo_module::Algorithm::Default;
  }
  for (const AlgorithmName& each : kAlgorithms) {
    if (each.name == name && each.collective == collective) {
      return each.algorithm;
    }
  }
  return fail(ErrorKind::Usage, kGlooOperation, name,
              "not how Gloo does " + std::string(name_of(collective)),
              "all-reduce has ring and bcube, reduce-scatter has halving-doubling and all-reduce");
}

// libgloo's words begin with the place in its own source: "[/build/…/pair.cc:598] ".
std::string_view without_source(std::string_view words) {
  const std::size_t end = words.starts_with('[') ? words.find("] ") : std::string_view::npos;
  return end == std::string_view::npos ? words : words.substr(end + 2);
}

std::vector<gloo_module::DeviceChoice> choices_of(const std::vector<GlooDevice>& devices) {
  std::vector<gloo_module::DeviceChoice> choices;
  for (const GlooDevice& each : devices) {
    choices.push_back({.interface = each.interface.empty() ? nullptr : each.interface.c_str(),
                       .address = each.address.c_str()});
  }
  return choices;
}

}  // namespace

GlooCommunicator::GlooCommunicator(std::shared_ptr<const GlooLibrary> library, const Place& place,
                                   std::string algorithm, std::string remark)
    : library_(std::move(library)),
      place_(place),
      algorithm_(std::move(algorithm)),
      remark_(std::move(remark)) {}

GlooCommunicator::~GlooCommunicator() {
  if (group_ != nullptr) {
    library_->functions().close(group_);
  }
}

Result<std::unique_ptr<Communicator>> GlooCommunicator::open(
    std::shared_ptr<const GlooLibrary> library, const Place& place, Store& store,
    const BackendOptions& options) {
  TRY(GlooDevices chosen, choose_gloo_devices(options.interface, own_name_lookup()));
  std::unique_ptr<GlooCommunicator> made(
      new GlooCommunicator(std::move(library), place, options.algorithm, std::move(chosen.remark)));
  TRY(made->connect(chosen.devices, store, options.timeout));
  return made;
}

Result<> GlooCommunicator::connect(const std::vector<GlooDevice>& devices, Store& store,
                                   std::chrono::seconds timeout) {
  const std::vector<gloo_module::DeviceChoice> choices = choices_of(devices);
  const gloo_module::Meeting meeting{.rank = place_.rank,
                                     .ranks = place_.ranks,
                                     .timeout_ms = std::chrono::milliseconds(timeout).count(),
                                     .devices = choices.data(),
                                     .device_count = choices.size()};
  StoreAdapter adapter(store);
  const gloo_module::StoreCalls calls = adapter.calls();
  gloo_module::Text problem{};
  if (library_->functions().open(&meeting, &calls, &group_, &problem) == 0) {
    return {};
  }
  Error error = adapter.problem().value_or(failed("connecting the ranks", problem));
  if (!adapter.problem() && !remark_.empty()) {
    error.next_step = remark_;
  }
  return fail(std::move(error));
}

Error GlooCommunicator::failed(std::string_view what, const gloo_module::Text& problem) const {
  const std::string_view words = without_source(problem.words);
  if (words.find("nable to find address") != std::string_view::npos) {
    return {ErrorKind::NotFound, std::string(kGlooOperation),
            std::string(what),   0,
            std::string(words),  "give that interface an address, or name another one"};
  }
  const bool timed_out = words.find("imed out") != std::string_view::npos;
  return {timed_out ? ErrorKind::Timeout : ErrorKind::Io,
          std::string(kGlooOperation),
          std::string(what),
          0,
          std::string(words),
          "a rank that is gone or cannot be reached shows like this; see what the others say"};
}

bool GlooCommunicator::is_in_place() const {
  return operation_.collective == Collective::AllReduce ||
         operation_.collective == Collective::Broadcast;
}

Result<> GlooCommunicator::prepare(const Operation& operation) {
  TRY(const gloo_module::Algorithm algorithm, algorithm_of(algorithm_, operation.collective));
  operation_ = operation;
  try {
    input_ = std::vector<std::byte>(is_in_place() ? 0 : input_bytes(operation));
    output_ = std::vector<std::byte>(output_bytes(operation));
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::Exhausted, kGlooOperation, "memory of this size", "there is not enough",
                "choose smaller sizes");
  }
  const gloo_module::Work work{.collective = static_cast<int>(operation.collective),
                               .type = static_cast<int>(operation.type),
                               .algorithm = algorithm,
                               .root = operation.root,
                               .input = is_in_place() ? output_.data() : input_.data(),
                               .input_bytes = input_bytes(operation),
                               .output = output_.data(),
                               .output_bytes = output_bytes(operation)};
  gloo_module::Text problem{};
  if (library_->functions().prepare(group_, &work, &problem) != 0) {
    return fail(failed("preparing " + std::string(name_of(operation.collective)), problem));
  }
  return {};
}

Result<> GlooCommunicator::write_input(std::span<const std::byte> bytes) {
  std::vector<std::byte>& to = is_in_place() ? output_ : input_;
  if (bytes.size() != to.size()) {
    return fail(ErrorKind::Usage, kGlooOperation, "input", "not of the size that was prepared");
  }
  std::ranges::copy(bytes, to.begin());
  return {};
}

Result<std::vector<double>> GlooCommunicator::run(int times) {
  std::vector<double> taken(static_cast<std::size_t>(std::max(times, 0)));
  gloo_module::Text problem{};
  if (library_->functions().run(group_, times, taken.data(), &problem) != 0) {
    return fail(failed(name_of(operation_.collective), problem));
  }
  return taken;
}

Result<> GlooCommunicator::read_output(std::span<std::byte> bytes) const {
  if (bytes.size() != output_.size()) {
    return fail(ErrorKind::Usage, kGlooOperation, "output", "not of the size that was prepared");
  }
  std::ranges::copy(output_, bytes.begin());
  return {};
}

Way GlooCommunicator::way() const {
  Way way = way_of_sockets(connections_.now(), place_.ranks, live_host(), gloo_hints());
  way.library = "libgloo";
  return way;
}

}  // namespace chokepoint::probe::collective
