from app.settings import settings

wsgi_app = "app.main:create_app()"
worker_class = "gthread"
bind = f"[{settings.HOST}]:{settings.PORT}"  # brackets as IPv6 needs them
workers = settings.WORKERS
threads = settings.THREADS
graceful_timeout = 10
