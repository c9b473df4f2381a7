from django.urls import path

from api import problems, views

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

handler400 = problems.bad_request
handler404 = problems.not_found
handler500 = problems.server_error
