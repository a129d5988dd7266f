// The kernel and the distribution this host runs. Reads under the given root only.
#pragma once

#include <optional>
#include <string>

#include "base/host/fact.h"
#include "base/sys/root.h"

namespace chokepoint::host {

struct Kernel {
  std::optional<std::string> release;       // 6.1.0-37-amd64
  std::optional<std::string> distribution;  // Debian GNU/Linux 12 (bookworm)
  std::optional<std::string> boot_id;
};

Kernel read_kernel(const sys::Root& root);
void append_facts(const Kernel& kernel, Facts& facts);

// major * 1000 + minor of "6.1.0-37-amd64": 6001; nothing where it cannot be told.
std::optional<int> release_number(const Kernel& kernel);

}  // namespace chokepoint::host
