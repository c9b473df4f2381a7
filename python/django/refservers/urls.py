from functools import partial

from django.urls import path

from api import views
from api.problems import problem

urlpatterns = [
    path("index", views.index),
    path("json", views.hello),
    path("mongo", views.mongo),
    path("notes", views.create_note),
    path("notes/<note_id>", views.read_note, name="note"),
    path("agents", views.agents),
    path("files/<name>", views.files),
    path("gridfs/<name>", views.gridfs),
    path("sleep", views.sleep),
    path("slow_api", views.slow_api),
]

handler400 = partial(problem, status=400)
handler404 = partial(problem, status=404)
handler500 = problem
