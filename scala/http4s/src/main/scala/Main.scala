package app

import java.io.IOException
import java.util.concurrent.TimeoutException

import scala.concurrent.duration.*

import cats.effect.{ExitCode, IO, IOApp, Resource}
import cats.syntax.all.*
import org.http4s.HttpApp
import org.http4s.ember.server.EmberServerBuilder
import org.http4s.server.middleware.{DefaultHead, EntityLimiter}

object Main extends IOApp:

  def run(args: List[String]): IO[ExitCode] =
    Settings.load.redeemWith(e => IO.consoleForIO.errorln(e.getMessage).as(ExitCode.Error), server(_).useForever)

  def app(settings: Settings): Resource[IO, HttpApp[IO]] =
    for
      mongo <- Mongo.resource(settings)
      agents <- Agents.resource(settings)
      upstream <- Upstream.resource(settings)
      routes = Routes(settings, mongo, agents, upstream).routes
    yield EntityLimiter.httpApp(Problem.instead(DefaultHead.httpRoutes(routes)), 1024 * 1024)

  private def server(settings: Settings) = app(settings).flatMap { app =>
    EmberServerBuilder
      .default[IO]
      .withHost(settings.host)
      .withPort(settings.port)
      .withHttpApp(app)
      .withMaxConnections(10_000)
      .withRequestHeaderReceiveTimeout(10.seconds)
      .withIdleTimeout(75.seconds)
      .withShutdownTimeout(10.seconds)
      .withOnWriteFailure {
        case (_, _, _: IOException | _: TimeoutException) => IO.unit // the client left, or does not read
        case (request, _, error)                          => request.traverse_(Problem.log(_, error))
      }
      .build
  }
