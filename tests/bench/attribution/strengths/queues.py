"""A local link before which a queue stands from the first packet on: the job's own, or that of others
at either end. However long it is, the path is no far one."""

from strengths.lan import B_TO_A

QUEUES_MS = (5, 20, 50, 200)
OWN_MBPS, SHARED_MBPS = 200, 300
BYTES_PER_MBPS_AND_MS = 125


def way(rate_mbps, queue_ms):
    return {"rate_mbps": rate_mbps, "queue_bytes": rate_mbps * BYTES_PER_MBPS_AND_MS * queue_ms}


def own(queue_ms):
    return ("lan-200mbps", {"topology": {"congestion_control": "cubic"},
                            "fault": {"there": way(OWN_MBPS, queue_ms)}})


def of_others(host, queue_ms):
    """Cubic fills whatever there is."""
    links = [{"name": "lan", "between": ["a", "b"], "there": way(SHARED_MBPS, queue_ms)}]
    return ("competing", {"topology": {"congestion_control": "cubic", "links": links},
                          "fault": {"host": host, "streams": 2},
                          "truth": B_TO_A if host == "b" else {}})


ALL = {**{f"queue-own-{ms}ms": own(ms) for ms in QUEUES_MS},
       **{f"queue-of-others-{host}-{ms}ms": of_others(host, ms)
          for ms in QUEUES_MS for host in "ab"}}
