# https://docs.gunicorn.org/en/stable/settings.html

import signal

from app import settings

options = settings.from_environment()

wsgi_app = "app:create_app()"
bind = f"{options['HOST']}:{options['PORT']}"
workers = options["WORKERS"]
worker_class = "gthread"
threads = options["THREADS"]
keepalive = 5
timeout = 60
graceful_timeout = 10
control_socket_disable = True


def when_ready(server):
    signal.signal(signal.SIGINT, lambda *_: signal.raise_signal(signal.SIGTERM))


def post_worker_init(worker):
    signal.signal(signal.SIGINT, worker.handle_exit)
