"""What the capture tells of one flow, held against what the sender's kernel knows of it."""

from checks import same

CAUSES = ("fast", "timeout", "probe", "unknown")


def agrees(flow, transfer, place="sender"):
    """As many segments and bytes were sent again as the kernel says, and each has one cause."""
    found, told = flow["a_to_b"], transfer.final
    same([found["retransmitted_packets"], found["retransmitted_bytes"]],
         [told["total_retrans"], told["bytes_retrans"]], f"sent again, at the {place}'s tap")
    same(found["unique_bytes"], transfer.sent, f"bytes of the stream at the {place}'s tap")
    same(sum(found["retransmissions"][name] for name in CAUSES), found["retransmitted_packets"],
         f"the sum of the causes at the {place}'s tap")


def oddities(flow):
    """What is not as on a path without faults, of the data."""
    names = ("retransmitted_packets", "lost_before_tap", "out_of_order", "duplicates")
    return {name: flow["a_to_b"][name] for name in names if flow["a_to_b"][name]}
