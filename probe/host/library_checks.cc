#include "probe/host/library_checks.h"

#include <fmt/format.h>

namespace chokepoint::probe {
namespace {

Check library(const char* id, const std::optional<host::FoundLibrary>& found, const char* why) {
  return {.id = id,
          .status = found ? Status::Pass : Status::Info,
          .subject = "host",
          .found = found ? fmt::format("{} ({})", found->version.value_or("?"), found->path)
                         : std::string("not found"),
          .why = why};
}

void check_build(Checks& checks) {
  std::string text;
  for (const auto& [name, value] : host::build_features()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
  }
  checks.push_back({.id = "build.features",
                    .status = Status::Info,
                    .subject = "chokepoint",
                    .found = text,
                    .why = "what this program was built with"});
}

void check_peer_memory(std::optional<bool> loaded, Checks& checks) {
  Check check{.id = "lib.peer-memory",
              .subject = "host",
              .found = loaded.value_or(false) ? "loaded" : "not loaded",
              .wanted = "nvidia_peermem, or dma-buf",
              .why =
                  "without it, and without dma-buf (Linux 5.12 and NVIDIA's open modules), RDMA "
                  "copies through the host's memory"};
  if (!loaded) {
    check.status = Status::Unknown;
    check.found.clear();
  } else if (!*loaded) {
    check.status = Status::Info;
  }
  check.next_step = "modprobe nvidia_peermem";
  checks.push_back(std::move(check));
}

}  // namespace

void check_libraries(const host::Libraries& libraries, std::optional<bool> peer_memory,
                     DevicesPresent present, Checks& checks) {
  checks.push_back(library("lib.nccl", libraries.nccl,
                           "the collectives between GPUs; PyTorch's wheels bring their own, found "
                           "where VIRTUAL_ENV or CONDA_PREFIX is set"));
  checks.push_back(library("lib.cuda", libraries.cuda, "the newest CUDA that the driver serves"));
  checks.push_back(library("lib.verbs", libraries.verbs, "RDMA is used through it"));
  if (present.gpus && present.rdma) {
    check_peer_memory(peer_memory, checks);
  }
  check_build(checks);
}

}  // namespace chokepoint::probe
