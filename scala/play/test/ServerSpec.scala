import java.nio.file.Files

import scala.concurrent.Future

import play.api.{Application, Mode}
import play.api.http.HttpErrorHandler
import play.api.libs.json.{JsObject, Json}
import play.api.mvc.{Result, Results}
import play.api.test.FakeRequest
import play.api.test.Helpers._
import play.core.server.{Server, ServerConfig}
import reactivemongo.api.bson.{BSONDocument, BSONObjectID}

class ServerSpec extends Loaded {

  /** Answers as the server does: with its error handler where an action fails. */
  private def get(path: String, app: Application = app, id: String = "mine"): Future[Result] = {
    val request = FakeRequest(GET, path).withHeaders("X-Request-Id" -> id)
    val handler = app.injector.instanceOf[HttpErrorHandler]
    route(app, request).get.recoverWith(handler.onServerError(request, _))(
      app.materializer.executionContext
    )
  }

  private def post(body: String, app: Application = app): Future[Result] = {
    val request = FakeRequest(POST, "/notes").withHeaders(CONTENT_TYPE -> "application/json")
    val handler = app.injector.instanceOf[HttpErrorHandler]
    route(app, request, body).get.recoverWith(handler.onServerError(request, _))(
      app.materializer.executionContext
    )
  }

  private def mustBeProblem(result: Future[Result], code: Int, title: String) = {
    status(result) mustBe code
    contentType(result) mustBe Some("application/problem+json")
    contentAsJson(result).as[JsObject] - "detail" - "errors" mustBe
      Json.obj("type" -> "about:blank", "title" -> title, "status" -> code)
  }

  /** An upstream that fails from call number 3 on. */
  private def withUpstream(test: Application => Unit): Unit = {
    import play.api.routing.sird._
    Server.withRouterFromComponents(
      ServerConfig(port = Some(0), address = "127.0.0.1", mode = Mode.Test)
    ) { components =>
      { case GET(p"/" ? q"call=${int(call)}") =>
        components.defaultActionBuilder { request =>
          if (call < 3)
            Results.Ok(Json.obj("call" -> call, "id" -> request.headers("X-Request-Id")))
          else Results.InternalServerError
        }
      }
    } { port =>
      val app = load("slow-api.url" -> s"http://127.0.0.1:${port.value}/")
      running(app)(test(app))
    }
  }

