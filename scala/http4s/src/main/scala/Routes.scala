package app

import scala.concurrent.duration.*

import cats.data.ValidatedNel
import cats.effect.IO
import cats.syntax.all.*
import io.circe.{Decoder, Encoder, Json}
import io.circe.syntax.*
import io.github.iltotore.iron.*
import io.github.iltotore.iron.circe.given
import io.github.iltotore.iron.constraint.all.*
import org.bson.types.ObjectId
import org.http4s.*
import org.http4s.circe.*
import org.http4s.circe.CirceEntityDecoder.*
import org.http4s.dsl.io.*
import org.http4s.headers.{`Content-Length`, Location}
import org.http4s.implicits.*
import org.http4s.server.staticcontent.{FileService, fileService}
import org.typelevel.ci.*

final case class NewNote(
    title: String :| Match["\\P{Cs}{1,200}+"],
    text: String :| Match["\\P{Cs}{0,10000}+"]
) derives Decoder

final case class Note(_id: String, title: String, text: String) derives Encoder

private given [A: QueryParamDecoder, C](using RuntimeConstraint[A, C]): QueryParamDecoder[A :| C] =
  QueryParamDecoder[A].emap(_.refineEither[C].leftMap(ParseFailure(_, "")))

private object Doc extends OptionalValidatingQueryParamDecoderMatcher[String :| Match["small|big"]]("doc")
private object Calls extends OptionalValidatingQueryParamDecoderMatcher[Int :| Interval.Closed[1, 50]]("calls")
private object SleepMs extends OptionalValidatingQueryParamDecoderMatcher[Int :| Interval.Closed[0, 30000]]("ms")
private object SlowMs extends OptionalValidatingQueryParamDecoderMatcher[Int :| Interval.Closed[0, 5000]]("ms")

private object NoteId:
  def unapply(text: String): Option[ObjectId] = Option.when(ObjectId.isValid(text))(ObjectId(text))

final class Routes(settings: Settings, mongo: Mongo, agents: Agents, upstream: Upstream):

  private val files = fileService[IO](FileService.Config(settings.filesDir.toString, pathPrefix = "/files"))

  val routes: HttpRoutes[IO] = HttpRoutes.of[IO] {
    case GET -> Root / "index" => Ok("Hello, World!")

    case GET -> Root / "json" => Ok(Json.obj("message" := "Hello, World!"))

    case GET -> Root / "mongo" :? Doc(doc) => valid(doc, "small").flatMap(mongo.article).flatMap(found)

    case request @ POST -> Root / "notes" =>
      for
        body <- EntityDecoder[IO, NewNote].decode(request, strict = true).rethrowT
        note = Note(ObjectId().toHexString, body.title, body.text)
        _ <- mongo.insert(note)
        response <- Created(note.asJson, Location(uri"/notes" / note._id))
      yield response

    case GET -> Root / "notes" / NoteId(id) => mongo.note(id).flatMap(found)

    case GET -> Root / "agents" => agents.all.flatMap(agents => Ok(agents.asJson))

    case request @ GET -> "files" /: _ => files(request).getOrElse(Problem(Status.NotFound))

    case GET -> Root / "gridfs" / name => mongo.file(name).map(_.fold(Problem(Status.NotFound))(send))

    case GET -> Root / "sleep" :? SleepMs(ms) =>
      valid(ms, 1000).flatMap(ms => IO.sleep(ms.millis) *> Ok(Json.obj("slept_ms" := ms)))

    case request @ GET -> Root / "slow_api" :? Calls(calls) +& SlowMs(ms) =>
      val id = request.headers.get(ci"X-Request-Id").map(_.head.value)
      (valid(calls, 10), valid(ms, 1000))
        .flatMapN(upstream.answers(_, _, id))
        .flatMap(results => Ok(Json.obj("results" := results)))
  }

  private def found(document: Option[Json]) = document.fold(IO.pure(Problem(Status.NotFound)))(Ok(_))

  private def send(file: Mongo.File) =
    val contentType = Option(file.info.getMetadata).flatMap(data => Option(data.getString("contentType")))
    Response[IO](body = file.content)
      .putHeaders("Content-Type" -> contentType.getOrElse("application/octet-stream"))
      .putHeaders(`Content-Length`(file.info.getLength))

  private def valid[A](parameter: Option[ValidatedNel[ParseFailure, A]], default: A): IO[A] =
    parameter.fold(IO.pure(default))(_.leftMap(_.head).liftTo[IO])
