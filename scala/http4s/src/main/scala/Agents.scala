package app

import scala.concurrent.duration.*

import cats.effect.{IO, Resource}
import com.zaxxer.hikari.HikariConfig
import doobie.*
import doobie.hikari.HikariTransactor
import doobie.implicits.*
import io.circe.derivation.{Configuration, ConfiguredEncoder}

private given Configuration = Configuration.default.withSnakeCaseMemberNames

final case class Agent(
    number: String,
    extension: Option[String],
    context: Option[String],
    stateInterface: Option[String],
    status: String,
    extensionStatus: String,
    paused: String
) derives ConfiguredEncoder

final class Agents(transactor: Transactor[IO]):

  // JDBC blocks: an answer that is late is not waited for
  def all: IO[List[Agent]] = sql"""
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id ORDER BY f.number
  """.query[Agent].to[List].transact(transactor).timeoutAndForget(4.seconds)

object Agents:

  def resource(settings: Settings): Resource[IO, Agents] =
    val config = HikariConfig()
    config.setJdbcUrl(settings.postgresql.url)
    settings.postgresql.user.foreach(config.setUsername)
    settings.postgresql.password.foreach(config.setPassword)
    config.setMaximumPoolSize(settings.postgresqlPoolSize)
    config.setInitializationFailTimeout(-1) // the server starts without PostgreSQL, too
    config.setConnectionTimeout(3000)
    config.setValidationTimeout(2000)
    for (name <- Seq("loginTimeout", "connectTimeout")) config.addDataSourceProperty(name, "3")
    config.addDataSourceProperty("socketTimeout", "5")
    HikariTransactor.fromHikariConfig[IO](config).map(Agents(_))
