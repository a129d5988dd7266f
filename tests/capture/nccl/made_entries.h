// Records as the plugin writes them, made by hand. Times in ms.
#pragma once

#include "capture/nccl/ring_file.h"

namespace chokepoint::capture::nccl {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kSecond = 1'000 * kMs;

inline std::uint64_t ns(std::int64_t ms) { return static_cast<std::uint64_t>(ms * kMs); }

inline Entry entry(Kind kind, std::uint64_t communicator = 1) {
  Entry made;
  made.words[0] = static_cast<std::uint64_t>(kind) | communicator << 8U;
  return made;
}

inline Entry joined(std::uint64_t hash, std::uint64_t rank, std::uint64_t ranks) {
  Entry made = entry(Kind::Communicator);
  made.words[word::kHash] = hash;
  made.words[word::kRank] = rank;
  made.words[word::kRanks] = ranks;
  made.words[word::kNodes] = ranks;
  return made;
}

struct Head {
  std::uint64_t id = 1;
  std::uint64_t sequence = 1;
  Function function = Function::AllReduce;
  std::int64_t enqueued_ms = 1;
  std::uint64_t channels = 1;
  Algorithm algorithm = Algorithm::Ring;
  std::uint64_t peer = kNone;
  std::uint64_t bytes = 1'000;
};

inline Entry head(const Head& of) {
  const bool is_message = of.function == Function::Send || of.function == Function::Receive;
  Entry made = entry(is_message ? Kind::Message : Kind::Collective);
  made.words[word::kId] = of.id;
  made.words[word::kSequence] = of.sequence;
  made.words[word::kFunction] = static_cast<std::uint64_t>(of.function);
  made.words[word::kBytes] = of.bytes;
  made.words[word::kEnqueued] = ns(of.enqueued_ms);
  made.words[word::kChannels] = of.channels;
  made.words[word::kAlgorithm] = static_cast<std::uint64_t>(of.algorithm);
  made.words[word::kProtocol] = static_cast<std::uint64_t>(Protocol::Simple);
  made.words[word::kPeer] = of.peer;
  made.words[word::kDatatype] = kNone;
  return made;
}

struct Part {
  std::uint64_t id = 1;
  bool sends = true;
  std::int64_t begin_ms = 0;
  std::int64_t end_ms = 0;
  std::int64_t first_ms = 0;
  std::uint64_t channel = 0;
};

inline Entry proxy(const Part& of) {
  Entry made = entry(Kind::Proxy);
  made.words[word::kId] = of.id;
  made.words[word::kChannel] = of.channel | (of.sends ? std::uint64_t{1} << 32U : 0);
  made.words[word::kProxyBegin] = ns(of.begin_ms);
  made.words[word::kProxyEnd] = ns(of.end_ms);
  made.words[word::kFirstData] = ns(of.first_ms);
  return made;
}

// By a GPU's clock that is `ahead_ms` ahead of the host's.
inline Entry kernel(std::uint64_t id, std::int64_t begin_ms, std::int64_t end_ms,
                    std::int64_t ahead_ms, std::int64_t seen_late_ms = 0) {
  Entry made = entry(Kind::Kernel);
  made.words[word::kId] = id;
  made.words[word::kGpuBegin] = ns(begin_ms + ahead_ms);
  made.words[word::kGpuEnd] = ns(end_ms + ahead_ms);
  made.words[word::kSeenBegin] = ns(begin_ms + seen_late_ms);
  made.words[word::kSeenEnd] = ns(end_ms + seen_late_ms);
  return made;
}

}  // namespace chokepoint::capture::nccl
