"""usage: signal_log.py FILE SECONDS

Two processes of one group, "first" and its child "second", append to FILE which signals they get,
until so many seconds pass without one.
"""

import os
import signal
import sys

NUMBERS = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1}


def main(path, seconds):
    signal.pthread_sigmask(signal.SIG_BLOCK, NUMBERS)
    who = "second" if os.fork() == 0 else "first"
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(file, f"{who} ready\n".encode())
    while caught := signal.sigtimedwait(NUMBERS, float(seconds)):
        os.write(file, f"{who} {signal.Signals(caught.si_signo).name}\n".encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
