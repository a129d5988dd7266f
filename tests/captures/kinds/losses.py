"""Segments that got lost, and how they were sent again. The tap is at the sender, where nothing is
said of another place."""

from packets import FIN, RST, ACK
from talk import BACK, RTT_MS, THERE

SILENCE_MS = 210


def bulk_without_loss(tape):
    """Forty segments after a handshake, each acknowledged 10 ms after it left; closed by both."""
    talk = tape.talk()
    end = talk.bulk(talk.open(), range(40))
    talk.close(end + 20, 40 * talk.segment_bytes)
    talk.expect(there={"rtt_ms": {"median": RTT_MS}, "unique_bytes": 40 * talk.segment_bytes,
                       "timestamp_rtt_ms": {"median": RTT_MS}},
                back={"duplicate_acks": 0})


def fast_retransmission_with_sack(tape):
    """Segment 5 of 20 is lost behind the tap. The receiver reports what came after it, segment by
    segment; the sender sends it again on the third report."""
    talk = tape.talk()
    begin = talk.open()
    talk.bulk(begin, range(5))
    talk.data(begin + 0.5, 5, acked=False)
    talk.bulk(begin + 0.6, range(6, 20), acked=False)
    for place, number in enumerate(range(6, 20)):
        talk.acks(begin + 10.6 + place * 0.1, 5, sack=[(6, number + 1)])
    talk.data(begin + 10.85, 5, acked=False)
    talk.acks(begin + 20.85, 20)
    talk.expect(there={"retransmitted_packets": 1, "retransmitted_bytes": talk.segment_bytes,
                       "retransmissions": {"fast": 1}, "unique_bytes": 20 * talk.segment_bytes},
                back={"duplicate_acks": 14, "sack_acks": 14, "sack_used": True})


def fast_retransmission_without_sack(tape):
    """As above between hosts that have agreed on no SACK: three duplicate acknowledgements."""
    talk = tape.talk(sack=False)
    begin = talk.open()
    talk.bulk(begin, range(5))
    talk.bulk(begin + 0.5, range(5, 12), acked=False)
    for place in range(6):
        talk.acks(begin + 10.6 + place * 0.1, 5)
    talk.data(begin + 10.85, 5, acked=False)
    talk.acks(begin + 20.85, 12)
    talk.expect(there={"retransmitted_packets": 1, "retransmitted_bytes": talk.segment_bytes,
                       "retransmissions": {"fast": 1}},
                back={"duplicate_acks": 6, "sack_acks": 0, "sack_used": False})


def retransmission_timeout(tape):
    """The last three of ten segments and the sender's later questions find a dead path. After
    silence the first of them is sent again, and once that is acknowledged the other two."""
    talk = tape.talk()
    begin = talk.open()
    talk.bulk(begin, range(7))
    talk.bulk(begin + 0.7, range(7, 10), acked=False)
    again = begin + 10.6 + SILENCE_MS
    talk.data(again, 7)
    talk.bulk(again + RTT_MS + 0.05, range(8, 10))
    talk.expect(there={"retransmitted_packets": 3, "retransmitted_bytes": 3 * talk.segment_bytes,
                       "retransmissions": {"timeout": 3}})


def timeouts_that_back_off(tape):
    """Nothing arrives any more: the first lost segment is sent again after 210, 420 and 840 ms."""
    talk = tape.talk()
    begin = talk.open()
    talk.bulk(begin, range(4))
    talk.data(begin + 0.4, 4, acked=False)
    for after in (1, 3):
        talk.data(begin + after * SILENCE_MS, 4, acked=False)
    talk.data(begin + 7 * SILENCE_MS, 4)
    talk.expect(there={"retransmitted_packets": 3, "retransmitted_bytes": 3 * talk.segment_bytes,
                       "retransmissions": {"timeout": 3}})


def tail_loss_probe(tape):
    """The last two of ten segments are lost, and nothing comes after them that could report it:
    after two round trips the last one is sent again to draw out an answer. Its report brings the
    other."""
    talk = tape.talk()
    begin = talk.open()
    talk.bulk(begin, range(8))
    talk.bulk(begin + 0.8, (8, 9), acked=False)
    probe = begin + 0.9 + 2 * RTT_MS + 2
    talk.data(probe, 9, acked=False)
    talk.acks(probe + 10, 8, sack=[(9, 10)])
    talk.data(probe + 13, 8, acked=False)
    talk.acks(probe + 23, 10)
    talk.expect(there={"retransmitted_packets": 2, "retransmitted_bytes": 2 * talk.segment_bytes,
                       "retransmissions": {"probe": 1, "fast": 1}})


def lone_segment_lost(tape):
    """One segment is on its way, and is lost. Probe and timer fall together there: a host waits for
    a delayed acknowledgement before it probes. Told as a timeout."""
    talk = tape.talk()
    begin = talk.open()
    talk.bulk(begin, range(9))
    talk.data(begin + 30, 9, acked=False)
    talk.data(begin + 30 + SILENCE_MS, 9)
    talk.expect(there={"retransmitted_packets": 1, "retransmitted_bytes": talk.segment_bytes,
                       "retransmissions": {"timeout": 1}})


