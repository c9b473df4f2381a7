from app.settings import settings

wsgi_app = "app.main:app"
worker_class = "uvicorn_worker.UvicornWorker"
bind = f"{settings.host}:{settings.port}"
workers = settings.workers
graceful_timeout = 10
