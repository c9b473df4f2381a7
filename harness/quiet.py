"""Prevents tracebacks on Ctrl-C until the task handles signals: import this module first."""

import signal

if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
