import signal

import settings

options = settings.from_environment()

wsgi_app = "app:create_app()"
bind = f"{options['HOST']}:{options['PORT']}"
workers = options["WORKERS"]
worker_class = "gunicorn_gthread.Worker"
threads = options["THREADS"]
# https://gunicorn.org/reference/settings/#keepalive
keepalive = 5
# https://gunicorn.org/reference/settings/#timeout: longer than the longest request
timeout = 60
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
