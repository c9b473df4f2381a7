package app

import java.nio.file.{Files, Path}

import scala.util.Try

import cats.effect.IO
import cats.syntax.all.*
import ciris.*
import com.comcast.ip4s.{Host, Port}
import com.mongodb.ConnectionString
import io.github.cdimascio.dotenv.Dotenv
import org.http4s.Uri
import org.postgresql.Driver

final case class Settings(
    host: Host,
    port: Port,
    mongodb: ConnectionString,
    mongodbPoolSize: Int,
    postgresql: Settings.Jdbc,
    postgresqlPoolSize: Int,
    filesDir: Path,
    slowApi: Uri
)

object Settings:

  final case class Jdbc(url: String, user: Option[String], password: Option[String])

  /** Reads the environment, and `.env` for what it has not; fails with all that is wrong. */
  def load: IO[Settings] =
    IO.blocking(Dotenv.configure.ignoreIfMissing.systemProperties.load()) *> (
      setting("HOST").default("127.0.0.1").as[Host],
      setting("PORT").default("8000").as[Port],
      setting("MONGODB_URL").default("mongodb://127.0.0.1:27017/refservers").as[ConnectionString].redacted,
      setting("MONGODB_POOL_SIZE").default("100").as[Int](using positive),
      setting("DATABASE_URL").default("postgresql://refservers@127.0.0.1:5432/refservers").as[Jdbc].redacted,
      setting("DATABASE_POOL_SIZE").default("10").as[Int](using positive),
      setting("FILES_DIR").as[Path],
      setting("SLOW_API_URL").as[Uri]
    ).parMapN(Settings.apply).load[IO]

  private def setting(name: String) = env(name).or(prop(name))

  private def decoder[A](kind: String)(parse: String => Option[A]): ConfigDecoder[String, A] =
    ConfigDecoder[String].mapOption(kind)(text => Try(parse(text)).toOption.flatten)

  private given ConfigDecoder[String, Host] = decoder("a host")(Host.fromString)

  private given ConfigDecoder[String, Port] = decoder("a port")(Port.fromString(_).filter(_.value > 0))

  private val positive = decoder("a number from 1")(_.toIntOption.filter(_ > 0))

  private given ConfigDecoder[String, ConnectionString] = decoder("a MongoDB URL")(ConnectionString(_).some)

  private given ConfigDecoder[String, Path] =
    decoder("a folder")(text => Option.when(text.nonEmpty)(Path.of(text)).filter(Files.isDirectory(_)))

  private given ConfigDecoder[String, Uri] =
    decoder("an HTTP URL")(Uri.fromString(_).toOption.filter { url =>
      url.host.nonEmpty && url.scheme.exists(Set(Uri.Scheme.http, Uri.Scheme.https))
    })

  // JDBC takes no user before the host, and logs parts of what it cannot parse
  private val PostgresqlUrl = """postgres(?:ql)?://(?:([^:@/]*)(?::([^@/]*))?@)?([^@?]*/[^@?]*(?:\?.*)?)""".r

  private given ConfigDecoder[String, Jdbc] = decoder("a PostgreSQL URL") {
    case PostgresqlUrl(user, password, rest) =>
      val url = s"jdbc:postgresql://$rest"
      Option(Driver.parseURL(url, null))
        .as(Jdbc(url, Option(user).map(Uri.decode(_)), Option(password).map(Uri.decode(_))))
    case _ => None
  }
