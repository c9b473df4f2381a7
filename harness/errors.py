"""Errors that end a task with one line and an exit status."""


class TaskError(Exception):
    """The task failed: exit status 1."""

    exit_code = 1


class UsageError(TaskError):
    """Bad usage, or a missing prerequisite: exit status 2."""

    exit_code = 2
