"""What passes the tap in another order, more than once, or at a time that cannot be: the tap is at
the receiver, unless something else is said."""

from talk import RTT_MS, THERE


def reordering(tape):
    """Segment 5 is overtaken by two others. The receiver reports a hole twice; nothing is sent
    again."""
    talk = tape.talk(at_receiver=True)
    begin = talk.open()
    talk.bulk(begin, range(5))
    talk.data(begin + 0.5, 5, acked=False, passes=(0.25,))
    talk.bulk(begin + 0.6, (6, 7), acked=False)
    for place, number in enumerate((6, 7)):
        talk.acks(begin + 0.62 + place * 0.1, 5, sack=[(6, number + 1)])
    talk.acks(begin + 0.8, 8)
    talk.bulk(begin + 20, range(8, 12))
    talk.expect(there={"out_of_order": 1, "unique_bytes": 12 * talk.segment_bytes},
                back={"duplicate_acks": 2})


def reordering_without_identification(tape):
    """As above over IPv6, where packets have no identification: the timestamps have to tell."""
    talk = tape.talk(ipv6=True, at_receiver=True)
    begin = talk.open()
    talk.bulk(begin, range(5))
    talk.data(begin + 0.5, 5, acked=False, passes=(0.25,))
    talk.bulk(begin + 0.6, (6, 7), acked=False)
    for place, number in enumerate((6, 7)):
        talk.acks(begin + 0.62 + place * 0.1, 5, sack=[(6, number + 1)])
    talk.acks(begin + 0.8, 8)
    talk.expect(there={"out_of_order": 1})


def reordering_that_fools_the_sender(tape):
    """Segment 5 is overtaken by five others: after three reports the sender sends it again, in
    vain, for it arrives before its copy does. The copy is reported as a duplicate (DSACK). By
    then the tap has seen the hole filled, so the cause is none that it knows."""
    talk = tape.talk(at_receiver=True)
    begin = talk.open()
    size = talk.segment_bytes
    talk.bulk(begin, range(5))
    talk.data(begin + 0.5, 5, acked=False, passes=(0.55,))
    talk.bulk(begin + 0.6, range(6, 11), acked=False)
    for place, number in enumerate(range(6, 11)):
        talk.acks(begin + 0.62 + place * 0.1, 5, sack=[(6, number + 1)])
    talk.acks(begin + 1.1, 11)
    talk.data(begin + 10.9, 5, acked=False)
    talk.ack(begin + 10.95, 11 * size, sack=[(5 * size, 6 * size)])
    talk.expect(there={"out_of_order": 1, "retransmitted_packets": 1, "retransmitted_bytes": size,
                       "retransmissions": {"unknown": 1, "spurious": 1}},
                back={"dsack_acks": 1, "duplicate_acks": 5})


def copied_by_the_network(tape):
    """A switch delivers segment 5 twice, bit for bit the same; the receiver reports the copy."""
    talk = tape.talk(at_receiver=True)
    begin = talk.open()
    size = talk.segment_bytes
    talk.bulk(begin, range(5))
    talk.data(begin + 0.5, 5, passes=(0, 0.03))
    talk.ack(begin + 0.54, 6 * size, sack=[(5 * size, 6 * size)])
    talk.bulk(begin + 20, range(6, 10))
    talk.expect(there={"duplicates": 1, "unique_bytes": 10 * size}, back={"dsack_acks": 1})


def copied_by_the_capture(tape):
    """Two interfaces, a bond and its slave, saw every packet, 4 µs apart. They
    count once, and one segment is sent again for real, lost behind the tap at the sender."""
    tape.interfaces = 2
    tape.seen_at = ((0, 0), (1, 0.004))
    talk = tape.talk()
    begin = talk.open()
    talk.bulk(begin, range(5))
    talk.bulk(begin + 0.5, range(5, 12), acked=False)
    for place, number in enumerate(range(6, 12)):
        talk.acks(begin + 10.6 + place * 0.1, 5, sack=[(6, number + 1)])
    talk.data(begin + 10.85, 5, acked=False)
    talk.acks(begin + 20.85, 12)
    talk.expect(there={"retransmitted_packets": 1, "retransmitted_bytes": talk.segment_bytes,
                       "retransmissions": {"fast": 1}, "unique_bytes": 12 * talk.segment_bytes,
                       "duplicates": 15}, back={"duplicates": 13})


def clock_stepping_back(tape):
    """The capturing host's clock is set back by half a second in the middle of a transfer without
    loss."""
    talk = tape.talk()
    begin = talk.open()
    talk.bulk(begin, range(40))
    tape.clock_error = lambda at: 0 if at < begin + 11 else -500
    talk.expect(there={"rtt_ms": {"median": RTT_MS}, "unique_bytes": 40 * talk.segment_bytes})


def lost_by_the_capture(tape):
    """The capture missed segments 5 and 6, which arrived: the acknowledgements go over them, and
    nobody sends them again."""
    talk = tape.talk()
    begin = talk.open()
    talk.bulk(begin, range(5))
    talk.bulk(begin + 0.5, (5, 6), passes=())
    talk.bulk(begin + 0.7, range(7, 12))
    talk.expect(there={"missing_bytes": 2 * talk.segment_bytes,
                       "unique_bytes": 10 * talk.segment_bytes})


def first_segment_overtaken(tape):
    """The first segment of a stream passes the tap behind the second: out of order, and no loss."""
    talk = tape.talk(at_receiver=True)
    begin = talk.open()
    talk.segment(begin, THERE, 0, 1000, passes=(0.2,))
    talk.segment(begin + 0.1, THERE, 1000, 1000)
    talk.ack(begin + 0.3, 2000)
    talk.expect(there={"out_of_order": 1, "unique_bytes": 2000})
