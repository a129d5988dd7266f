#include "probe/collective/gloo/gloo.h"

#include <net/if.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/net/address.h"
#include "base/net/resolver.h"
#include "base/net/socket.h"
#include "base/sys/error.h"
#include "base/sys/library.h"
#include "base/sys/root.h"
#include "base/sys/signals.h"
#include "probe/collective/communicator.h"
#include "probe/collective/data_path.h"
#include "probe/collective/gloo/module/interface.h"

namespace chokepoint::probe::collective {
namespace {

constexpr std::string_view kGlooOperation = "backend gloo";  // of errors

// The ranks' store behind the module's C interface. Keeps the store's error.
class StoreAdapter {
 public:
  explicit StoreAdapter(Store& store) : store_(store) {}

  // Valid as long as this object lives and is not moved.
  gloo_module::StoreCalls calls() { return {.store = this, .set = set, .get = get}; }

  const std::optional<Error>& problem() const { return problem_; }

 private:
  static int set(void* self, const char* key, const char* data, std::size_t size) {
    auto& adapter = *static_cast<StoreAdapter*>(self);
    const Result<> done = adapter.store_.set(key, to_hex({data, size}));
    if (!done) {
      adapter.problem_ = done.error();
    }
    return done ? 0 : 1;
  }

  static int get(void* self, const char* key, void* into,
                 void (*take)(void* into, const char* data, std::size_t size)) {
    auto& adapter = *static_cast<StoreAdapter*>(self);
    const Result<std::string> found = adapter.store_.get(key);
    if (!found) {
      adapter.problem_ = found.error();
      return 1;
    }
    const std::optional<std::string> bytes = from_hex(*found);
    if (!bytes) {
      adapter.problem_ = Error{ErrorKind::Malformed, std::string(kGlooOperation), key, 0,
                               "another rank left what is no address of Gloo's"};
      return 1;
    }
    take(into, bytes->data(), bytes->size());
    return 0;
  }

  Store& store_;
  std::optional<Error> problem_;
};

constexpr std::string_view kInstall = "'apt install libgloo0' brings it";

Error unusable(const std::filesystem::path& module, const Error& error) {
  // The loader's message begins with the library that it did not find.
  if (error.reason.starts_with("libgloo")) {
    return {ErrorKind::NotFound,      std::string(kGlooOperation), "libgloo.so.0", 0,
            "not found on this host", std::string(kInstall)};
  }
  return {error.kind, std::string(kGlooOperation), module.string(), 0, error.reason};
}

// The shared object that links libgloo, opened: its functions are valid as long as this is held.
class GlooLibrary {
 public:
  static Result<std::shared_ptr<const GlooLibrary>> open(const std::filesystem::path& module) {
    Result<sys::Library> library = sys::Library::open(module.string());
    if (!library) {
      return fail(unusable(module, library.error()));
    }
    auto* entry = library->function<gloo_module::Entry>(gloo_module::kEntryName);
    if (entry == nullptr || entry()->layout != gloo_module::kLayout) {
      return fail(ErrorKind::Unsupported, kGlooOperation, module.string(),
                  "belongs to another version of chokepoint", "install both from one package");
    }
    const gloo_module::Functions* functions = entry();
    return std::shared_ptr<const GlooLibrary>(new GlooLibrary(std::move(*library), functions));
  }

  const gloo_module::Functions& functions() const { return *functions_; }

 private:
  GlooLibrary(sys::Library library, const gloo_module::Functions* functions)
      : library_(std::move(library)), functions_(functions) {}

