"""Connections of which not all was seen, or of which there were two."""

from packets import FIN, SYN, ACK
from talk import BACK, THERE


def bulk_then_loss(talk, begin):
    """Five segments, and one of twelve that is lost behind the tap and sent again on reports."""
    talk.bulk(begin, range(5))
    talk.bulk(begin + 0.5, range(5, 12), acked=False)
    for place, number in enumerate(range(6, 12)):
        talk.acks(begin + 10.6 + place * 0.1, 5, sack=[(6, number + 1)])
    talk.data(begin + 10.85, 5, acked=False)
    talk.acks(begin + 20.85, 12)


def without_the_handshake(tape):
    """The capture began in the midst of a transfer: all is known but the window's scale."""
    talk = tape.talk()
    bulk_then_loss(talk, 0)
    talk.expect(there={"retransmitted_packets": 1, "retransmitted_bytes": talk.segment_bytes,
                       "retransmissions": {"fast": 1}, "window_scale": None,
                       "max_window_bytes": None, "unique_bytes": 12 * talk.segment_bytes},
                back={"window_scale": None, "max_window_bytes": None}, handshake_seen=False)


def only_what_the_sender_sends(tape):
    """A tap on one fibre: the acknowledgements take another. What was sent again shows, why not."""
    one_fibre(tape, THERE)
    talk = tape.talks[0]
    talk.expect(there={"retransmitted_packets": 1, "retransmitted_bytes": talk.segment_bytes,
                       "retransmissions": {"unknown": 1}, "rtt_ms": None,
                       "unique_bytes": 12 * talk.segment_bytes})


def only_what_the_receiver_sends(tape):
    """The other fibre: acknowledgements of data that never shows. Nothing is missing from the
    capture that it could have seen."""
    one_fibre(tape, BACK)
    tape.talks[0].expect(back={"sack_acks": 6})


def one_fibre(tape, way):
    talk = tape.talk()
    seen = talk.segment

    def segment(at, sent_by, offset, length, **how):
        seen(at, sent_by, offset, length, **{**how, "passes": (0,) if sent_by == way else ()})
    talk.segment = segment
    bulk_then_loss(talk, talk.open())
    talk.expect(handshake_seen=False)


def port_reuse(tape):
    """The same four addresses and ports twice, with other sequence numbers: two connections."""
    first = tape.talk()
    first.bulk(first.open(), range(3))
    first.close(30, 3 * first.segment_bytes)
    second = tape.talk(first_sequences=(900_000_000, 700_000_000))
    second.sides[0].identity = 5000
    second.bulk(second.open(120_000), range(5))
    second.expect(there={"unique_bytes": 5 * second.segment_bytes})


def port_reuse_without_an_end(tape):
    """The first connection's host fell over without a word; the second begins with a SYN."""
    first = tape.talk()
    first.bulk(first.open(), range(3))
    second = tape.talk(first_sequences=(900_000_000, 700_000_000))
    second.bulk(second.open(30_000), range(5))
    second.expect(there={"unique_bytes": 5 * second.segment_bytes})


def sequence_wrap(tape):
    """The sequence numbers pass 2^32 in the middle of a transfer, with a loss right there."""
    talk = tape.talk(first_sequences=(2**32 - 8 * 1448, 2**32 - 2))
    bulk_then_loss(talk, talk.open())
    talk.expect(there={"retransmitted_packets": 1, "retransmitted_bytes": talk.segment_bytes,
                       "retransmissions": {"fast": 1}, "unique_bytes": 12 * talk.segment_bytes})


def both_directions_at_once(tape):
    """Each side sends twenty segments, and acknowledges the other's with its own."""
    talk = tape.talk()
    begin = talk.open()
    size = talk.segment_bytes
    for number in range(20):
        talk.segment(begin + number, THERE, number * size, size, got=max(0, number - 5) * size)
        talk.segment(begin + number + 0.5, BACK, number * size, size,
                     got=max(0, number - 5) * size)
    talk.ack(begin + 40, 20 * size, way=THERE)
    talk.ack(begin + 40, 20 * size, way=BACK)
    talk.expect(there={"unique_bytes": 20 * size}, back={"unique_bytes": 20 * size})


def simultaneous_open(tape):
    """Both send a SYN before they got the other's."""
    talk = tape.talk()
    talk.segment(0, THERE, -1, 0, flags=SYN)
    talk.segment(1, BACK, -1, 0, flags=SYN)
    talk.segment(10, THERE, -1, 0, flags=SYN | ACK)
    talk.segment(11, BACK, -1, 0, flags=SYN | ACK)
    talk.bulk(20, range(3))
    talk.segment(50, THERE, 3 * talk.segment_bytes, 0, flags=FIN | ACK)
    talk.expect(there={"unique_bytes": 3 * talk.segment_bytes})
