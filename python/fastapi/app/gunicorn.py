import signal
from types import FrameType

from uvicorn_worker import UvicornWorker


class Worker(UvicornWorker):
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Gunicorn passes SIGINT on as SIGQUIT: https://github.com/Kludex/uvicorn-worker/issues/2
        signal.raise_signal(signal.SIGTERM)