  sys::Library library_;
  const gloo_module::Functions* functions_;
};

// Where it is installed; an error where this build has none.
Result<std::filesystem::path> gloo_module_path() {
  std::optional<std::filesystem::path> found = sys::own_library(gloo_module::kModuleName);
  if (!found) {
    return fail(ErrorKind::Unsupported, kGlooOperation, gloo_module::kModuleName,
                "not beside this program, which was built or installed without Gloo",
                "build it on such a host, where libgloo-dev is");
  }
  return std::move(*found);
}

constexpr const char* kLoopback = "127.0.0.1";

Result<GlooDevice> device_of(const std::string& name) {
  if (name.starts_with('^') || name.starts_with('=')) {
    return fail(ErrorKind::Usage, kGlooOperation, name,
                "Gloo takes interfaces' exact names, without '^' or '='",
                "'ip -brief address' lists them");
  }
  if (net::Address::parse(name)) {
    return GlooDevice{.address = name};
  }
  if (if_nametoindex(name.c_str()) == 0) {
    return fail(ErrorKind::NotFound, kGlooOperation, name, "no such interface on this host",
                "'ip -brief address' lists them");
  }
  return GlooDevice{.interface = name};
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (end > 0) {
      parts.emplace_back(list.substr(0, end));
    }
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

bool can_bind(const net::Address& address) {
  return net::bind_udp({.address = address}, {}).has_value();
}

constexpr std::string_view kNotReached =
    ", by which no other host can be reached; name an interface by --interface or "
    "GLOO_SOCKET_IFNAME";

GlooDevices loopback(const NameLookup& lookup) {
  return {.devices = {{.address = kLoopback}},
          .remark = "the host's name '" + lookup.name +
                    "' stands for no address of this host, so that Gloo took loopback" +
                    std::string(kNotReached)};
}

GlooDevices by_name(const net::Address& own, const NameLookup& lookup) {
  GlooDevices chosen{.devices = {{.address = own.text()}}};
  if (own.is_loopback()) {
    chosen.remark =
        "the host's name '" + lookup.name + "' stands for " + own.text() + std::string(kNotReached);
  }
  return chosen;
}

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

// libgloo's messages begin with a place in its own source: "[/build/…/pair.cc:598] ".
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

// A group of ranks connected by libgloo. Owns the memory that collectives work on.
class GlooCommunicator final : public Communicator {
 public:
  static Result<std::unique_ptr<Communicator>> open(std::shared_ptr<const GlooLibrary> library,
                                                    const RankPosition& position, Store& store,
                                                    const BackendOptions& options) {
    TRY(GlooDevices chosen, choose_gloo_devices(options.interface, own_name_lookup()));
    std::unique_ptr<GlooCommunicator> made(new GlooCommunicator(
        std::move(library), position, options.algorithm, std::move(chosen.remark)));
    TRY(made->connect(chosen.devices, store, options.timeout));
    return made;
  }

  GlooCommunicator(const GlooCommunicator&) = delete;
  GlooCommunicator& operator=(const GlooCommunicator&) = delete;
  ~GlooCommunicator() override {
    if (group_ != nullptr) {
      library_->functions().close(group_);
    }
  }

  Result<> prepare(const Operation& operation) override {
    TRY(const gloo_module::Algorithm algorithm, algorithm_of(algorithm_, operation.collective));
    operation_ = operation;
    try {
      input_ = std::vector<std::byte>(is_in_place(operation) ? 0 : input_bytes(operation));
      output_ = std::vector<std::byte>(output_bytes(operation));
    } catch (const std::bad_alloc&) {
      return fail(ErrorKind::Exhausted, kGlooOperation, "memory of this size",
                  "there is not enough", "choose smaller sizes");
    }
    const gloo_module::Work work{.collective = static_cast<int>(operation.collective),
                                 .type = static_cast<int>(operation.type),
                                 .algorithm = algorithm,
                                 .root = operation.root,
                                 .input = is_in_place(operation) ? output_.data() : input_.data(),
                                 .input_bytes = input_bytes(operation),
                                 .output = output_.data(),
                                 .output_bytes = output_bytes(operation)};
    gloo_module::Text problem{};
    if (library_->functions().prepare(group_, &work, &problem) != 0) {
      return fail(failed("preparing " + std::string(name_of(operation.collective)), problem));
    }
    return {};
  }

  Result<> write_input(std::span<const std::byte> bytes) override {
    std::vector<std::byte>& to = is_in_place(operation_) ? output_ : input_;
    if (bytes.size() != to.size()) {
      return fail(ErrorKind::Usage, kGlooOperation, "input", "not of the size that was prepared");
    }
    std::ranges::copy(bytes, to.begin());
    return {};
  }

  Result<std::vector<double>> run(int times) override {
    std::vector<double> taken(static_cast<std::size_t>(std::max(times, 0)));
    gloo_module::Text problem{};
    if (library_->functions().run(group_, times, taken.data(), &problem) != 0) {
      return fail(failed(name_of(operation_.collective), problem));
    }
    return taken;
  }

  Result<> read_output(std::span<std::byte> bytes) const override {
    if (bytes.size() != output_.size()) {
      return fail(ErrorKind::Usage, kGlooOperation, "output", "not of the size that was prepared");
    }
    std::ranges::copy(output_, bytes.begin());
    return {};
  }

  DataPath data_path() const override {
    DataPath data_path =
        data_path_of_sockets(connections_.now(), position_.ranks, live_host(), gloo_hints());
    data_path.library = "libgloo";
    return data_path;
  }

 private:
  GlooCommunicator(std::shared_ptr<const GlooLibrary> library, const RankPosition& position,
                   std::string algorithm, std::string remark)
      : library_(std::move(library)),
        position_(position),
        algorithm_(std::move(algorithm)),
        remark_(std::move(remark)) {}

  Result<> connect(const std::vector<GlooDevice>& devices, Store& store,
                   std::chrono::seconds timeout) {
    const std::vector<gloo_module::DeviceChoice> choices = choices_of(devices);
    const gloo_module::Meeting meeting{.rank = position_.rank,
                                       .ranks = position_.ranks,
                                       .timeout_ms = std::chrono::milliseconds(timeout).count(),
                                       .devices = choices.data(),
                                       .device_count = choices.size()};
    StoreAdapter adapter(store);
    const gloo_module::StoreCalls calls = adapter.calls();
    gloo_module::Text problem{};
    sys::hold_broken_pipe();  // libgloo writes by writev(), also on the thread that it starts here
    if (library_->functions().open(&meeting, &calls, &group_, &problem) == 0) {
      return {};
    }
    Error error = adapter.problem().value_or(failed("connecting the ranks", problem));
    if (!adapter.problem() && !remark_.empty()) {
      error.next_step = remark_;
    }
    return fail(std::move(error));
  }

  Error failed(std::string_view what, const gloo_module::Text& problem) const {
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

  std::shared_ptr<const GlooLibrary> library_;
  RankPosition position_;
  std::string algorithm_;
  std::string remark_;
  ConnectionsSince connections_;
  gloo_module::Group* group_ = nullptr;
  Operation operation_;
  std::vector<std::byte> input_;
  std::vector<std::byte> output_;
};

std::string environment_interface() {
  const char* names = std::getenv("GLOO_SOCKET_IFNAME");
  return names == nullptr ? "" : names;
}

Result<std::unique_ptr<Communicator>> open_gloo(const std::filesystem::path& module,
                                                const RankPosition& position, Store& store,
                                                const BackendOptions& options) {
  TRY(std::shared_ptr<const GlooLibrary> library, GlooLibrary::open(module));
  return GlooCommunicator::open(std::move(library), position, store, options);
}

}  // namespace

Result<GlooDevices> choose_gloo_devices(const std::string& named, const NameLookup& lookup) {
  GlooDevices chosen;
  for (const std::string& name : split(named)) {
    TRY(GlooDevice device, device_of(name));
    chosen.devices.push_back(std::move(device));
  }
  if (!chosen.devices.empty()) {
    return chosen;
  }
  const Result<std::vector<net::Address>> addresses = lookup.addresses();
  if (!addresses) {
    return loopback(lookup);
  }
  const auto own = std::ranges::find_if(*addresses, lookup.is_own);
  return own == addresses->end() ? loopback(lookup) : by_name(*own, lookup);
}

NameLookup own_name_lookup() {
  std::string name = sys::host_name(sys::Root());
  return {.name = name,
          .addresses = [name] { return net::resolve(name, std::nullopt); },
          .is_own = can_bind};
}

Backend gloo_backend() {
  return {.name = "gloo",
          .open = [](const RankPosition& position, Store& store,
                     const BackendOptions& options) -> Result<std::unique_ptr<Communicator>> {
            TRY(const std::filesystem::path module, gloo_module_path());
            BackendOptions chosen = options;
            chosen.interface =
                options.interface.empty() ? environment_interface() : options.interface;
            return open_gloo(module, position, store, chosen);
          }};
}

Backend gloo_backend(const std::filesystem::path& module) {
  return {
      .name = "gloo",
      .open = [module](const RankPosition& position, Store& store, const BackendOptions& options) {
        return open_gloo(module, position, store, options);
      }};
}

}  // namespace chokepoint::probe::collective
