"""Ends a task without a traceback, on Ctrl-C or with its parent: import this module first.

Later, the task handles signals itself (:mod:`harness.task`).
"""

import ctypes
import os
import signal
import sys

if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

if sys.platform == "linux":
    # just gives its id (-X parent=ID): if it has died already, another process is the parent now.
    _parent = int(sys._xoptions.get("parent", os.getppid()))
    _PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != _parent:
        os.kill(os.getpid(), signal.SIGTERM)
