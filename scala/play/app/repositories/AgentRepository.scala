package repositories

import javax.sql.DataSource

import scala.concurrent.Future
import scala.concurrent.TimeoutException
import scala.util.Using

import anorm._
import models.Agent
import play.api.libs.concurrent.CustomExecutionContext

trait AgentRepository {
  def list(): Future[Seq[Agent]]
}

final class PostgresAgentRepository(
    database: DataSource,
    dispatcher: CustomExecutionContext,
    breaker: Breaker
) extends AgentRepository {

  private val agent = Macro.indexedParser[Agent]

  def list(): Future[Seq[Agent]] = breaker {
    val deadline = Breaker.timeout.fromNow
    Future {
      if (deadline.isOverdue()) throw new TimeoutException("no thread was free in time")
      Using.resource(database.getConnection) { implicit connection =>
        SQL"""
          SELECT f.number, s.extension, s.context, s.state_interface,
                 'offline' AS status, '-1' AS extension_status, '0' AS paused
            FROM agentfeatures f
            LEFT JOIN agent_login_status s ON s.agent_id = f.id
           ORDER BY f.number
        """.as(agent.*)
      }
    }(dispatcher)
  }
}
