from refservers.settings import env

wsgi_app = "refservers.wsgi"
worker_class = "gthread"
bind = f"{env.str('HOST', '127.0.0.1')}:{env.int('PORT', 8000)}"
workers = env.int("WORKERS", 1)
threads = env.int("THREADS", 50)
graceful_timeout = 10
