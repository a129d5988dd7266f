#include "probe/collective/nccl/collectives.h"

#include <bit>

namespace chokepoint::probe::collective::nccl {
namespace {

void* pointer(gpu::Address address) { return std::bit_cast<void*>(address); }

// A group must be closed even where something inside it failed; what failed first is told.
template <class Function>
Code grouped(const Functions& functions, Function&& calls) {
  if (const Code code = functions.group_start(); code != kSuccess) {
    return code;
  }
  const Code inside = calls();
  const Code end = functions.group_end();
  return inside != kSuccess ? inside : end;
}

Code all_to_all(const Operation& operation, const Run& run, Type type) {
  const std::uint64_t share = operation.bytes / static_cast<std::uint64_t>(operation.ranks);
  const std::size_t count = share / bytes_of(operation.type);
  return grouped(run.functions, [&] {
    Code code = kSuccess;
    for (int peer = 0; code == kSuccess && peer < operation.ranks; ++peer) {
      const gpu::Address offset = share * static_cast<std::uint64_t>(peer);
      code =
          run.functions.send(pointer(run.input + offset), count, type, peer, run.comm, run.stream);
      if (code == kSuccess) {
        code = run.functions.receive(pointer(run.output + offset), count, type, peer, run.comm,
                                     run.stream);
      }
    }
    return code;
  });
}

Code round_the_ring(const Operation& operation, const Run& run, Type type) {
  const std::size_t count = operation.bytes / bytes_of(operation.type);
  const int next = (run.rank + 1) % operation.ranks;
  const int previous = (run.rank + operation.ranks - 1) % operation.ranks;
  return grouped(run.functions, [&] {
    const Code code =
        run.functions.send(pointer(run.input), count, type, next, run.comm, run.stream);
    return code != kSuccess ? code
                            : run.functions.receive(pointer(run.output), count, type, previous,
                                                    run.comm, run.stream);
  });
}

}  // namespace

Code start(const Operation& operation, const Run& run) {
  const Type type = type_of(operation.type);
  const std::size_t given = input_bytes(operation) / bytes_of(operation.type);
  const std::size_t had = output_bytes(operation) / bytes_of(operation.type);
  const void* input = pointer(run.input);
  void* output = pointer(run.output);
  switch (operation.collective) {
    case Collective::AllReduce:
      return run.functions.all_reduce(input, output, given, type, kSum, run.comm, run.stream);
    case Collective::AllGather:
      return run.functions.all_gather(input, output, given, type, run.comm, run.stream);
    case Collective::ReduceScatter:
      return run.functions.reduce_scatter(input, output, had, type, kSum, run.comm, run.stream);
    case Collective::Broadcast:
      return run.functions.broadcast(input, output, given, type, operation.root, run.comm,
                                     run.stream);
    case Collective::AllToAll:
      return all_to_all(operation, run, type);
    case Collective::SendReceive:
      return round_the_ring(operation, run, type);
  }
  return kInvalidUsage;
}

}  // namespace chokepoint::probe::collective::nccl
