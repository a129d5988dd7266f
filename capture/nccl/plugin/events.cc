#include "capture/nccl/plugin/events.h"

#include <dlfcn.h>
#include <string.h>

#include <array>

#include "capture/nccl/plugin/interface.h"
#include "capture/nccl/plugin/old_libc.h"

namespace chokepoint::capture::nccl::plugin {
namespace {

using Reason = Choice::Reason;

// 22809 is 2.28.9.
constexpr int kRelease = 100;
constexpr int release_of(int version) { return version / kRelease; }

// What kernel events cost an all-reduce of 1 MB among eight GPUs, as reported to NVIDIA (issues
// 2355 and 2357 of NVIDIA/nccl): 0.4 % with 2.29.7, 10.5 % with 2.31.2, whose kernels then also
// write the times of their phases. What a kernel does for these events is the same source from 2.27
// to 2.30 but for a name; of 2.30 and of versions after 2.31 no figure is published.
constexpr int kFirstCheap = 227;
constexpr int kLastCheap = 229;
constexpr int kCostly = 231;

Reason reason_of(int nccl_version, int table) {
  const int release = release_of(nccl_version);
  if (release == kCostly) {
    return Reason::Costly;
  }
  // Tables 4 and 5 are those of 2.27 and 2.28; 6 is that of 2.29, and of later ones' fallback.
  const bool is_cheap =
      nccl_version > 0 ? release >= kFirstCheap && release <= kLastCheap : table == 4 || table == 5;
  return is_cheap ? Reason::Cheap : Reason::Unknown;
}

struct NamedPart {
  const char* name;
  bool Choice::* is_requested;
};
constexpr std::array<NamedPart, 3> kParts = {{
    {"proxies", &Choice::proxies},
    {"steps", &Choice::steps},
    {"kernels", &Choice::kernels},
}};

// Takes the next word of a list; false if it is none of the three.
bool take_word(const char*& text, Choice& choice) {
  for (const NamedPart& part : kParts) {
    const std::size_t length = strlen(part.name);
    if (strncmp(text, part.name, length) == 0 && (text[length] == ',' || text[length] == '\0')) {
      choice.*part.is_requested = true;
      text += length;
      return true;
    }
  }
  return false;
}

bool read_list(const char* text, Choice& choice) {
  for (;;) {
    if (!take_word(text, choice)) {
      return false;
    }
    if (*text == '\0') {
      return true;
    }
    ++text;
  }
}

bool read_choice(const char* text, Choice& choice) {
  if (strcmp(text, "none") == 0) {
    return true;
  }
  if (strcmp(text, "all") == 0) {
    for (const NamedPart& part : kParts) {
      choice.*part.is_requested = true;
    }
    return true;
  }
  return read_list(text, choice);
}

}  // namespace

int nccl_version_of(const void* caller) {
  using GetVersion = int (*)(int*);
  Dl_info info = {};
  if (caller == nullptr || dladdr(caller, &info) == 0 || info.dli_fname == nullptr) {
    return 0;
  }
  void* library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) {
    library = dlopen(nullptr, RTLD_LAZY);  // the program itself cannot be opened by its name
  }
  const auto get = reinterpret_cast<GetVersion>(dlsym(library, "ncclGetVersion"));
  int version = 0;
  return get != nullptr && get(&version) == 0 && version > 0 ? version : 0;
}

Choice choose_events(const char* text, int nccl_version, int table) {
  Choice choice = {.nccl_version = static_cast<std::uint32_t>(nccl_version)};
  if (text != nullptr && read_choice(text, choice)) {
    choice.reason = Reason::Requested;
    return choice;
  }
  choice.reason = reason_of(nccl_version, table);
  choice.proxies = choice.steps = true;
  choice.kernels = choice.reason == Reason::Cheap;
  return choice;
}

std::uint64_t always_of(const Choice& choice) {
  return event::kCollective | event::kMessage | (choice.proxies ? event::kProxy : 0);
}

std::uint64_t in_windows_of(const Choice& choice) {
  return (choice.steps ? event::kStep : 0) | (choice.kernels ? event::kKernel : 0);
}

}  // namespace chokepoint::capture::nccl::plugin
