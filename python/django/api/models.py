from typing import Any

from django.db import connection, models
from django.db.models import F, QuerySet, Value

# The tables are not Django's to make (managed = False); columns that no view reads are left out.


class AgentFeatureQuerySet(QuerySet["AgentFeature"]):
    def with_status(self) -> QuerySet["AgentFeature", dict[str, Any]]:
        return self.order_by("number").values(
            "number",
            extension=F("login_status__extension"),
            context=F("login_status__context"),
            state_interface=F("login_status__state_interface"),
            status=Value("offline"),
            extension_status=Value("-1"),
            paused=Value("0"),
        )


class AgentFeature(models.Model):
    id = models.IntegerField(primary_key=True)
    number = models.CharField(max_length=40, unique=True)

    objects = AgentFeatureQuerySet.as_manager()

    class Meta:
        managed = False
        db_table = "agentfeatures"


class AgentLoginStatus(models.Model):
    agent = models.OneToOneField(
        AgentFeature, models.DO_NOTHING, primary_key=True, related_name="login_status"
    )
    extension = models.CharField(max_length=80)
    context = models.CharField(max_length=80)
    state_interface = models.CharField(max_length=128)

    class Meta:
        managed = False
        db_table = "agent_login_status"


AGENTS_SQL = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f
      LEFT JOIN agent_login_status s ON s.agent_id = f.id
     ORDER BY f.number
"""


def agents_by_sql() -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(AGENTS_SQL)
        names = [column.name for column in cursor.description]
        # strict would cost a third more
        return [dict(zip(names, row)) for row in cursor.fetchall()]  # noqa: B905
