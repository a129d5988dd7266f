// What the kill test kills: pushes numbered rows, a thousand a second, and notes each one in a
// file of its own first.
//
// usage: pusher FOLDER
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/record/writer.h"
#include "base/sys/descriptor.h"

int main(int argc, char** argv) {
  using namespace chokepoint;
  if (argc != 2) {
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  const sys::SystemClock clock;
  auto writer = record::Writer::open({.folder = folder, .node = "n1"}, sys::Root("/"), clock);
  if (!writer) {
    std::fprintf(stderr, "%s\n", describe(writer.error()).c_str());
    return 1;
  }
  const sys::Descriptor notes(
      open((folder / "notes").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  record::Producer producer = (*writer)->producer("pusher");
  auto next = std::chrono::steady_clock::now();
  for (std::int64_t number = 1;; ++number) {
    const std::int64_t now = clock.monotonic_ns();
    const std::array<std::int64_t, 2> note{number, now};
    if (write(notes.get(), note.data(), sizeof(note)) != sizeof(note)) {
      return 1;
    }
    producer.push(
        record::CounterSample{.t_ns = now, .series = 1, .value = static_cast<double>(number)});
    next += std::chrono::milliseconds(1);
    std::this_thread::sleep_until(next);
  }
}
