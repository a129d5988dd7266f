#include "probe/collective/gloo/gloo.h"

#include <cstdlib>

#include "probe/collective/gloo/communicator.h"
#include "probe/collective/gloo/library.h"

namespace chokepoint::probe::collective {
namespace {

// As PyTorch is told.
std::string told_interface() {
  const char* told = std::getenv("GLOO_SOCKET_IFNAME");
  return told == nullptr ? "" : told;
}

Result<std::unique_ptr<Communicator>> open(const std::filesystem::path& module, const Place& place,
                                           Store& store, const BackendOptions& options) {
  TRY(std::shared_ptr<const GlooLibrary> library, GlooLibrary::open(module));
  return GlooCommunicator::open(std::move(library), place, store, options);
}

}  // namespace

Backend gloo_backend() {
  return {.name = "gloo",
          .open = [](const Place& place, Store& store,
                     const BackendOptions& options) -> Result<std::unique_ptr<Communicator>> {
            TRY(const std::filesystem::path module, gloo_module_path());
            BackendOptions told = options;
            told.interface = options.interface.empty() ? told_interface() : options.interface;
            return open(module, place, store, told);
          }};
}

Backend gloo_backend(const std::filesystem::path& module) {
  return {.name = "gloo",
          .open = [module](const Place& place, Store& store, const BackendOptions& options) {
            return open(module, place, store, options);
          }};
}

}  // namespace chokepoint::probe::collective
