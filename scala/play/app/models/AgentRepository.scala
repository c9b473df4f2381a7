package models

import javax.inject.Inject

import scala.concurrent.{Future, TimeoutException}
import scala.concurrent.duration._

import anorm._
import org.apache.pekko.actor.ActorSystem
import play.api.db.Database
import play.api.libs.concurrent.{CustomExecutionContext, Futures}
import play.api.libs.json._

final case class Agent(
    number: String,
    extension: Option[String],
    context: Option[String],
    stateInterface: Option[String],
    status: String,
    extensionStatus: String,
    paused: String
)

object Agent {
  private implicit val configuration: JsonConfiguration =
    JsonConfiguration(JsonNaming.SnakeCase, OptionHandlers.WritesNull)

  implicit val writes: OWrites[Agent] = Json.writes[Agent]

  val parser: RowParser[Agent] = Macro.namedParser[Agent](Macro.ColumnNaming.SnakeCase)
}

class DatabaseExecutionContext @Inject() (system: ActorSystem)
    extends CustomExecutionContext(system, "database.dispatcher")

class AgentRepository @Inject() (database: Database, futures: Futures)(implicit ec: DatabaseExecutionContext) {

  private val Agents = SQL("""
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id ORDER BY f.number
  """)

  /** Waits no longer than 4 s, for a thread and for the database. */
  def list(): Future[List[Agent]] = {
    val deadline = 4.seconds.fromNow
    futures.timeout(4.seconds)(Future {
      if (deadline.isOverdue()) throw new TimeoutException("no thread was free") // its request has been answered
      database.withConnection(implicit connection => Agents.as(Agent.parser.*))
    })
  }
}
