import signal

from refservers import settings

wsgi_app = "refservers.wsgi"
bind = f"{settings.HOST}:{settings.PORT}"
workers = settings.WORKERS
worker_class = "refservers.worker.Worker"
threads = settings.THREADS
# https://gunicorn.org/reference/settings/#keepalive: longer than a proxy has
keepalive = 75
# https://gunicorn.org/reference/settings/#graceful_timeout
graceful_timeout = 10
# https://gunicorn.org/reference/settings/#control_socket_disable: nothing outside this folder
control_socket_disable = True


def on_starting(server):
    # SIGINT would cut what is in flight
    server.handle_int = server.handle_term


def post_worker_init(worker):
    # Ctrl-C reaches the workers too: the master tells them when to stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
