#include "probe/tcp/stream.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>

#include "base/net/socket.h"
#include "probe/tcp/monotonic.h"
#include "probe/tcp/transfer.h"

namespace chokepoint::probe::tcp {
namespace {

// How soon a blocked thread sees that it shall stop.
constexpr std::chrono::milliseconds kBlocked{100};

void run_on(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    CPU_SET(static_cast<std::size_t>(cpu), &set);
  }
  pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

// splice() knows no MSG_NOSIGNAL: a peer that is gone is an error, not the end of this process.
void block_broken_pipe() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace

Stream::~Stream() {
  if (thread_.joinable()) {
    abort();
    thread_.join();
  }
}

void Stream::start() {
  thread_ = std::thread([this] { run(); });
}

void Stream::abort() {
  stopping_ = true;
  shutdown(fd_.get(), SHUT_RDWR);
}

void Stream::run() {
  block_broken_pipe();
  if (!plan_.cpus.empty()) {
    run_on(plan_.cpus);
  }
  if (!net::set_blocking(fd_.get(), kBlocked, kBlocked)) {
    counters_.error = EINVAL;
  } else if (plan_.role == Role::Send) {
    send_data(fd_.get(), plan_, payload_, counters_, stopping_);
  } else {
    receive_data(fd_.get(), plan_, counters_);
  }
  counters_.done = true;
}

}  // namespace chokepoint::probe::tcp
