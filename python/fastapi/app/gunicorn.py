import signal
from types import FrameType

from uvicorn_worker import UvicornWorker


class Worker(UvicornWorker):
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # https://github.com/Kludex/uvicorn-worker/issues/2: SIGQUIT would stop nothing
        signal.raise_signal(signal.SIGTERM)
