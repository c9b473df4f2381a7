import logging
from http import HTTPStatus

import asyncpg
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pymongo.errors import ConnectionFailure
from starlette.exceptions import HTTPException

# asyncpg raises the socket's own OSError when it cannot connect.
UNREACHABLE = (ConnectionFailure, asyncpg.PostgresConnectionError, OSError)


def problem(status: int, headers: dict[str, str] | None = None, **members: str) -> JSONResponse:
    content = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    return JSONResponse(content | members, status, headers, "application/problem+json")


async def http_problem(request: Request, error: HTTPException) -> JSONResponse:
    return problem(error.status_code, error.headers)


async def parameter_problem(request: Request, error: RequestValidationError) -> JSONResponse:
    return problem(400, detail="; ".join(f"{e['loc'][-1]}: {e['msg']}" for e in error.errors()))


async def database_problem(request: Request, error: Exception) -> JSONResponse:
    logging.getLogger("uvicorn.error").error("%s: %r", request.url.path, error)
    return problem(503)


async def server_problem(request: Request, error: Exception) -> JSONResponse:
    return problem(500)


handlers = {
    HTTPException: http_problem,
    RequestValidationError: parameter_problem,
    **dict.fromkeys(UNREACHABLE, database_problem),
    Exception: server_problem,
}
