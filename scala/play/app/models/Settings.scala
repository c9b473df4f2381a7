package models

import java.net.{InetAddress, URI}
import java.nio.file.{Files, Path}

import scala.concurrent.Await
import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.util.{Failure, Try}

import org.postgresql.Driver
import play.api.Configuration
import play.utils.UriEncoding.decodePathSegment
import reactivemongo.api.MongoConnection

/** What conf/application.conf takes from the environment. */
class Settings(configuration: Configuration) {

  lazy val filesDir: Path = get("files.dir", "FILES_DIR", "a folder") { folder =>
    Some(folder).filter(_.nonEmpty).map(Path.of(_).toRealPath()).filter(Files.isDirectory(_))
  }

  lazy val slowApiUrl: String = get("slow-api.url", "SLOW_API_URL", "an HTTP URL") { url =>
    val uri = new URI(url)
    Some(url).filter(_ => Seq("http", "https").contains(uri.getScheme) && uri.getAuthority != null)
  }

  private lazy val host = get("play.server.http.address", "HOST", "an address") { host =>
    Some(InetAddress.getByName(host))
  }
  private lazy val port = number("play.server.http.port", "PORT", most = 65535)

  private lazy val mongodb = get("mongodb.url", "MONGODB_URL", "a URL of a MongoDB database") { url =>
    Await.result(MongoConnection.fromStringWithDB(url), 10.seconds)
    Some(if (url.contains('?')) s"$url&" else s"$url?")
  }
  private lazy val channels = number("mongodb.pool-size", "MONGODB_POOL_SIZE")

  // JDBC takes no user before the host, and logs parts of what it cannot parse
  private val PostgresqlUrl = """postgres(?:ql)?://(?:([^:@/]*)(?::([^@/]*))?@)?([^@?]*/[^@?]*(?:\?.*)?)""".r
  private lazy val (jdbc, user, password) =
    get("database.url", "DATABASE_URL", "a PostgreSQL URL") {
      case PostgresqlUrl(user, password, rest) =>
        def decoded(text: String) = Option(text).map(decodePathSegment(_, "UTF-8")).orNull
        val url = s"jdbc:postgresql://$rest"
        Option(Driver.parseURL(url, null)).map(_ => (url, decoded(user), decoded(password)))
      case _ => None
    }
  private lazy val connections = number("database.pool-size", "DATABASE_POOL_SIZE")

  def faults: Seq[String] =
    Seq(Try(host), Try(port), Try(mongodb), Try(channels), Try(jdbc), Try(connections), Try(filesDir), Try(slowApiUrl))
      .collect { case Failure(fault) => fault.getMessage }

  def modules: Map[String, Any] = Map(
    "mongodb.uri" -> (mongodb + configuration.get[Seq[String]]("mongodb.options").mkString("&")),
    "db.default.url" -> jdbc,
    "db.default.username" -> user,
    "db.default.password" -> password,
    "db.default.hikaricp.maximumPoolSize" -> connections
  )

  private def number(path: String, name: String, most: Int = Int.MaxValue) =
    get(path, name, s"a number from 1 to $most")(_.toIntOption.filter(1 to most contains _))

  private def get[A](path: String, name: String, kind: String)(parse: String => Option[A]): A =
    Try(parse(configuration.get[String](path))).toOption.flatten
      .getOrElse(throw configuration.reportError(path, s"$name is not $kind"))
}
