package app

import java.util.concurrent.TimeoutException

import scala.concurrent.duration.*

import cats.effect.{IO, Resource}
import cats.syntax.all.*
import io.circe.JsonObject
import org.http4s.*
import org.http4s.circe.CirceEntityDecoder.*
import org.http4s.client.{Client, UnexpectedStatus}
import org.http4s.ember.client.EmberClientBuilder
import org.typelevel.ci.*

final class Upstream(client: Client[IO], url: Uri):

  /** The answers to calls that are all made at once; the first that fails ends the others. */
  def answers(calls: Int, ms: Int, id: Option[String]): IO[List[JsonObject]] =
    (0 until calls).toList
      .parTraverse(call(_, ms, id))
      .adaptError { case failure => Upstream.Failure(Status.BadGateway, failure) }
      .timeoutTo(ms.millis + 5.seconds, IO.raiseError(Upstream.Failure(Status.GatewayTimeout, TimeoutException())))

  private def call(number: Int, ms: Int, id: Option[String]): IO[JsonObject] =
    val request = Request[IO](uri = url.withQueryParam("call", number).withQueryParam("ms", ms))
      .putHeaders(id.map(Header.Raw(ci"X-Request-Id", _)))
    client.run(request).use {
      case Status.Ok(response) => response.as[JsonObject]
      case response            => IO.raiseError(UnexpectedStatus(response.status, request.method, request.uri))
    }

object Upstream:

  final case class Failure(status: Status, cause: Throwable) extends Exception(cause.toString, cause)

  def resource(settings: Settings): Resource[IO, Upstream] =
    EmberClientBuilder
      .default[IO]
      .withMaxTotal(10_000) // calls never queue
      .withMaxPerKey(_ => 10_000)
      .build
      .map(Upstream(_, settings.slowApi))
