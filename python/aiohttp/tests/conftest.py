import pytest
from app.main import init_app


@pytest.fixture
async def client(aiohttp_client):
    return await aiohttp_client(await init_app())
