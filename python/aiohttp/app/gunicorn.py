from aiohttp import web

from app.main import create_app
from app.settings import Settings


async def app() -> web.Application:
    return create_app(Settings.from_environment())
