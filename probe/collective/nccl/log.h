// What NCCL's own log tells of the way that data take, in the words of versions 2.7 to 2.28:
//
//   … NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0> [1]eth1:10.1.0.1<0>
//   … NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>
//   … NCCL INFO Using network Socket
//   … NCCL INFO 02 coll channels, 02 collnet channels, …
//   … NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0
//   … NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/CUMEM
//   … NCCL INFO NET/Socket: Using 4 threads and 2 sockets per thread
//
// Pure functions; any text is fine.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chokepoint::probe::collective::nccl {

struct LogFacts {
  std::string network = {};               // "Socket", "IB"; a plugin's own name
  std::vector<std::string> devices = {};  // of the network, by its numbers: "eth0", "mlx5_0"
  std::optional<int> channels = {};
  // What the channels go by, each once: "NET/Socket", "NET/IB", "P2P/CUMEM", "SHM/direct".
  std::vector<std::string> routes = {};
  std::optional<int> device = {};  // the number of the network's device in the first of them
  bool gpu_direct = false;         // some channel has GDRDMA
  std::optional<int> socket_threads = {};
  std::optional<int> sockets_per_thread = {};
};

LogFacts read_log(std::string_view text);

}  // namespace chokepoint::probe::collective::nccl
