import java.nio.file.Files

import scala.concurrent.Future

import models.Settings
import org.scalatestplus.play.PlaySpec
import org.scalatestplus.play.guice.GuiceOneAppPerSuite
import play.api.{Application, Environment, Mode}
import play.api.ApplicationLoader.Context
import play.api.http.HttpErrorHandler
import play.api.libs.json.{JsObject, Json}
import play.api.mvc.{Result, Results}
import play.api.test.FakeRequest
import play.api.test.Helpers._
import play.core.server.{Server, ServerConfig}

class ServerSpec extends PlaySpec with GuiceOneAppPerSuite {

  override def fakeApplication(): Application = load()

  private def load(settings: (String, String)*): Application =
    new Loader().load(Context.create(Environment.simple(), settings.toMap))

  /** Answers as the server does: with its error handler where an action fails. */
  private def get(path: String, app: Application = app, id: String = "mine"): Future[Result] = {
    val request = FakeRequest(GET, path).withHeaders("X-Request-Id" -> id)
    val handler = app.injector.instanceOf[HttpErrorHandler]
    route(app, request).get.recoverWith(handler.onServerError(request, _))(
      app.materializer.executionContext
    )
  }

  private def mustBeProblem(result: Future[Result], code: Int, title: String) = {
    status(result) mustBe code
    contentType(result) mustBe Some("application/problem+json")
    contentAsJson(result).as[JsObject] - "detail" mustBe
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

    "answer all agents by their number" in {
      val agents = contentAsJson(get("/agents")).as[Seq[JsObject]]
      agents must have size 50
      agents mustBe agents.sortBy(agent => (agent \ "number").as[String])
      (agents.head \ "status").as[String] mustBe "offline"
    }

    "answer files, from the disk and from GridFS" in {
      val folder = app.injector.instanceOf[Settings].filesDir
      for (path <- Seq("/files/photo.jpg", "/gridfs/photo.jpg")) {
        val result = get(path)
        contentType(result) mustBe Some("image/jpeg")
        contentAsBytes(result)(defaultAwaitTimeout, app.materializer).toArray mustBe
          Files.readAllBytes(folder.resolve("photo.jpg"))
      }
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
      for (path <- Seq("/nothing", "/files/nothing.txt", escape, "/gridfs/nothing.txt"))
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
        for (path <- Seq("/mongo", "/agents"))
          mustBeProblem(get(path, app), SERVICE_UNAVAILABLE, "Service Unavailable")
      }
    }

    "not tell of its own faults" in {
      val handler = app.injector.instanceOf[HttpErrorHandler]
      val fault = handler.onServerError(FakeRequest(), new IllegalStateException("secret"))
      mustBeProblem(fault, INTERNAL_SERVER_ERROR, "Internal Server Error")
    }

    "not start with a bad setting" in {
      val error = the[Exception] thrownBy load("files.dir" -> "/nonexistent")
      error.getMessage must include("FILES_DIR")
    }
  }
}
