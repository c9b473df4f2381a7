from django.db import models

# Only the columns that are read here, of tables that Django does not manage.


class AgentFeature(models.Model):
    id = models.IntegerField(primary_key=True)
    number = models.CharField(max_length=40, unique=True)

    class Meta:
        managed = False
        db_table = "agentfeatures"


class AgentLoginStatus(models.Model):
    agent = models.OneToOneField(AgentFeature, models.DO_NOTHING, primary_key=True)
    extension = models.CharField(max_length=80)
    context = models.CharField(max_length=80)
    state_interface = models.CharField(max_length=128)

    class Meta:
        managed = False
        db_table = "agent_login_status"
