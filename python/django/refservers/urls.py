from importlib import import_module

from api.converters import FileNameConverter
from django.conf import settings
from django.urls import path, register_converter

views = import_module(settings.VIEWS)

register_converter(FileNameConverter, "file_name")

urlpatterns = [
    path("index", views.index),
    path("json", views.hello),
    path("mongo", views.mongo),
    path("agents", views.agents_sql if settings.AGENTS_IN_SQL else views.agents),
    path("files/<file_name:name>", views.file),
    path("gridfs/<file_name:name>", views.gridfs),
    path("sleep", views.sleep),
    path("slow_api", views.slow_api),
]

handler400 = "api.responses.bad_request"
handler404 = "api.responses.not_found"
handler500 = "api.responses.server_error"
