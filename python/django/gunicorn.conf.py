from refservers import settings

wsgi_app = "refservers.wsgi"
worker_class = "gthread"
bind = f"[{settings.HOST}]:{settings.PORT}"  # brackets as IPv6 needs them
workers = settings.WORKERS
threads = settings.THREADS
graceful_timeout = 10
