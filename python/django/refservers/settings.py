from environs import Env, validate

positive = validate.Range(min=1)
mongodb = validate.Regexp(r"mongodb(\+srv)?://")
http = validate.URL(schemes={"http", "https"}, require_tld=False)

env = Env(eager=False)
env.read_env(".env", recurse=False)
HOST = env.str("HOST", "127.0.0.1")
PORT = env.int("PORT", 8000, validate=validate.Range(1, 65535))
WORKERS = env.int("WORKERS", 1, validate=positive)
THREADS = env.int("THREADS", 50, validate=positive)
MONGODB_URL = env.str("MONGODB_URL", "mongodb://127.0.0.1:27017/refservers", validate=mongodb)
MONGODB_POOL_SIZE = env.int("MONGODB_POOL_SIZE", 32, validate=positive)
database = env.dj_db_url("DATABASE_URL", "postgresql://refservers@127.0.0.1:5432/refservers")
DATABASE_POOL_SIZE = env.int("DATABASE_POOL_SIZE", 10, validate=positive)
MEDIA_ROOT = env.path("FILES_DIR", validate=validate.Predicate("is_dir"))
SLOW_API_URL = env.str("SLOW_API_URL", validate=http)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", ["127.0.0.1", "localhost", "[::1]"])
env.seal()  # names all faults at once

INSTALLED_APPS = ["api"]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.common.CommonMiddleware",
    "api.problems.ProblemMiddleware",
]
ROOT_URLCONF = "refservers.urls"
APPEND_SLASH = False
DATA_UPLOAD_MAX_MEMORY_SIZE = 2**20
TIME_ZONE = "UTC"

timeouts = {
    "connect_timeout": 3,
    "tcp_user_timeout": 4000,
    "options": "-c statement_timeout=4000",
}
pool = {"min_size": 0, "max_size": DATABASE_POOL_SIZE, "timeout": 3, "reconnect_timeout": 3}
DATABASES = {
    "default": {
        **database,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {**timeouts, **database.get("OPTIONS", {}), "pool": pool},
    }
}


def is_fault(record: object) -> bool:
    """Whether to log it: api.problems has logged 502 to 504, and 4xx are the client's."""
    return getattr(record, "status_code", 500) == 500


LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"faults": {"()": "django.utils.log.CallbackFilter", "callback": is_fault}},
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {
        "console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["faults"]}
    },
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {"gunicorn.http.wsgi": {"level": "ERROR"}},  # it warns of each HEAD
}