  "The server" should {

    "answer text" in {
      val result = get("/index")
      status(result) mustBe OK
      contentType(result) mustBe Some("text/plain")
      contentAsString(result) mustBe "Hello, World!"
    }

    "answer JSON" in {
      val result = get("/json")
      contentType(result) mustBe Some("application/json")
      contentAsString(result) mustBe """{"message":"Hello, World!"}"""
    }

    "answer a document of MongoDB" in {
      val article = contentAsJson(get("/mongo?doc=big")).as[JsObject]
      article.keys.take(2).toSeq mustBe Seq("_id", "slug")
      (article \ "_id").as[String] must fullyMatch regex "[0-9a-f]{24}"
      (article \ "slug").as[String] mustBe "big"
    }

    "store a note once, and return it as it was" in {
      val note =
        Json.obj("title" -> "😀a".repeat(100), "text" -> "Bread, salt, café\n\u0000".repeat(500))
      val created = post(note.toString)
      status(created) mustBe CREATED
      val id = (contentAsJson(created) \ "_id").as[String]
      contentAsJson(created) mustBe Json.obj("_id" -> id) ++ note
      header(LOCATION, created) mustBe Some(s"/notes/$id")
      contentAsString(get(s"/notes/$id")) mustBe contentAsString(created)
      val stored = BSONDocument("_id" -> BSONObjectID.parse(id).get)
      count("notes", stored) mustBe 1
      delete("notes", stored)
    }

    "refuse and not store what is no note" in {
      val before = count("notes", BSONDocument())
      val bad = Seq("", "{", "null", "[]", """{"title":"a"}""", """{"title":1,"text":""}""")
      val title = Seq("", "a" * 201, "\\ud800").map(title => s"""{"title":"$title","text":""}""")
      for (body <- bad ++ title :+ s"""{"title":"a","text":"${"😀" * 10001}"}""")
        mustBeProblem(post(body), BAD_REQUEST, "Bad Request")
      status(post(s"""{"title":"a","text":"${"a" * (1 << 20)}"}""")) mustBe REQUEST_ENTITY_TOO_LARGE
      count("notes", BSONDocument()) mustBe before
    }

    "answer all agents by their number" in {
      val agents = contentAsJson(get("/agents")).as[Seq[JsObject]]
      agents must have size 50
      agents mustBe agents.sortBy(agent => (agent \ "number").as[String])
      (agents.head \ "status").as[String] mustBe "offline"
    }

    "answer files, from the disk and from GridFS" in {
      for (path <- Seq("/files/photo.jpg", "/gridfs/photo.jpg")) {
        val result = get(path)
        contentType(result) mustBe Some("image/jpeg")
        contentAsBytes(result)(defaultAwaitTimeout, app.materializer).toArray mustBe
          Files.readAllBytes(folder.resolve("photo.jpg"))
      }
    }

    "answer a part of a file, or all of it if the client has another version" in {
      val range = FakeRequest(GET, "/files/photo.jpg").withHeaders(RANGE -> "bytes=20-29")
      status(route(app, range).get) mustBe PARTIAL_CONTENT
      status(route(app, range.withHeaders(IF_RANGE -> "\"other\"")).get) mustBe OK
    }

    "answer after so many milliseconds" in {
      val start = System.nanoTime
      contentAsJson(get("/sleep?ms=50")) mustBe Json.obj("slept_ms" -> 50)
      System.nanoTime - start must be >= 50000000L
    }

    "call the upstream, pass the request's ID on and keep the order" in withUpstream { app =>
      val results = (0 until 3).map(call => Json.obj("call" -> call, "id" -> "mine"))
      contentAsJson(get("/slow_api?calls=3&ms=0", app)) mustBe Json.obj("results" -> results)
    }

    "tell of an upstream that fails" in withUpstream { app =>
      mustBeProblem(get("/slow_api?calls=4&ms=0", app), BAD_GATEWAY, "Bad Gateway")
    }

    "not find what is not there" in {
      val escape = "/files/..%2F..%2Fetc%2Fpasswd"
      val notes = Seq("/notes/1", "/notes/" + "f" * 24)
      for (path <- Seq("/nothing", "/files/nothing.txt", escape, "/gridfs/nothing.txt") ++ notes)
        mustBeProblem(get(path), NOT_FOUND, "Not Found")
    }

    "refuse a parameter that is empty, no number or out of bounds" in {
      status(get("/sleep?ms=0")) mustBe OK
      val queries = Seq("/mongo?doc=huge", "/sleep?ms=", "/sleep?ms=soon", "/slow_api?calls=51")
      for (path <- queries) mustBeProblem(get(path), BAD_REQUEST, "Bad Request")
    }

    "tell of a database that is away" in {
      val app = load(
        "mongodb.url" -> "mongodb://127.0.0.1:1/refservers",
        "database.url" -> "postgresql://refservers@127.0.0.1:1/refservers"
      )
      running(app) {
        val note = """{"title":"away","text":""}"""
        for (answer <- Seq(get("/mongo", app), get("/agents", app), post(note, app)))
          mustBeProblem(answer, SERVICE_UNAVAILABLE, "Service Unavailable")
      }
    }

    "not tell of its own faults" in {
      val handler = app.injector.instanceOf[HttpErrorHandler]
      val fault = handler.onServerError(FakeRequest(), new IllegalStateException("secret"))
      mustBeProblem(fault, INTERNAL_SERVER_ERROR, "Internal Server Error")
    }

    "not start with a bad setting" in {
      for (folder <- Seq("/nonexistent", "")) {
        val error = the[Exception] thrownBy load("files.dir" -> folder)
        error.getMessage must include("FILES_DIR")
      }
    }
  }
}
