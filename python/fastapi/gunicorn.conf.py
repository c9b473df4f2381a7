from app.settings import settings

wsgi_app = "app.main:app"
worker_class = "uvicorn_worker.UvicornWorker"
bind = f"[{settings.HOST}]:{settings.PORT}"  # brackets as IPv6 needs them
workers = settings.WORKERS
graceful_timeout = 10
keepalive = 65
