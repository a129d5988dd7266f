// A job that says which signals it gets: signal_log FILE
//
// Two processes of one group, "first" and its child "second", each append a line for each signal:
// "first 10". They end when standard input does.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <string>

int main(int argc, char** argv) {
  if (argc != 2) {
    return 2;
  }
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  const std::string role = fork() == 0 ? "second" : "first";
  const int file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const int signals = signalfd(-1, &all, SFD_CLOEXEC);
  const auto say = [&](const std::string& word) {
    const std::string line = role + ' ' + word + '\n';
    return write(file, line.data(), line.size()) > 0;
  };
  say("ready");
  for (;;) {
    std::array<pollfd, 2> watched{pollfd{signals, POLLIN, 0}, pollfd{STDIN_FILENO, POLLIN, 0}};
    poll(watched.data(), watched.size(), -1);
    signalfd_siginfo info{};
    if (watched[0].revents != 0 && read(signals, &info, sizeof(info)) == sizeof(info)) {
      say(std::to_string(info.ssi_signo));
    } else if (watched[1].revents != 0) {
      return 0;
    }
  }
}
