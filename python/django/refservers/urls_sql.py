from api import views
from django.urls import path

from refservers import urls
from refservers.urls import handler400, handler404, handler500  # noqa: F401

urlpatterns = [path("agents", views.agents_sql), *urls.urlpatterns]
