from environs import env, validate

HOST = env.str("HOST", "127.0.0.1")
PORT = env.int("PORT", 8000)
MONGODB_URL = env.str(
    "MONGODB_URL",
    "mongodb://127.0.0.1:27017/refservers",
    validate=validate.Regexp(r"mongodb(\+srv)?://"),
)
MONGODB_POOL_SIZE = env.int("MONGODB_POOL_SIZE", 32)
DATABASE_URL = env.str(
    "DATABASE_URL",
    "postgresql://refservers@127.0.0.1:5432/refservers",
    validate=validate.Regexp(r"postgres(ql)?://"),
)
DATABASE_POOL_SIZE = env.int("DATABASE_POOL_SIZE", 10)
FILES_DIR = env.path("FILES_DIR", validate=validate.Predicate("is_dir")).resolve()
SLOW_API_URL = env.str("SLOW_API_URL", validate=validate.URL(require_tld=False))
