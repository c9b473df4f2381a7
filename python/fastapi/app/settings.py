import sys
from typing import Annotated, Any, Self

from pydantic import (
    DirectoryPath,
    Field,
    HttpUrl,
    PositiveInt,
    UrlConstraints,
    ValidationError,
    field_validator,
)
from pydantic_core import MultiHostUrl
from pydantic_settings import BaseSettings

# MongoDsn adds a port, which mongodb+srv does not allow; PostgresDsn takes SQLAlchemy's schemes
MongoUrl = Annotated[MultiHostUrl, UrlConstraints(allowed_schemes=["mongodb", "mongodb+srv"])]
PostgresUrl = Annotated[MultiHostUrl, UrlConstraints(allowed_schemes=["postgres", "postgresql"])]


class Settings(BaseSettings):
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=1, le=65535)] = 8000
    workers: PositiveInt = 1
    mongodb_url: MongoUrl = MultiHostUrl("mongodb://127.0.0.1:27017/refservers")
    mongodb_pool_size: PositiveInt = 32
    database_url: PostgresUrl = MultiHostUrl("postgresql://refservers@127.0.0.1:5432/refservers")
    database_pool_size: PositiveInt = 10
    files_dir: DirectoryPath
    slow_api_url: HttpUrl

    @field_validator("*", mode="before")
    @classmethod
    def is_not_empty(cls, value: Any) -> Any:
        if value == "":
            raise ValueError("must not be empty")
        return value

    @classmethod
    def from_environment(cls) -> Self:
        """Read the settings; a bad one ends the process."""
        try:
            return cls()
        except ValidationError as error:
            fault = error.errors()[0]
            print(f"bad setting: {str(fault['loc'][0]).upper()}: {fault['msg']}", file=sys.stderr)
            sys.exit(2)
