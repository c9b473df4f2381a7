"""Errors that end a task with one line and an exit status."""


class TaskError(Exception):
    """The task failed: exit status 1."""

    exit_code = 1


class UsageError(TaskError):
    """The task was asked for wrongly, or something it needs is missing: exit status 2."""

    exit_code = 2
