"""The error of a turn that failed for a reason that is not the server's."""

from harness.errors import TaskError


class Disturbed(TaskError):
    """Something other than the server failed: the turn is tried again."""
