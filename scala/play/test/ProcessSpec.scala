import java.net.{InetAddress, ServerSocket, Socket, URI}
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.net.http.HttpRequest.BodyPublishers
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit.SECONDS

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import org.scalatest.BeforeAndAfterAll
import reactivemongo.api.bson.{BSONBinary, BSONDocument, BSONObjectID, Subtype}

/** The program that `sbt stage` makes, as a user starts it. */
class ProcessSpec extends Loaded with BeforeAndAfterAll {

  private class Running(folder: Path, settings: Map[String, String]) {
    private val log = Files.createTempFile("play", ".log")
    private val program =
      Path.of("target/universal/stage/bin").toFile.listFiles.filterNot(_.getName.endsWith(".bat"))
    private val builder = new ProcessBuilder(program.head.getAbsolutePath).directory(folder.toFile)
    builder.environment.putAll(settings.asJava)
    builder.environment.values.removeIf(_.isEmpty)
    val process: Process = builder.redirectErrorStream(true).redirectOutput(log.toFile).start()

    def output: String = Files.readString(log)
    def entries: Int = output.linesIterator.count(_.contains(" ERROR "))
    def status: Int =
      if (process.waitFor(60, SECONDS)) process.exitValue else fail(s"still running: $output")
  }

  private def start(settings: (String, String)*) = new Running(Path.of("."), settings.toMap)

  private def listen() = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"))

  private val silent = listen()
  private val port = Using.resource(listen())(_.getLocalPort)
  private lazy val server = start(
    "PORT" -> s"$port",
    "DATABASE_URL" -> s"postgresql://me:secret@127.0.0.1:${silent.getLocalPort}/x",
    "SLOW_API_URL" -> s"http://127.0.0.1:${silent.getLocalPort}/"
  )

  override def beforeAll(): Unit = {
    super.beforeAll()
    for (
      _ <- 1 to 600
      if server.process.isAlive && Try(new Socket("127.0.0.1", port).close()).isFailure
    )
      Thread.sleep(100)
    if (!server.process.isAlive) fail(server.output)
  }

  override def afterAll(): Unit = {
    server.process.destroyForcibly()
    silent.close()
    super.afterAll()
  }

  private val client = HttpClient.newHttpClient()
  private def request(path: String) =
    HttpRequest.newBuilder(URI.create(s"http://127.0.0.1:$port$path"))
  private def send(request: HttpRequest.Builder) =
    client.send(request.build, HttpResponse.BodyHandlers.ofString)
  private def get(path: String) = send(request(path))
  private def post(body: String) = send(
    request("/notes")
      .header("Content-Type", "application/json")
      .POST(BodyPublishers.ofByteArrays(Seq(body.getBytes).asJava)) // chunked
  )

  /** The first line of a response, and its body, up to the end of the connection. */
  private def raw(path: String) = Using.resource(new Socket("127.0.0.1", port)) { socket =>
    socket.setSoTimeout(10000)
    socket.getOutputStream.write(
      s"GET $path HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".getBytes
    )
    val bytes = Iterator.continually(Try(socket.getInputStream.read()).getOrElse(-1)) // it may be reset
    val response = bytes.takeWhile(_ >= 0).map(_.toChar).mkString.split("\r\n\r\n", 2)
    (response(0).takeWhile(_ != '\r'), response.lift(1).getOrElse(""))
  }

