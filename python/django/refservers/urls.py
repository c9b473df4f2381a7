from api import views
from django.urls import path

urlpatterns = [
    path("index", views.index),
    path("json", views.hello),
    path("mongo", views.mongo),
    path("agents", views.agents),
    path("files/<name>", views.files),
    path("gridfs/<name>", views.gridfs),
    path("sleep", views.sleep),
    path("slow_api", views.slow_api),
]

handler400 = "api.problems.bad_request"
handler404 = "api.problems.not_found"
handler500 = "api.problems.server_error"
