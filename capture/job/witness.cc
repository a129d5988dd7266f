#include "capture/job/witness.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <span>
#include <string_view>

#include "base/sys/message_socket.h"
#include "base/sys/root.h"
#include "capture/job/process.h"

namespace chokepoint::capture::job {
namespace {

// `pkill -f train.py` finds chokepoint and the job by the job's words, so it must find the witness;
// `pkill -f chokepoint` finds chokepoint alone, so it must not.
void take_name(const std::vector<std::string>& command) {
  prctl(PR_SET_NAME, kWitnessName);
  const std::optional<StatLine> own = read_stat(sys::Root(), getpid());
  if (!own || own->arguments == 0 || own->arguments_end <= own->arguments) {
    return;
  }
  std::string words = std::string(kWitnessName) + ":";
  for (const std::string& word : command) {
    words += " " + word;
  }
  const std::size_t room = own->arguments_end - own->arguments;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel reports the place as a number.
  const std::span arguments(reinterpret_cast<char*>(own->arguments), room);
  std::ranges::fill(arguments, '\0');
  std::ranges::copy(std::string_view(words).substr(0, room - 1), arguments.begin());
}

enum class WitnessMessage : std::int32_t { Query, Saw, Reply };

constexpr sys::WorkerWords kWitnessWords{.operation = "watch signals"};

// The witness's own side, until chokepoint has closed its end. Waits for room rather than lose a
// report.
void report_signals(const sys::Signals& signals, sys::MessageSocket& chokepoint,
                    const sys::Clock& clock) {
  while (!chokepoint.is_gone()) {
    std::array<pollfd, 2> watched{pollfd{signals.descriptor(), POLLIN, 0},
                                  pollfd{chokepoint.descriptor(), POLLIN, 0}};
    if (poll(watched.data(), watched.size(), -1) < 0) {
      continue;
    }
    const auto query = chokepoint.receive();
    while (const std::optional<sys::Signal> signal = signals.next_with_sender()) {
      const std::string_view bytes(reinterpret_cast<const char*>(&*signal), sizeof *signal);
      chokepoint.send(WitnessMessage::Saw, bytes, sys::MessageSocket::kForever,
                      {.t_ns = clock.monotonic_ns()});
    }
    if (query) {
      chokepoint.send(WitnessMessage::Reply, {}, sys::MessageSocket::kForever,
                      {.number = query->head.number});
    }
  }
}

}  // namespace

// Those to pass on, and those that report children and requests for the terminal.
Result<sys::Signals> watch_job_signals() {
  return sys::Signals::watch({SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH,
                              SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGPWR, SIGXCPU, SIGCHLD});
}

Result<std::unique_ptr<Witness>> Witness::start(pid_t group,
                                                const std::vector<std::string>& command,
                                                const sys::Clock& clock) {
  TRY(sys::Worker worker,
      sys::Worker::fork({.words = kWitnessWords, .has_session = false, .keeps_folder = false},
                        [&](sys::MessageSocket& chokepoint) {
                          take_name(command);
                          // Blocked signals wait to be read although they are ignored; others would
                          // pile up.
                          const Result<sys::Signals> signals = watch_job_signals();
                          sys::ignore_signals();
                          if (signals) {
                            report_signals(*signals, chokepoint, clock);
                          }
                        }));
  if (group != 0 && setpgid(worker.pid(), group) != 0) {
    const int code = errno;
    worker.kill();
    return fail(from_errno(code, "watch signals", "the job's process group"));
  }
  return std::unique_ptr<Witness>(new Witness(std::move(worker)));
}

void Witness::stop() const {
  if (!is_reaped_) {
    kill(pid(), SIGKILL);
  }
}

Witness::~Witness() {
  if (!is_reaped_) {
    worker_.kill();
  }
}

void Witness::send_query(std::uint32_t query) const {
  worker_.socket().send(WitnessMessage::Query, {}, std::chrono::milliseconds(0),
                        {.number = static_cast<std::int32_t>(query)});
}

std::optional<Witness::Report> Witness::receive() {
  const auto received = worker_.receive();
  if (!received) {
    return std::nullopt;
  }
  Report report{.t_ns = received->head.t_ns};
  if (received->kind<WitnessMessage>() == WitnessMessage::Reply) {
    report.replied = static_cast<std::uint32_t>(received->head.number);
  } else {
    received->bytes.copy(reinterpret_cast<char*>(&report.signal), sizeof report.signal);
  }
  return report;
}

}  // namespace chokepoint::capture::job
