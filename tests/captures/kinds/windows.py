"""Receivers that cannot take more, and connections kept alive. The tap is at the sender."""

from talk import THERE


def window_full(tape):
    """The receiver offers 8 segments' worth; the sender fills it three times, a round trip each."""
    talk = tape.talk()
    begin = talk.open()
    size = talk.segment_bytes
    window = 8 * size // 128 * 128
    for side in talk.sides:
        side.window = window
    last = window - 7 * size
    sent = 0
    for turn in range(3):
        at = begin + turn * 12
        for place in range(8):
            length = last if place == 7 else size
            talk.segment(at + place * 0.1, THERE, sent, length)
            sent += length
        talk.ack(at + 10.75, sent)
    talk.expect(there={"window_full": 3, "max_in_flight_bytes": window, "unique_bytes": sent},
                back={"max_window_bytes": window, "window_scale": 7})


def zero_window_and_probes(tape):
    """The receiver's program stops reading: its window is filled and closes. The sender asks three
    times with an empty segment one below the next byte; then the window opens."""
    talk = tape.talk()
    begin = talk.open()
    size = 1280
    talk.sides[1].window = 4 * size
    for place in range(4):
        talk.segment(begin + place * 0.1, THERE, place * size, size)
    talk.ack(begin + 10.3, 4 * size, window=0)
    for asked in (220, 640, 1480):
        talk.segment(begin + asked, THERE, 4 * size - 1, 0)
        talk.ack(begin + asked + 10, 4 * size, window=0)
    talk.ack(begin + 2000, 4 * size, window=4 * size)
    talk.segment(begin + 2000.1, THERE, 4 * size, size)
    talk.ack(begin + 2010.1, 5 * size)
    talk.expect(there={"window_full": 1, "zero_window_probes": 3, "unique_bytes": 5 * size},
                back={"zero_windows": 1})


def zero_window_probes_of_a_byte(tape):
    """As above with another sender's kernel, which asks with the next byte of the stream; it is not
    taken, and sent again when the window has opened. No retransmission: nothing was lost."""
    talk = tape.talk()
    begin = talk.open()
    size = 1280
    talk.sides[1].window = 4 * size
    for place in range(4):
        talk.segment(begin + place * 0.1, THERE, place * size, size)
    talk.ack(begin + 10.3, 4 * size, window=0)
    for asked in (220, 640):
        talk.segment(begin + asked, THERE, 4 * size, 1)
        talk.ack(begin + asked + 10, 4 * size, window=0)
    talk.ack(begin + 1000, 4 * size, window=4 * size)
    talk.segment(begin + 1000.1, THERE, 4 * size, size)
    talk.ack(begin + 1010.1, 5 * size)
    talk.expect(there={"window_full": 1, "zero_window_probes": 2, "unique_bytes": 5 * size},
                back={"zero_windows": 1})


def keep_alives(tape):
    """An idle connection: three questions one below the next byte, empty as Linux has them, and one
    that carries a byte as others do. Each is answered, nothing is sent again."""
    talk = tape.talk()
    begin = talk.open()
    end = 4 * talk.segment_bytes
    talk.bulk(begin, range(4))
    for place, length in enumerate((0, 0, 0, 1)):
        asked = begin + 60_000 + place * 15_000
        talk.segment(asked, THERE, end - 1, length)
        talk.ack(asked + 10, end)
    talk.expect(there={"keep_alives": 4, "unique_bytes": end})


def window_of_64_kib_and_no_scale(tape):
    """One host knows no window scaling, so neither scales."""
    talk = tape.talk(scale=None)
    for side in talk.sides:
        side.window = 60_000
    talk.bulk(talk.open(), range(10))
    talk.expect(back={"max_window_bytes": 60_000})
