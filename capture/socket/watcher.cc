#include "capture/socket/watcher.h"

#include <ctime>
#include <utility>

#include "capture/socket/live_kernel.h"
#include "capture/socket/live_watcher.h"

namespace chokepoint::capture::socket {
namespace {

std::int64_t thread_cpu_ns() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

}  // namespace

Result<std::unique_ptr<Watcher>> Watcher::make(const Options& options, sys::Root root,
                                               const sys::Clock& clock, record::Writer& writer,
                                               book::FlowBook& book) {
  Means means{.open = [root](const Network& network) { return LiveKernel::open(root, network); },
              .cpu_ns = thread_cpu_ns};
  auto watcher = std::make_unique<LiveWatcher>(options, std::move(root), clock, writer, book,
                                               std::move(means));
  const Result<> opened = watcher->open_own();
  return opened ? Result<std::unique_ptr<Watcher>>(std::move(watcher)) : fail(opened.error());
}

}  // namespace chokepoint::capture::socket
