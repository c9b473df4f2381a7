from typing import Annotated

from pydantic import DirectoryPath, Field, HttpUrl, PositiveInt, UrlConstraints
from pydantic_core import MultiHostUrl
from pydantic_settings import BaseSettings, SettingsConfigDict

# MongoDsn adds a port, which mongodb+srv does not allow; PostgresDsn takes SQLAlchemy's schemes.
MongoUrl = Annotated[MultiHostUrl, UrlConstraints(allowed_schemes=["mongodb", "mongodb+srv"])]
PostgresUrl = Annotated[MultiHostUrl, UrlConstraints(allowed_schemes=["postgres", "postgresql"])]


class Settings(BaseSettings):
    # Errors name the variables as the environment does, and do not repeat a password.
    model_config = SettingsConfigDict(alias_generator=str.upper, hide_input_in_errors=True)

    host: str = "127.0.0.1"
    port: Annotated[int, Field(gt=0, lt=65536)] = 8000
    workers: PositiveInt = 1
    mongodb_url: MongoUrl = MultiHostUrl("mongodb://127.0.0.1:27017/refservers")
    mongodb_pool_size: PositiveInt = 32
    database_url: PostgresUrl = MultiHostUrl("postgresql://refservers@127.0.0.1:5432/refservers")
    database_pool_size: PositiveInt = 10
    files_dir: DirectoryPath
    slow_api_url: HttpUrl


settings = Settings()
