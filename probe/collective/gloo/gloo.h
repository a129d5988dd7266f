// The backend Gloo, by the host's libgloo: the library that PyTorch uses without a GPU. This
// program does not link it: libchokepoint-gloo.so does (module/), which is opened when the backend
// is used.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "base/sys/error.h"
#include "probe/collective/communicator.h"

namespace chokepoint::probe::collective {

// All-reduce: "ring" (as PyTorch), "bcube". Reduce-scatter: "halving-doubling", and "all-reduce",
// which is what PyTorch does. Where no interface is given, GLOO_SOCKET_IFNAME names it, as it does
// for PyTorch.
Backend gloo_backend();
// With the module at this path, and without the environment.
Backend gloo_backend(const std::filesystem::path& module);

// One of both is set.
struct GlooDevice {
  std::string interface = {};
  std::string address = {};
};

struct GlooDevices {
  std::vector<GlooDevice> devices;
  // Why it is loopback; else empty.
  std::string remark = {};
};

// How the host's name resolves; used only if no interface is named.
struct NameLookup {
  std::string name;
  std::function<Result<std::vector<net::Address>>()> addresses;
  std::function<bool(const net::Address&)> is_own;
};

// As PyTorch chooses: the interfaces that are named (--interface or GLOO_SOCKET_IFNAME; exact names
// or addresses, with commas between), else the address of the host's name, else loopback, by which
// no other host can be reached.
Result<GlooDevices> choose_gloo_devices(const std::string& named, const NameLookup& lookup);
// Of this host.
NameLookup own_name_lookup();

}  // namespace chokepoint::probe::collective
