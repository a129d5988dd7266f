// What NCCL prints about its connections (NCCL_DEBUG=INFO), between other lines of a job's log:
// for each process the networks found, the one used, and the paths of its channels.
//
//   gpu1:920:1145 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE; OOB
//   eth0:10.0.0.1<0> gpu1:920:1145 [0] NCCL INFO Using network IB gpu1:920:1145 [0] NCCL INFO comm
//   0x55cc rank 0 nranks 16 cudaDev 0 … - Init START gpu1:920:1145 [0] NCCL INFO Channel 00/0 :
//   9[1] -> 0[0] [receive] via NET/IB/0/GDRDMA
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/evidence/tool_file.h"

namespace chokepoint::analysis {

class NcclLog {
 public:
  // Any line; one of other programs changes nothing.
  void add(std::string_view line);
  bool is_empty() const { return processes_.empty(); }
  std::vector<NcclProcess> take();

 private:
  NcclProcess* process_of(std::string_view before);

  std::map<std::string, NcclProcess, std::less<>> processes_;  // by "host:pid"
  std::string version_;                                        // the one that is printed once a job
};

}  // namespace chokepoint::analysis
