from pydantic import DirectoryPath, Field, HttpUrl, PositiveInt
from pydantic_settings import BaseSettings


class Settings(BaseSettings, env_file=".env", extra="ignore", hide_input_in_errors=True):
    HOST: str = "127.0.0.1"
    PORT: int = Field(8000, ge=1, le=65535)
    WORKERS: PositiveInt = 1
    MONGODB_URL: str = Field("mongodb://127.0.0.1:27017/refservers", pattern=r"^mongodb(\+srv)?://")
    MONGODB_POOL_SIZE: PositiveInt = 32
    DATABASE_URL: str = Field(
        "postgresql://refservers@127.0.0.1:5432/refservers", pattern=r"^postgres(ql)?://"
    )
    DATABASE_POOL_SIZE: PositiveInt = 10
    FILES_DIR: DirectoryPath
    SLOW_API_URL: HttpUrl


settings = Settings()
