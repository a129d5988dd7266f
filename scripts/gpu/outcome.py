"""What a check comes to. Checks return a Passed or raise one of the others."""


class Passed:
    def __init__(self, text, **figures):
        self.text = text
        self.figures = figures


class Failed(Exception):
    def __init__(self, text, **figures):
        super().__init__(text)
        self.figures = figures


class Skipped(Exception):
    """The machine lacks something."""


def decide(is_good, text, **figures):
    if not is_good:
        raise Failed(text, **figures)
    return Passed(text, **figures)
