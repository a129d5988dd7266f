// Which of the libraries that a job may use are on this host, opened to ask their version, and what
// this program itself was built with. For the running host only; opening a large library takes a
// moment.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/host/fact.h"
#include "base/sys/root.h"

namespace chokepoint::host {

struct FoundLibrary {
  std::optional<std::string> version;  // "2.21.5"; nullopt where it reports none
  std::string path;
};

struct Libraries {
  std::optional<FoundLibrary> nccl;
  std::optional<FoundLibrary> cuda;  // the driver's
  std::optional<FoundLibrary> verbs;
};

Libraries read_libraries(const sys::Root& root);
// That of the Python environment this process is in, which PyTorch uses, before the loader's own.
std::optional<FoundLibrary> find_nccl(const sys::Root& root);
void append_facts(const Libraries& libraries, Facts& facts);

// Is the module loaded that lets RDMA devices reach GPU memory? Nothing where that is not known.
std::optional<bool> has_peer_memory(const sys::Root& root);

// ncclGetVersion's number as people write it: 22105 is 2.21.5, 2809 is 2.8.9.
std::string nccl_version_text(int code);

// ("fmt", "9.1.0"), ("compiler", "12.2.0"), …
std::vector<std::pair<std::string, std::string>> build_features();

}  // namespace chokepoint::host