  "A process" should {

    "end with all bad settings named, and no password" in {
      for (address <- Seq("me:secret@host:99999/", "me:secret@host", "me:secret/@host/x", "me:1/secret@host/x")) {
        val settings = Map(
          "HOST" -> "nosuch.invalid",
          "PORT" -> "70000",
          "MONGODB_URL" -> "mongodb://me:secret@host:99999/",
          "MONGODB_POOL_SIZE" -> "12abc",
          "DATABASE_URL" -> s"postgresql://$address",
          "DATABASE_POOL_SIZE" -> "3.5",
          "FILES_DIR" -> "build.sbt",
          "SLOW_API_URL" -> "nonsense"
        )
        val bad = new Running(Path.of("."), settings)
        bad.status mustBe 1
        for (name <- settings.keys) bad.output must include(s"$name is not")
        bad.output must not include "secret"
      }
    }

    "read .env, whole URLs included, where the environment has nothing" in {
      val folder = Files.createTempDirectory("play")
      val settings =
        Seq("PORT=0", "DATABASE_POOL_SIZE=0", "SLOW_API_URL=http://x/?a=b&c=^", "OTHER=1")
      Files.write(folder.resolve(".env"), settings.asJava)
      val environment = Map("PORT" -> "", "DATABASE_POOL_SIZE" -> "5", "SLOW_API_URL" -> "")
      val bad = new Running(folder, environment)
      bad.status mustBe 1
      bad.output must include("PORT is not")
      bad.output must include("SLOW_API_URL is not")
      bad.output must not include "DATABASE_POOL_SIZE"
    }

    "answer 503 while PostgreSQL stays silent, and log why once, also while many wait" in {
      val before = server.entries
      val start = System.nanoTime
      val answers =
        Seq.fill(50)(client.sendAsync(request("/agents").build, HttpResponse.BodyHandlers.ofString))
      for (answer <- answers) answer.get.statusCode mustBe 503
      (System.nanoTime - start) must be < 10000000000L
      server.entries mustBe before + 50
      server.output must not include "secret"
    }

    "answer 504 if the upstream is late, and log why once" in {
      val before = server.entries
      get("/slow_api?calls=3&ms=0").statusCode mustBe 504
      server.entries mustBe before + 1
    }

    "end a file from GridFS that lacks a chunk before its length" in {
      for ((missing, served) <- Seq(0 -> 0, 1 -> 1000, 3 -> 3000)) {
        val id = BSONObjectID.generate()
        val name = id.stringify
        insert("fs.files", BSONDocument("_id" -> id, "filename" -> name, "length" -> 4000L))
        for (n <- 0 until 4 if n != missing) {
          val data = BSONBinary(Array.fill(1000)(('a' + n).toByte), Subtype.GenericBinarySubtype)
          insert("fs.chunks", BSONDocument("files_id" -> id, "n" -> n, "data" -> data))
        }
        val (line, body) = raw(s"/gridfs/$name")
        for (n <- 0 until 4) delete("fs.chunks", BSONDocument("files_id" -> id, "n" -> n))
        delete("fs.files", BSONDocument("_id" -> id))
        if (served == 0 && !line.contains(" 200 ")) line must include(" 500 ")
        else ("a" * 1000 + "b" * 1000 + "c" * 1000).take(served) must startWith(body)
      }
    }

    "answer 404 to paths that leave the folder" in {
      for (name <- Seq("../build.sbt", "..%2f..%2fbuild.sbt", "/etc/passwd", "%2fetc%2fpasswd"))
        raw(s"/files/$name")._1 must include(" 404 ")
    }

    "store a note from a chunked body, and refuse what is none" in {
      val title = BSONObjectID.generate().stringify
      val created = post(s"""{"title":"$title","text":"é"}""")
      created.statusCode mustBe 201
      get(created.headers.firstValue("Location").get).body mustBe created.body
      post(s"""{"title":"$title"}""").statusCode mustBe 400
      count("notes", BSONDocument("title" -> title)) mustBe 1
      delete("notes", BSONDocument("title" -> title))
    }

    "let a request in flight finish at SIGTERM" in {
      val inFlight =
        client.sendAsync(request("/sleep?ms=4000").build, HttpResponse.BodyHandlers.ofString)
      Thread.sleep(1500)
      server.process.destroy()
      inFlight.get.statusCode mustBe 200
      server.status mustBe 143 // a JVM's, whatever its shutdown hooks do
    }
  }
}
