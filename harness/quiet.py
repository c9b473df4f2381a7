"""Lets Ctrl-C end a program without a traceback until its task handles signals: import it first."""

import signal

if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
