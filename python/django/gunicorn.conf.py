import signal

from refservers import settings

wsgi_app = "refservers.wsgi"
bind = f"{settings.HOST}:{settings.PORT}"
workers = settings.WORKERS
worker_class = "refservers.worker.Worker"
threads = settings.THREADS
# https://docs.gunicorn.org/en/stable/settings.html#keepalive
keepalive = 75
# https://docs.gunicorn.org/en/stable/settings.html#graceful-timeout
graceful_timeout = 10
control_socket_disable = True


def on_starting(server):
    # SIGINT would cut what is in flight
    server.handle_int = server.handle_term


def post_worker_init(worker):
    # Ctrl-C reaches the workers too: the master tells them when to stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
