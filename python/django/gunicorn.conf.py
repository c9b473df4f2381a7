from refservers import settings

wsgi_app = "refservers.wsgi"
worker_class = "gthread"
bind = f"[{settings.HOST}]:{settings.PORT}"  # brackets as IPv6 needs them
workers = settings.WORKERS
threads = settings.THREADS
graceful_timeout = 10


def worker_exit(server, worker):
    from django.db import connection

    from api.databases import client

    connection.close_pool()
    client.close()
