// A libnccl.so.2 whose ranks are processes that leave each other files, for tests of what opens the
// real one. FAKE_NCCL names their folder. FAKE_NCCL_FAILS says what goes wrong: "init", "enqueue",
// "async" (told once a collective was given), "hang" (in init). GPU memory is the host's.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

using Bytes = std::vector<char>;

struct Comm {
  int rank;
  int ranks;
  int turn;
  std::map<int, int> sent = {};  // to each rank
  std::map<int, int> received = {};
};

struct Id {
  char bytes[128];
};

std::vector<std::function<int()>> sends;
std::vector<std::function<int()>> receives;
int depth = 0;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool fails(const char* what) { return variable("FAKE_NCCL_FAILS") == what; }

void leave(const std::string& name, const Bytes& bytes) {
  const std::filesystem::path path = std::filesystem::path(variable("FAKE_NCCL")) / name;
  std::ofstream(path.string() + ".part", std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  std::filesystem::rename(path.string() + ".part", path);
}

Bytes find(const std::string& name) {
  const std::filesystem::path path = std::filesystem::path(variable("FAKE_NCCL")) / name;
  while (!std::filesystem::exists(path)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t size_of(int type) {
  constexpr std::size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return kSizes[type];
}

Bytes bytes_at(const void* from, std::size_t size) {
  const char* begin = static_cast<const char*>(from);
  return {begin, begin + size};
}

std::string name_of(const Comm& comm, int rank) {
  return "turn-" + std::to_string(comm.turn) + "-" + std::to_string(rank);
}

std::vector<Bytes> gathered(Comm& comm, const Bytes& own) {
  leave(name_of(comm, comm.rank), own);
  std::vector<Bytes> all;
  for (int rank = 0; rank < comm.ranks; ++rank) {
    all.push_back(find(name_of(comm, rank)));
  }
  ++comm.turn;
  return all;
}

template <class Element>
void sum(const std::vector<Bytes>& all, Bytes& to) {
  for (std::size_t at = 0; at < to.size(); at += sizeof(Element)) {
    Element total{};
    for (const Bytes& each : all) {
      Element one{};
      std::memcpy(&one, each.data() + at, sizeof one);
      total = static_cast<Element>(total + one);
    }
    std::memcpy(to.data() + at, &total, sizeof total);
  }
}

Bytes summed(const std::vector<Bytes>& all, int type) {
  Bytes to(all.front().size());
  if (type == 7) {
    sum<float>(all, to);
  } else if (type == 2) {
    sum<std::int32_t>(all, to);
  } else {
    sum<std::uint8_t>(all, to);
  }
  return to;
}

void put(void* to, const char* from, std::size_t size) { std::memcpy(to, from, size); }

void write_log(const Comm& comm) {
  if (variable("NCCL_DEBUG") != "INFO") {
    return;
  }
  std::ofstream(variable("NCCL_DEBUG_FILE"))
      << "here:1:1 [0] NCCL INFO NET/Socket : Using [0]lo:127.0.0.1<0>\n"
         "here:1:1 [0] NCCL INFO Using network Socket\n"
         "here:1:1 [0] NCCL INFO 02 coll channels, 02 collnet channels, 0 nvls channels\n"
         "here:1:1 [0] NCCL INFO Channel 00/0 : "
      << comm.rank << "[0] -> 1[0] [send] via NET/Socket/0\n"
      << "here:1:1 [0] NCCL INFO NET/Socket: Using 2 threads and 3 sockets per thread\n";
}

// Numbered alike at both ends.
std::string pair_name(int from, int to, int number) {
  return "pair-" + std::to_string(from) + "-" + std::to_string(to) + "-" + std::to_string(number);
}

}  // namespace

// The names are NCCL's. NOLINTBEGIN(readability-identifier-naming)
extern "C" {

int ncclGetVersion(int* version) {
  *version = 22809;
  return 0;
}
int ncclGetUniqueId(Id* id) {
  std::memset(id->bytes, 7, sizeof id->bytes);
  return 0;
}
int ncclCommInitRank(Comm** comm, int ranks, Id id, int rank) {
  if (fails("hang")) {
    pause();
  }
  if (fails("init") || id.bytes[127] != 7) {
    return 2;
  }
  *comm = new Comm{.rank = rank, .ranks = ranks, .turn = 0};
  write_log(**comm);
  return 0;
}
int ncclCommDestroy(Comm* comm) {
  delete comm;
  return 0;
}
int ncclCommAbort(Comm* comm) { return ncclCommDestroy(comm); }
int ncclCommGetAsyncError(Comm* /*comm*/, int* code) {
  *code = fails("async") ? 6 : 0;
  return 0;
}
const char* ncclGetErrorString(int code) {
  return code == 2 ? "unhandled system error"
                   : "remote process exited or there was a network error";
}
const char* ncclGetLastError(Comm* /*comm*/) { return "socket progress: connection closed"; }

int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int /*sum*/, Comm* comm,
                  void* /*stream*/) {
  if (fails("enqueue")) {
    return 2;
  }
  if (fails("async")) {
    return 0;
  }
  const Bytes sums = summed(gathered(*comm, bytes_at(from, count * size_of(type))), type);
  put(to, sums.data(), sums.size());
  return 0;
}
int ncclAllGather(const void* from, void* to, std::size_t count, int type, Comm* comm,
                  void* /*stream*/) {
  char* at = static_cast<char*>(to);
  for (const Bytes& each : gathered(*comm, bytes_at(from, count * size_of(type)))) {
    put(at, each.data(), each.size());
    at += each.size();
  }
  return 0;
}
int ncclReduceScatter(const void* from, void* to, std::size_t count, int type, int /*sum*/,
                      Comm* comm, void* /*stream*/) {
  const std::size_t share = count * size_of(type);
  const auto ranks = static_cast<std::size_t>(comm->ranks);
  const Bytes sums = summed(gathered(*comm, bytes_at(from, share * ranks)), type);
  put(to, sums.data() + share * static_cast<std::size_t>(comm->rank), share);
  return 0;
}
int ncclBroadcast(const void* from, void* to, std::size_t count, int type, int root, Comm* comm,
                  void* /*stream*/) {
  const auto all = gathered(*comm, bytes_at(from, count * size_of(type)));
  put(to, all[static_cast<std::size_t>(root)].data(), count * size_of(type));
  return 0;
}
int ncclSend(const void* from, std::size_t count, int type, int peer, Comm* comm,
             void* /*stream*/) {
  sends.emplace_back([=] {
    leave(pair_name(comm->rank, peer, ++comm->sent[peer]), bytes_at(from, count * size_of(type)));
    return 0;
  });
  return depth > 0 ? 0 : 5;
}
int ncclRecv(void* to, std::size_t count, int type, int peer, Comm* comm, void* /*stream*/) {
  receives.emplace_back([=] {
    const Bytes bytes = find(pair_name(peer, comm->rank, ++comm->received[peer]));
    put(to, bytes.data(), count * size_of(type));
    return 0;
  });
  return depth > 0 ? 0 : 5;
}
int ncclGroupStart() {
  ++depth;
  return 0;
}
int ncclGroupEnd() {
  if (--depth > 0) {
    return 0;
  }
  for (const auto* calls : {&sends, &receives}) {
    for (const auto& call : *calls) {
      call();
    }
  }
  sends.clear();
  receives.clear();
  return 0;
}
}
// NOLINTEND(readability-identifier-naming)
