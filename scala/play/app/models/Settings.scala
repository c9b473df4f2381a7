package models

import java.net.URI
import java.nio.file.{Files, Path}

import scala.concurrent.Await
import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.util.Try

import play.api.Configuration
import play.utils.UriEncoding.decodePathSegment
import reactivemongo.api.MongoConnection

/** What conf/application.conf takes from the environment. */
class Settings(configuration: Configuration) {

  val filesDir: Path = get("files.dir", "FILES_DIR", "a folder") { folder =>
    Some(Path.of(folder).toRealPath()).filter(Files.isDirectory(_))
  }

  val slowApiUrl: String = get("slow-api.url", "SLOW_API_URL", "an HTTP URL") { url =>
    Some(url).filter(url => Seq("http", "https").contains(new URI(url).getScheme))
  }

  private val mongodbUrl = get("mongodb.url", "MONGODB_URL", "a URL of a MongoDB database") { url =>
    Await.result(MongoConnection.fromStringWithDB(url), 10.seconds)
    Some(if (url.contains('?')) s"$url&" else s"$url?")
  }
  private val mongodbOptions = configuration.get[String]("mongodb.options")
  private val channels = get("mongodb.pool-size", "MONGODB_POOL_SIZE", "a number")(_.toIntOption)

  // JDBC takes no user before the host
  private val PostgresqlUrl = "postgres(?:ql)?://(?:([^:@/]*)(?::([^@/]*))?@)?(.+)".r
  private val (jdbcUrl, user, password) = get("database.url", "DATABASE_URL", "a PostgreSQL URL") {
    case PostgresqlUrl(user, password, rest) =>
      def decoded(text: String) = Option(text).map(decodePathSegment(_, "UTF-8")).orNull
      Some((s"jdbc:postgresql://$rest", decoded(user), decoded(password)))
    case _ => None
  }
  private val connections =
    get("database.pool-size", "DATABASE_POOL_SIZE", "a number")(_.toIntOption)

  /** The settings of the modules for MongoDB and PostgreSQL. */
  val modules: Map[String, Any] = Map(
    "mongodb.uri" -> s"$mongodbUrl$mongodbOptions&rm.nbChannelsPerNode=$channels",
    "db.default.url" -> jdbcUrl,
    "db.default.username" -> user,
    "db.default.password" -> password,
    "db.default.hikaricp.maximumPoolSize" -> connections
  )

  private def get[A](path: String, name: String, kind: String)(parse: String => Option[A]): A =
    Try(parse(configuration.get[String](path))).toOption.flatten
      .getOrElse(throw configuration.reportError(path, s"$name is not $kind"))
}
