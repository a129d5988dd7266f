"""What every fault has in common: when it is there, and what it may change."""


class Fault:
    """None. What the others do is what of this they replace."""

    def __init__(self, stage, words):
        self.stage, self.words = stage, words
        self.from_s, self.until_s = words.get("from_s"), words.get("until_s")
        self.is_on = self.was_on = False

    def link(self):
        return self.stage.links[self.words["link"]]

    def host(self):
        return self.stage.hosts[self.words["host"]]

    def link_of_the_job(self, otherwise):
        return otherwise

    def is_by_host_name(self):
        """Whether the job is not told an interface, and takes that of the host's name."""
        return False

    def options(self):
        """More of the job's."""
        return {}

    def before_the_job(self):
        if self.from_s is None:
            self.set(True, {})

    def at(self, seconds, jobs):
        """Seconds after the first step."""
        if self.from_s is not None and not self.was_on and seconds >= self.from_s:
            self.set(True, jobs)
        if self.until_s is not None and self.is_on and seconds >= self.until_s:
            self.set(False, jobs)

    def set(self, is_on, jobs):
        self.is_on, self.was_on = is_on, True
        (self.begin if is_on else self.end)(jobs)

    def begin(self, jobs):
        pass

    def end(self, jobs):
        pass

    def slow_down(self, process):
        """What else runs on the hosts is as slow as the job, where the fault is of processes."""

    def close(self):
        pass
