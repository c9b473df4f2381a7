package app

import java.nio.file.Files

import scala.concurrent.duration.*

import cats.effect.{IO, Resource}
import cats.syntax.all.*
import com.comcast.ip4s.*
import com.mongodb.{ConnectionString, MongoServerUnavailableException}
import io.circe.{Json, jawn}
import io.circe.syntax.*
import munit.CatsEffectSuite
import org.bson.types.ObjectId
import org.http4s.*
import org.http4s.circe.*
import org.http4s.client.Client
import org.http4s.dsl.io.*
import org.http4s.ember.server.EmberServerBuilder
import org.http4s.headers.{`Content-Type`, Location, Range}
import org.http4s.implicits.*
import org.mongodb.scala.{Document, MongoClient}
import org.typelevel.ci.*

class ServerSuite extends CatsEffectSuite:

  private def open(change: Settings => Settings = identity): Resource[IO, Client[IO]] =
    Resource.eval(Settings.load).map(change).flatMap(Main.app).map(Client.fromHttpApp)

  private val server = ResourceSuiteLocalFixture("server", open())

  private val notes = ResourceSuiteLocalFixture(
    "notes",
    for
      settings <- Resource.eval(Settings.load)
      mongodb <- Resource.fromAutoCloseable(IO(MongoClient(settings.mongodb.getConnectionString)))
    yield mongodb.getDatabase(settings.mongodb.getDatabase).getCollection("notes")
  )

  override def munitFixtures = List(server, notes)

  private def get(path: String): Request[IO] = Request(uri = Uri.unsafeFromString(path))

  private def post(body: String, mediaType: MediaType = MediaType.application.json): Request[IO] =
    Request(Method.POST, uri"/notes").withEntity(body).withContentType(`Content-Type`(mediaType))

  private def count: IO[Long] = IO.fromFuture(IO(notes().countDocuments().head()))

  private def isProblem(request: Request[IO], status: Status, server: Client[IO] = server()): IO[Unit] =
    server.run(request).use { response =>
      assertEquals(response.status, status)
      assertEquals(response.contentType.map(_.mediaType), MediaType.application.`problem+json`.some)
      val problem = Json.obj("type" := "about:blank", "title" := status.reason, "status" := status.code)
      response.as[Json].map(_.mapObject(_.remove("detail"))).assertEquals(problem)
    }

  test("answers text") {
    server().run(get("/index")).use { response =>
      assertEquals(response.contentType, `Content-Type`(MediaType.text.plain, Charset.`UTF-8`).some)
      response.as[String].assertEquals("Hello, World!")
    }
  }

  test("answers JSON")(server().expect[String]("/json").assertEquals("""{"message":"Hello, World!"}"""))

  test("answers a document of MongoDB") {
    server().expect[Json]("/mongo?doc=big").map { article =>
      assertEquals(article.asObject.map(_.keys.take(2).toList), List("_id", "slug").some)
      assert(article.hcursor.get[String]("_id").exists(_.matches("[0-9a-f]{24}")))
      assertEquals(article.hcursor.get[String]("slug"), Right("big"))
    }
  }

  test("stores a note once, and returns it as it was") {
    val note = Json.obj("title" := "😀a".repeat(100), "text" := "Bread, salt, café\n\u0000".repeat(500))
    server().run(post(note.noSpaces)).use { created =>
      assertEquals(created.status, Status.Created)
      val location = created.headers.get[Location].get.uri
      val id = location.path.segments.last.encoded
      for
        body <- created.as[String]
        _ <- server().expect[String](location).assertEquals(body)
        _ = assertEquals(jawn.parse(body), Right(Json.obj("_id" := id).deepMerge(note)))
        stored = Document("_id" -> ObjectId(id))
        _ <- IO.fromFuture(IO(notes().deleteMany(stored).head())).map(_.getDeletedCount).assertEquals(1L)
      yield ()
    }
  }

  test("refuses and does not store what is no note") {
    val noNotes = List("null", "[]", """{"title":"a"}""", """{"title":1,"text":""}""") ++
      List("", "a" * 201, "\\ud800").map(title => s"""{"title":"$title","text":""}""") :+
      s"""{"title":"a","text":"${"😀a" * 5001}"}"""
    for
      before <- count
      _ <- List("", "{", "{}{}").traverse_(body => isProblem(post(body), Status.BadRequest))
      _ <- noNotes.traverse_(body => isProblem(post(body), Status.UnprocessableContent))
      _ <- isProblem(post(s"""{"title":"a","text":"${"a" * (1 << 20)}"}"""), Status.PayloadTooLarge)
      _ <- isProblem(post("""{"title":"a","text":""}""", MediaType.text.plain), Status.UnsupportedMediaType)
      _ <- count.assertEquals(before)
    yield ()
  }

  test("answers all agents by their number") {
    server().expect[Json]("/agents").map(_.asArray.get).map { agents =>
      assertEquals(agents.length, 50)
      assertEquals(agents, agents.sortBy(_.hcursor.get[String]("number").toOption))
      assertEquals(agents.head.hcursor.get[String]("extension_status"), Right("-1"))
    }
  }

  test("answers files, from the disk and from GridFS") {
    Settings.load.map(settings => Files.readAllBytes(settings.filesDir.resolve("photo.jpg"))).flatMap { photo =>
      List("/files/photo.jpg", "/gridfs/photo.jpg").traverse_ { path =>
        server().run(get(path)).use { response =>
          assertEquals(response.contentType, `Content-Type`(MediaType.image.jpeg).some)
          assertEquals(response.contentLength, photo.length.toLong.some)
          response.as[Array[Byte]].map(_.toSeq).assertEquals(photo.toSeq)
        } *> server().run(get(path).withMethod(Method.HEAD)).use { response =>
          assertEquals(response.contentLength, photo.length.toLong.some)
          response.as[Array[Byte]].map(_.length).assertEquals(0)
        }
      }
    }
  }

  test("answers a part of a file") {
    server().run(get("/files/photo.jpg").putHeaders(Range(20, 29))).use { response =>
      assertEquals(response.status, Status.PartialContent)
      response.as[Array[Byte]].map(_.length).assertEquals(10)
    }
  }

  test("answers after so many milliseconds") {
    server().expect[String]("/sleep?ms=50").timed.map { (took, body) =>
      assert(took >= 50.millis)
      assertEquals(body, """{"slept_ms":50}""")
    }
  }

  test("calls the upstream, passes the request's ID on and keeps the order") {
    object Call extends QueryParamDecoderMatcher[Int]("call")
    val routes = HttpRoutes.of[IO] {
      case request @ GET -> Root :? Call(call) if call < 3 =>
        Ok(Json.obj("call" := call, "id" := request.headers.get(ci"X-Request-Id").map(_.head.value)))
      case GET -> Root / "list" => Ok(Json.arr())
    }
    val upstream = EmberServerBuilder.default[IO].withPort(port"0").withHttpApp(routes.orNotFound).build
    upstream.map(_.baseUri).use { url =>
      val request = get("/slow_api?calls=3&ms=0").putHeaders("X-Request-Id" -> "mine")
      val results = List.range(0, 3).map(call => Json.obj("call" := call, "id" := "mine"))
      open(_.copy(slowApi = url)).use { server =>
        server.expect[Json](request).assertEquals(Json.obj("results" := results)) *>
          isProblem(get("/slow_api?calls=4&ms=0"), Status.BadGateway, server)
      } *> open(_.copy(slowApi = url / "list")).use(isProblem(request, Status.BadGateway, _))
    }
  }

  test("does not find what is not there") {
    val notes = List("/notes/1", "/notes/" + "f" * 24)
    (List("/nothing", "/files/nothing.txt", "/gridfs/nothing.txt") ++ notes)
      .traverse_(path => isProblem(get(path), Status.NotFound))
  }

  test("refuses a parameter that is empty, no number or out of bounds") {
    List("/mongo?doc=huge", "/sleep?ms=", "/sleep?ms=soon", "/sleep?ms=30001", "/slow_api?calls=51")
      .traverse_(path => isProblem(get(path), Status.BadRequest))
  }

  test("tells of a database that is away") {
    val away = open(
      _.copy(
        mongodb = ConnectionString("mongodb://127.0.0.1:1/refservers"),
        postgresql = Settings.Jdbc("jdbc:postgresql://127.0.0.1:1/refservers", None, None)
      )
    )
    away.use { server =>
      List(get("/mongo"), get("/gridfs/photo.jpg"), get("/agents"), post("""{"title":"a","text":""}"""))
        .traverse_(isProblem(_, Status.ServiceUnavailable, server))
    } *> {
      val fails = HttpRoutes.of[IO](_ => IO.raiseError(MongoServerUnavailableException("away")))
      isProblem(get("/"), Status.ServiceUnavailable, Client.fromHttpApp(Problem.instead(fails)))
    }
  }
