# https://docs.aiohttp.org/en/stable/deployment.html#start-gunicorn

from app.settings import Settings

settings = Settings.from_environment()

wsgi_app = "app.gunicorn:app"
bind = f"{settings.host}:{settings.port}"
workers = settings.workers
worker_class = "aiohttp.GunicornUVLoopWebWorker"
# https://gunicorn.org/reference/settings/#graceful_timeout
graceful_timeout = 10
# https://gunicorn.org/reference/settings/#keepalive: what aiohttp itself has
keepalive = 75
# https://gunicorn.org/reference/settings/#control_socket_disable: nothing outside this folder
control_socket_disable = True
