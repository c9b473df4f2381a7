from aiohttp import web

from app import files, views

ROUTES = [
    web.get("/index", views.index),
    web.get("/json", views.hello),
    web.get("/mongo", views.mongo),
    web.get("/agents", views.agents),
    web.get("/files/{name}", files.file),
    web.get("/gridfs/{name}", files.gridfs),
    web.get("/sleep", views.sleep),
    web.get("/slow_api", views.slow_api),
]
