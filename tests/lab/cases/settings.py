"""Settings before and after, and a probe's ceiling under a job: documents of probes that `compare`
puts side by side, and those that `diagnose` holds a job against."""

import json

from checks import between, holds, same
from watched import Both

PROBE = ["chokepoint", "probe", "tcp", "--time", "0.4", "--json", "--quiet"]
SYSCTL = "net.ipv4.tcp_congestion_control"
MEGABYTE = 1_000_000


def shaped(lab, rate_mbps=200):
    link = lab.link(lab.host("left"), lab.host("right"), rate_mbps=rate_mbps)
    link.b.host.serve(["chokepoint", "serve", "--insecure-open"], port=5210)
    return link


def kept(lab, name, document):
    file = lab.folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document))
    return file


def probe(link):
    return link.a.host.json([*PROBE, link.b.ipv4])


def test_what_was_set_in_between_is_named(lab):
    """At both ends, whichever was changed."""
    link = shaped(lab)
    for name, congestion in (("before", "cubic"), ("after", "reno")):
        for end in (link.a, link.b):
            end.host.run(["sysctl", "-qw", f"{SYSCTL}={congestion}"])
        for trial in range(2):
            kept(lab, f"{name}/{trial}.json", probe(link))
    told = link.a.host.json(["chokepoint", "compare", lab.folder / "before", lab.folder / "after",
                             "--by", "folder", "--json"])
    same(told["of"], "probes", "what is compared")
    same(told["metric"], "throughput_mbps", "the figure")
    same([len(group["runs"]) for group in told["groups"]], [2, 2], "tests in each row")
    between(told["groups"][0]["figures"]["throughput_mbps"]["mean"], 150, 200, "throughput")
    found = [fact for fact in told["groups"][1]["difference"]["host_facts"]
             if fact["key"] == SYSCTL]
    same([(fact["before"], fact["after"]) for fact in found], [("cubic", "reno")], "what was set")
    same(len(found[0]["hosts"]), 2, "hosts on which it was set")


def diagnosed(lab, link, *flags):
    return link.a.host.json(["chokepoint", "diagnose", lab.folder / "run", "--json", *flags])


def test_a_probe_before_the_run_is_its_ceiling(lab):
    """One that was recorded, and one that is given as a file."""
    link = shaped(lab)
    document = probe(link)
    link.a.host.run([*PROBE, "--receive", "--record", lab.folder / "run", "--node", "left",
                     link.b.ipv4])
    Both(lab, link, "--steps", 30, "--bytes", 2 * MEGABYTE).wait()
    ways = {(each["from"], each["to"]): each for each in diagnosed(
        lab, link, "--ceiling", kept(lab, "given.json", document))["ceilings"]}
    same(set(ways), {("left", "right"), ("right", "left")}, "paths with a ceiling")
    same(ways["left", "right"]["source"].split("/")[-1], "given.json", "where the one came from")
    holds(ways["right", "left"]["source"].startswith("probe "), "where the other came from")
    for way in ways.values():
        between(way["share_percent"], 60, 140, "what the job reached of it")
    fast = kept(lab, "fast.json", {**document, "throughput_mbps": 9000})
    plain = diagnosed(lab, link)["verdict"]
    against = diagnosed(lab, link, "--ceiling", fast)
    holds(any(each["share_percent"] < 5 for each in against["ceilings"]), "no ceiling is far")
    same(against["verdict"]["class"], plain["class"], "class")
    if plain["class"] == "lan-bandwidth" and plain["where"]["from"] == "left":
        holds(against["verdict"]["confidence"] < plain["confidence"], "confidence is as before")
        holds("9.00 Gb/s" in against["verdict"]["against"], "nothing is said against it")


def test_a_run_names_what_its_host_was_set_to(lab):
    link = shaped(lab)
    for name, congestion in (("one", "cubic"), ("two", "reno")):
        link.a.host.run(["sysctl", "-qw", f"{SYSCTL}={congestion}"])
        link.a.host.run(["chokepoint", "run", "--quiet", "--out", lab.folder / name, "--node",
                         "left", "--", "sleep", "1"])
    told = link.a.host.json(["chokepoint", "compare", lab.folder / "one", lab.folder / "two",
                             "--json"])
    facts = told["groups"][1]["difference"]["host_facts"]
    holds(any(fact["key"] == SYSCTL and fact["after"] == "reno" for fact in facts),
          f"the congestion control is not among {facts}")
