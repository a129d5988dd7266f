"""What 'chokepoint history' says, held against what changed."""

import re

PLACE = re.compile(r"\b(?:from|to|at) (host\d+)\b[^;]*(?:elsewhere|;|$)")
EVERYWHERE_HOSTS = 3


def seconds(text):
    """Of a time in UTC."""
    import datetime
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def spans(finding):
    return [(seconds(change["last_good"]), seconds(change["first_bad"]))
            for change in finding["changes"]]


def hosts_of(change):
    """That a change's subject is at; none of a job."""
    return set(re.findall(r"\bhost\d+\b", change["subject"].split("(")[0]))


def hosts_named(finding):
    """Those that all of its changes have in common; of several places none."""
    place = PLACE.search(finding["sentence"].split("; on ")[0])
    if place:
        return {place[1]}
    named = [hosts_of(change) for change in finding["changes"]]
    return set.intersection(*named) if named else set()


def is_in_time(finding, moment, slack):
    """Each of its changes encloses the moment, or misses it by one measurement at most."""
    return all(good - slack <= moment <= bad + slack for good, bad in spans(finding))


def is_place_right(finding, truth):
    """A job is at none, a path at both its ends."""
    named = hosts_named(finding)
    if truth.host:
        return truth.host in named
    touched = set().union(*(hosts_of(change) for change in finding["changes"]))
    return not touched or len(touched) >= EVERYWHERE_HOSTS


def is_of_a_job(finding):
    return not any(hosts_of(change) for change in finding["changes"])


def is_setting_right(finding, truth):
    names = [(each["host"], each["name"]) for each in finding["settings"]]
    if not truth.setting:
        return not names
    return bool(names) and names[0][1] == truth.setting and truth.host in ("", names[0][0])


def complaints(findings, truth, is_harmless, moment, slack):
    """What is not right, a line each. A job that became slower by what changed on a host need not
    be said to be there."""
    worse = [finding for finding in findings if finding["worse"]]
    if is_harmless:
        return [f"nothing changed: {finding['sentence']}" for finding in findings]
    if not worse:
        return ["not found"]
    wrong = []
    for finding in findings:
        if not is_in_time(finding, moment, slack):
            wrong.append(f"another time: {finding['sentence']}")
    placed = [finding for finding in worse if not (truth.host and is_of_a_job(finding))]
    if not placed:
        wrong.append("no place")
    for finding in placed:
        if not is_place_right(finding, truth):
            wrong.append(f"another place: {finding['sentence']}")
    for finding in worse:
        if not is_setting_right(finding, truth):
            wrong.append(f"another setting: {finding['sentence']}")
    return wrong
