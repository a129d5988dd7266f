// The backend NCCL, between GPUs, by the host's own libnccl and GPU driver, which are opened when
// it is used (nccl.cc); and the path of its data, by its log (nccl_data_path.cc; pure functions of
// any text). Ranks that share a GPU are made to look like ranks of several hosts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/rdma.h"
#include "probe/collective/communicator.h"
#include "probe/collective/data_path.h"

namespace chokepoint::probe::collective {

struct NcclLibraries {
  std::string nccl = "libnccl.so.2";
  std::string cuda = "libcuda.so.1";
};

Backend nccl_backend(const NcclLibraries& libraries = {});

}  // namespace chokepoint::probe::collective

namespace chokepoint::probe::collective::nccl {

// What NCCL's log reports about the way that data take, as versions 2.7 to 2.28 write it:
//
//   … NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0> [1]eth1:10.1.0.1<0>
//   … NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>
//   … NCCL INFO Using network Socket
//   … NCCL INFO 02 coll channels, 02 collnet channels, …
//   … NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0
//   … NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/CUMEM
//   … NCCL INFO NET/Socket: Using 4 threads and 2 sockets per thread
struct LogFacts {
  std::string network = {};               // "Socket", "IB"; a plugin's own name
  std::vector<std::string> devices = {};  // of the network, by its numbers: "eth0", "mlx5_0"
  std::optional<int> channels = {};
  // What the channels use, each once: "NET/Socket", "NET/IB", "P2P/CUMEM", "SHM/direct".
  std::vector<std::string> routes = {};
  std::optional<int> device = {};  // the number of the network's device of the first channel
  bool gpu_direct = false;         // some channel has GDRDMA
  std::optional<int> socket_threads = {};
  std::optional<int> sockets_per_thread = {};
};

LogFacts read_log(std::string_view text);

struct Seen {
  LogFacts log = {};
  std::vector<Connection> connections = {};
  int ranks = 1;
  HostNetwork host = {};
  std::vector<host::RdmaDevice> rdma = {};
  bool shares_gpu = false;
};

// How NCCL's data went, by its log and its connections, and what this host has that is better.
// Without the library's name.
DataPath data_path_of(const Seen& seen);

}  // namespace chokepoint::probe::collective::nccl
