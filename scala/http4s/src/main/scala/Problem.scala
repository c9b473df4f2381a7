package app

import java.sql.{SQLException, SQLTransientConnectionException}
import java.util.concurrent.TimeoutException

import cats.effect.IO
import cats.syntax.all.*
import com.mongodb.*
import io.circe.Encoder
import org.http4s.*
import org.http4s.circe.jsonEncoderOf
import org.http4s.ember.core.EmberException
import org.http4s.headers.`Content-Type`
import org.http4s.server.middleware.{ErrorAction, ErrorHandling}
import org.typelevel.log4cats.slf4j.Slf4jLogger

/** Problem details (RFC 9457). */
final case class Problem(`type`: String, title: String, status: Int, detail: Option[String])

object Problem:

  given Encoder[Problem] = Encoder.AsObject.derived[Problem].mapJson(_.dropNullValues)

  given EntityEncoder[IO, Problem] =
    jsonEncoderOf[IO, Problem].withContentType(`Content-Type`(MediaType.application.`problem+json`))

  def apply(status: Status, detail: Option[String] = None): Response[IO] =
    Response(status).withEntity(Problem("about:blank", status.reason, status.code, detail))

  private val logger = Slf4jLogger.getLogger[IO]

  /** Answers each failure with a problem, and logs why it is one of the server's. */
  def instead(routes: HttpRoutes[IO]): HttpApp[IO] =
    val app = routes.mapF(_.getOrElse(Problem(Status.NotFound)))
    ErrorHandling.Custom.recoverWith(ErrorAction.httpApp(app, log)) { case error =>
      val detail = error match
        case failure: DecodeFailure => failure.cause.map(_.getMessage)
        case failure: ParseFailure  => failure.sanitized.some
        case _                      => None
      IO.pure(Problem(status(error), detail))
    }

  def log(request: Request[IO], error: Throwable): IO[Unit] =
    val line = s"${request.method} ${request.uri.path}"
    status(error) match
      case Status.InternalServerError  => logger.error(error)(line)
      case status if status.code > 500 => logger.error(s"$line: $error")
      case _                           => IO.unit

  private def status(error: Throwable): Status = error match
    case Upstream.Failure(status, _) => status
    case failure: MessageFailure     => failure.toHttpResponse[IO](HttpVersion.`HTTP/1.1`).status
    case _: EmberException           => Status.BadRequest // the body breaks off
    case error if isAway(error)      => Status.ServiceUnavailable
    case _                           => Status.InternalServerError

  /** Whether a database cannot be reached, is stopping, has no connection left, or is late. */
  private def isAway(error: Throwable): Boolean = error match
    case _: MongoSocketException | _: MongoTimeoutException | _: MongoExecutionTimeoutException |
        _: MongoConnectionPoolClearedException | _: MongoNodeIsRecoveringException | _: MongoNotPrimaryException |
        _: MongoInterruptedException =>
      true
    case _: TimeoutException | _: SQLTransientConnectionException => true
    case error: SQLException => Option(error.getSQLState).exists(_.matches("08...|53300|57P0."))
    case _                   => false
