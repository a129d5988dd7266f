// Stands in for chokepoint: runs a command as a Job and does nothing else.
//
//   run_job [--unwatched] [--copies FILE] [--pause MS] [--] COMMAND…
//
// --copies keeps what was seen of the output, one line a piece: "out 123456 hex…"; --pause looks at
// the job only so often.
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include "capture/job/job.h"

using namespace chokepoint;
using namespace chokepoint::capture::job;

namespace {

struct Arguments {
  Launch launch = {};
  bool watches_output = true;
  std::string copies = {};
  std::chrono::milliseconds pause{0};
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  int i = 1;
  for (; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--unwatched") {
      arguments.watches_output = false;
    } else if (word == "--copies") {
      arguments.copies = argv[++i];
    } else if (word == "--pause") {
      arguments.pause = std::chrono::milliseconds(std::stoi(argv[++i]));
    } else {
      i += word == "--" ? 1 : 0;
      break;
    }
  }
  arguments.launch.command.assign(argv + i, argv + argc);
  return arguments;
}

class Copies {
 public:
  explicit Copies(const std::string& path) {
    if (!path.empty()) {
      file_.open(path);
    }
  }
  void keep(const OutputPiece& piece) {
    if (!file_.is_open()) {
      return;
    }
    static constexpr const char* kDigits = "0123456789abcdef";
    std::string hex;
    for (const char letter : piece.bytes) {
      hex += kDigits[static_cast<unsigned char>(letter) >> 4];
      hex += kDigits[static_cast<unsigned char>(letter) & 15];
    }
    file_ << (piece.stream == Stream::Out ? "out " : "err ") << piece.t_ns << ' ' << hex << '\n';
  }
  void end(std::uint64_t missed) {
    if (file_.is_open()) {
      file_ << "missed " << missed << '\n';
    }
  }

 private:
  std::ofstream file_;
};

void wait_for_news(const Job& job, std::chrono::milliseconds pause) {
  std::array<pollfd, Job::kMaxDescriptors> watched{};
  for (std::size_t i = 0; i < watched.size(); ++i) {
    watched[i] = {job.descriptors()[i], POLLIN, 0};
  }
  poll(watched.data(), watched.size(), -1);
  std::this_thread::sleep_for(pause);
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  const sys::SystemClock clock;
  OutputWatch output = arguments.watches_output ? OutputWatch::open(clock).value() : OutputWatch();
  Result<std::unique_ptr<Job>> job = Job::start(arguments.launch, std::move(output), clock);
  if (!job) {
    std::fprintf(stderr, "run_job: %s\n", describe(job.error()).c_str());
    return exit_code_of_failed_start(job.error());
  }
  Copies copies(arguments.copies);
  const OnOutput keep = [&](const OutputPiece& piece) { copies.keep(piece); };
  std::optional<sys::ExitStatus> status;
  while (!status) {
    wait_for_news(**job, arguments.pause);
    status = (*job)->handle(keep).value();
  }
  (*job)->finish(keep);
  copies.end((*job)->pieces_missed());
  return status->code;
}
