import getpass
import os
import signal
import socket
import sys
import tempfile
from pathlib import Path
from string import Template
from subprocess import Popen

import settings


def main(model: str) -> int:
    """Serve with uWSGI, and nginx in front of it, until one of them ends: SIGTERM ends nginx."""
    options = {name: str(value) for name, value in settings.from_environment().items()}
    with tempfile.TemporaryDirectory(prefix="flask-") as scratch:
        named = options | {"SCRATCH": scratch, "USER": getpass.getuser()}
        config = Path(scratch, "nginx.conf")
        config.write_text(Template(Path("nginx.conf").read_text()).safe_substitute(named))
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{scratch}/socket")
            listener.listen(4096)
            nginx = Popen(["nginx", "-e", "stderr", "-c", config])
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: nginx.send_signal(signal.SIGQUIT))
            uwsgi = Popen(
                [".venv/bin/uwsgi", "--ini", f"uwsgi.ini:{model}"],
                stdin=listener,
                env=os.environ | options,
            )
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        nginx.send_signal(signal.SIGQUIT)  # it finishes what is in flight
        status = nginx.wait() or uwsgi.poll() or 0
        uwsgi.send_signal(signal.SIGINT)
        uwsgi.wait()
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
