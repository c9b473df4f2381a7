"""Events that the suite's processes report to their parent: lines of JSON on stdout."""

import json
import sys
from threading import Lock

_OUTPUT = Lock()


def emit(**event: object) -> None:
    """Report an event."""
    with _OUTPUT:
        print(json.dumps(event), file=sys.__stdout__, flush=True)
