// Dumps of the running kernel's addresses and queueing disciplines over rtnetlink, framed by
// libmnl. Each call opens and closes its own socket; any thread. Always the running kernel: readers
// that are given a root folder go through host::LinkQuery instead.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/net/link_settings.h"
#include "base/sys/error.h"

namespace chokepoint::net {

// By the interface's index.
using AddressesByIndex = std::map<int, std::vector<InterfaceAddress>>;
// Every kind on the interface, the root first, each once: {"mq", "fq_codel"}.
using QdiscsByIndex = std::map<int, std::vector<std::string>>;

Result<AddressesByIndex> dump_addresses();
Result<QdiscsByIndex> dump_qdiscs();

}  // namespace chokepoint::net
