package app

import java.sql.{SQLException, SQLTransientConnectionException}
import java.util.concurrent.TimeoutException

import cats.effect.IO
import cats.syntax.all.*
import com.mongodb.*
import io.circe.Json
import io.circe.syntax.*
import org.http4s.*
import org.http4s.circe.*
import org.http4s.ember.core.EmberException
import org.http4s.headers.`Content-Type`
import org.http4s.server.middleware.{ErrorAction, ErrorHandling}
import org.typelevel.log4cats.slf4j.Slf4jLogger

/** Problem details (RFC 9457). */
object Problem:

  def apply(status: Status, detail: Option[String] = None): Response[IO] =
    val json = Json.obj("type" := "about:blank", "title" := status.reason, "status" := status.code, "detail" := detail)
    Response(status)
      .withEntity(json.dropNullValues)
      .withContentType(`Content-Type`(MediaType.application.`problem+json`))

  private val logger = Slf4jLogger.getLogger[IO]

  /** Answers each failure with a problem, and logs why it is one of the server's. */
  def instead(routes: HttpRoutes[IO]): HttpApp[IO] =
    val app = routes.mapF(_.getOrElse(Problem(Status.NotFound)))
    ErrorHandling.Custom.recoverWith(ErrorAction.httpApp(app, log)) { case error => IO.pure(Problem(error)) }

  def log(request: Request[IO], error: Throwable): IO[Unit] =
    val line = s"${request.method} ${request.uri.path}"
    Problem(error).status match
      case Status.InternalServerError  => logger.error(error)(line)
      case status if status.code > 500 => logger.error(s"$line: $error")
      case _                           => IO.unit

  private def apply(error: Throwable): Response[IO] = error match
    case failure: ParseFailure   => Problem(Status.BadRequest, failure.sanitized.some)
    case failure: MessageFailure =>
      Problem(failure.toHttpResponse[IO](HttpVersion.`HTTP/1.1`).status, failure.cause.map(_.getMessage))
    case _: EmberException                     => Problem(Status.BadRequest) // the body breaks off
    case _: java.nio.file.InvalidPathException => Problem(Status.NotFound)
    case Upstream.Failure(status, _)           => Problem(status)
    // A database cannot be reached, is stopping, has no connection left, or is late
    case _: MongoSocketException | _: MongoClientException | _: MongoExecutionTimeoutException |
        _: MongoNodeIsRecoveringException | _: MongoNotPrimaryException | _: MongoInterruptedException |
        _: TimeoutException | _: SQLTransientConnectionException =>
      Problem(Status.ServiceUnavailable)
    case error: SQLException if Option(error.getSQLState).exists(_.matches("08...|53300|57P0.")) =>
      Problem(Status.ServiceUnavailable)
    case _ => Problem(Status.InternalServerError)
