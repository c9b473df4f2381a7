# https://uvicorn.dev/deployment/#gunicorn

from app.settings import Settings

settings = Settings.from_environment()

wsgi_app = "app.main:app"
bind = f"{settings.host}:{settings.port}"
workers = settings.workers
worker_class = "app.gunicorn.Worker"
# https://gunicorn.org/reference/settings/#graceful_timeout
graceful_timeout = 10
# https://gunicorn.org/reference/settings/#keepalive: what Uvicorn itself has
keepalive = 5
# https://gunicorn.org/reference/settings/#control_socket_disable: nothing outside this folder
control_socket_disable = True
