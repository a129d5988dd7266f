// How a GPU's link is trained at this moment, by NVML, quickly enough to be asked many times a
// second: the session stays open with the object. Safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/host/pci.h"
#include "base/sys/error.h"
#include "base/sys/library.h"

namespace chokepoint::host {

struct LinkNow {
  PciLink link = {};
  std::optional<std::int64_t> replays = {};  // packets retransmitted since the driver was loaded
};

class NvmlLinks {
 public:
  static Result<NvmlLinks> open(const std::string& library = "libnvidia-ml.so.1");
  NvmlLinks(NvmlLinks&& other) noexcept;
  NvmlLinks& operator=(NvmlLinks&&) = delete;
  ~NvmlLinks();

  // "0000:3b:00.0". All unknown where NVML does not know it, or no longer.
  LinkNow read(const std::string& address) const;

 private:
  using Return = int;  // 0 is success
  using Device = struct OpaqueDevice*;
  using GetUnsigned = Return(Device, unsigned*);

  explicit NvmlLinks(sys::Library library) : library_(std::move(library)) {}
  bool find();

  sys::Library library_;
  Return (*by_address_)(const char*, Device*) = nullptr;
  GetUnsigned* generation_ = nullptr;
  GetUnsigned* width_ = nullptr;
  GetUnsigned* replays_ = nullptr;
  bool is_open_ = false;  // no longer once it was moved from
};

}  // namespace chokepoint::host