def spurious_timeout_reported_by_dsack(tape):
    """The path holds everything back for 300 ms. The sender's timer expires; then the original is
    acknowledged after all, and its copy is reported as a duplicate (DSACK)."""
    talk = tape.talk()
    begin = talk.open()
    size = talk.segment_bytes
    talk.bulk(begin, range(4))
    talk.data(begin + 0.4, 4, acked=False)
    talk.data(begin + 0.4 + SILENCE_MS, 4, acked=False)
    talk.acks(begin + 300, 5)
    talk.ack(begin + 0.4 + SILENCE_MS + 300, 5 * size, sack=[(4 * size, 5 * size)])
    talk.expect(there={"retransmitted_packets": 1, "retransmitted_bytes": size,
                       "retransmissions": {"timeout": 1, "spurious": 1}},
                back={"dsack_acks": 1})


def spurious_for_a_lost_acknowledgement(tape):
    """At the receiver: the acknowledgement of the last segment is lost behind the tap, so the
    segment comes again 210 ms after the tap had seen it acknowledged."""
    talk = tape.talk(at_receiver=True)
    begin = talk.open()
    size = talk.segment_bytes
    talk.bulk(begin, range(6))
    talk.data(begin + 0.6 + SILENCE_MS, 5, acked=False)
    talk.ack(begin + 0.7 + SILENCE_MS, 6 * size, sack=[(5 * size, 6 * size)])
    talk.expect(there={"retransmitted_packets": 1, "retransmitted_bytes": size,
                       "retransmissions": {"timeout": 1, "spurious": 1}},
                back={"dsack_acks": 1})


def lost_before_the_tap(tape):
    """At the receiver: segment 5 was lost on its way to the tap, where it is seen once, a round
    trip behind those after it, with a later identification and timestamp."""
    talk = tape.talk(at_receiver=True)
    begin = talk.open()
    talk.bulk(begin, range(5))
    talk.data(begin + 0.5, 5, acked=False, passes=())
    talk.bulk(begin + 0.6, range(6, 10), acked=False)
    for place, number in enumerate(range(6, 10)):
        talk.acks(begin + 0.65 + place * 0.1, 5, sack=[(6, number + 1)])
    talk.data(begin + 11, 5, acked=False)
    talk.acks(begin + 11.05, 10)
    talk.expect(there={"retransmitted_packets": 1, "retransmitted_bytes": talk.segment_bytes,
                       "retransmissions": {"fast": 1}, "lost_before_tap": 1,
                       "unique_bytes": 10 * talk.segment_bytes},
                back={"duplicate_acks": 4})


def partial_overlap(tape):
    """The last kilobyte of three is lost; the sender's host puts it together with what was written
    meanwhile, and sends half old and half new."""
    talk = tape.talk()
    begin = talk.open()
    for place in range(3):
        talk.segment(begin + place * 0.1, THERE, place * 1000, 1000)
    talk.ack(begin + 10.1, 2000)
    talk.segment(begin + SILENCE_MS, THERE, 2000, 1400)
    talk.ack(begin + SILENCE_MS + 10, 3400)
    talk.expect(there={"retransmitted_packets": 1, "retransmitted_bytes": 1000,
                       "retransmissions": {"timeout": 1}, "unique_bytes": 3400})


def retransmission_lost_again(tape):
    """Segment 2 of 12 is lost, and so is its fast retransmission; reports go on, and after silence
    the timer sends it a third time."""
    talk = tape.talk()
    begin = talk.open()
    talk.bulk(begin, range(2))
    talk.bulk(begin + 0.2, range(2, 12), acked=False)
    for place, number in enumerate(range(3, 12)):
        talk.acks(begin + 10.3 + place * 0.1, 2, sack=[(3, number + 1)])
    talk.data(begin + 10.55, 2, acked=False)
    talk.data(begin + 11.2 + SILENCE_MS, 2, acked=False)
    talk.acks(begin + 21.2 + SILENCE_MS, 12)
    talk.expect(there={"retransmitted_packets": 2, "retransmitted_bytes": 2 * talk.segment_bytes,
                       "retransmissions": {"fast": 1, "timeout": 1}})


def syn_sent_again(tape):
    """The first SYN finds nobody; the second, a second later, does. A packet, and no bytes."""
    talk = tape.talk()
    talk.syn(0)
    begin = talk.open(1000)
    talk.bulk(begin, range(3))
    talk.expect(there={"retransmitted_packets": 1, "retransmitted_bytes": 0,
                       "retransmissions": {"timeout": 1}})


def fin_sent_again(tape):
    """The sender's FIN is lost, and sent again by the timer."""
    talk = tape.talk()
    begin = talk.open()
    size = talk.segment_bytes
    talk.bulk(begin, range(3))
    talk.segment(begin + 20, THERE, 3 * size, 0, flags=FIN | ACK)
    talk.close(begin + 20 + SILENCE_MS, 3 * size)
    talk.expect(there={"retransmitted_packets": 1, "retransmitted_bytes": 0,
                       "retransmissions": {"timeout": 1}})


def reset(tape):
    """The receiver's program dies in the middle of the stream: its host answers with RST."""
    talk = tape.talk()
    begin = talk.open()
    talk.bulk(begin, range(4))
    talk.data(begin + 20, 4, acked=False)
    talk.segment(begin + 30, BACK, 0, 0, flags=RST | ACK)


def refused(tape):
    """Nobody listens: a SYN is answered by RST, and no byte passes."""
    talk = tape.talk()
    talk.syn(0)
    talk.segment(RTT_MS, BACK, -1, 0, flags=RST | ACK)
    talk.expect(there={"unique_bytes": 0}, handshake_seen=False)
