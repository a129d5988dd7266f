"""What must hold of a scenario that was played: the fault shows in the job's own step time as the
truth claims, so that a diagnosis can be held against it."""

from checks import between, holds, near, same

LEAST_STEPS = 5
MOST_OFF = 0.02
HEADERS_BYTES = {None: 66, 4: 66, 6: 86}  # of Ethernet, IP and TCP with timestamps


def all_of(one, result):
    as_expected(one, result)
    if result.record:
        record_is_whole(one, result)


def as_expected(one, result):
    holds(len(result.steps_ms) >= LEAST_STEPS, f"only {len(result.steps_ms)} steps")
    if one.expected.step_ms:
        between(result.usual_ms, *one.expected.step_ms, "usual step, ms")
    if one.expected.longest_ms:
        between(result.longest_ms, *one.expected.longest_ms, "longest step, ms")
    failed = {host: status for host, status in result.statuses.items() if status != 0}
    same(not failed, one.expected.is_whole, f"all ranks ended well (exit statuses {failed})")


def record_is_whole(one, result):
    """Each host's part of the record, held against what is known without it."""
    told = result.record
    same(told["unreadable"], [], "parts that cannot be read")
    same(told["labels"].get("parallelism"), one.job.label, "label")
    nodes = {node["name"]: node for node in told["nodes"]}
    same(sorted(nodes), sorted(one.ranks), "nodes")
    for host, node in nodes.items():
        holds(node["complete"] and node["damage"] is None, f"{host}: not complete: {node}")
        same(node["exit_status"], as_a_shell_tells(result.statuses[host]), f"{host}: exit status")
        source = "marks" if one.job.output == "marks" else "output"
        same(node["steps"]["source"], source, f"{host}: where its steps are from")
        # A line ends a step; when the first one began nobody has seen. A mark begins one; when the
        # last one ended nobody has.
        own = result.steps[host] - 1
        between(node["steps"]["count"], 0.95 * own, 1.05 * own + 1, f"{host}: steps")
    if is_only_the_jobs(one):
        volume_is_whole(one, result, nodes)


def volume_is_whole(one, result, nodes):
    """What a host receives is known from what the other one sends, but for what got lost: less
    than would show."""
    sent = {host: wire_bytes(one, counters) for host, counters in result.counters.items()}
    for host, node in nodes.items():
        near(node["volume"]["sent_bytes"], sent[host], MOST_OFF, f"{host}: bytes sent")
        if len(one.ranks) == 2:
            other = sum(sent.values()) - sent[host]
            near(node["volume"]["received_bytes"], other, MOST_OFF, f"{host}: bytes received")


def as_a_shell_tells(status):
    return status if status >= 0 else 128 - status


def is_only_the_jobs(one):
    """Nothing else passes the interface, and the job ends well."""
    return one.fault.get("kind") not in ("competing", "killed")


def wire_bytes(one, counters):
    """As Ethernet frames, each segment one of its own."""
    uncounted = max(0, counters["sent_segments"] - counters["sent_packets"])
    return counters["sent_bytes"] + uncounted * HEADERS_BYTES[one.job.family]
