package app

import java.net.{InetAddress, ServerSocket, Socket}
import java.nio.file.{Files, Path}

import scala.concurrent.duration.*
import scala.jdk.CollectionConverters.*
import scala.util.{Try, Using}

import cats.effect.{IO, Resource}
import cats.syntax.all.*
import fs2.Stream
import munit.CatsEffectSuite
import org.bson.types.ObjectId
import org.http4s.*
import org.http4s.client.Client
import org.http4s.ember.client.EmberClientBuilder
import org.http4s.headers.{`Content-Type`, Location}
import org.mongodb.scala.{Document, MongoClient, MongoDatabase}

/** The program that `sbt stage` makes, as a user starts it. */
class ProcessSuite extends CatsEffectSuite:

  override val munitIOTimeout: Duration = 3.minutes

  private final class Running(val process: Process, log: Path):
    def output: String = Files.readString(log)
    def errors: Int = output.linesIterator.count(_.contains(" ERROR "))
    def status: IO[Int] = IO.interruptible(process.waitFor())

  private def start(folder: Path, settings: (String, String)*): Resource[IO, Running] =
    Resource.make(IO.blocking {
      val log = Files.createTempFile("http4s", ".log")
      val programs = Path.of("target/universal/stage/bin").toFile.listFiles
      val builder = ProcessBuilder(programs.filterNot(_.getName.endsWith(".bat")).head.getAbsolutePath)
      builder.environment.putAll(settings.toMap.asJava)
      builder.environment.values.removeIf(_.isEmpty)
      val process = builder.directory(folder.toFile).redirectErrorStream(true).redirectOutput(log.toFile).start()
      Running(process, log)
    })(running => IO.blocking(running.process.destroyForcibly().waitFor()).void)

  private val listen = Resource.fromAutoCloseable(
    IO.blocking(ServerSocket(0, 50, InetAddress.getByName("127.0.0.1")))
  )

  /** A server that accepts connections, and its port. */
  private def serve(settings: (String, String)*): Resource[IO, (Running, Int)] =
    for
      port <- Resource.eval(listen.use(socket => IO(socket.getLocalPort)))
      running <- start(Path.of("."), ("PORT" -> s"$port") +: settings*)
      connect = IO.blocking(Socket("127.0.0.1", port).close())
      accepts = connect.handleErrorWith { refused =>
        IO(assert(running.process.isAlive, running.output)) *> IO.sleep(100.millis) *> IO.raiseError(refused)
      }
      _ <- Resource.eval(Stream.retry(accepts, 0.seconds, identity, 600).compile.drain)
    yield (running, port)

  private val client: Resource[IO, Client[IO]] = EmberClientBuilder.default[IO].build

  private val database: Resource[IO, MongoDatabase] =
    for
      settings <- Resource.eval(Settings.load)
      mongodb <- Resource.fromAutoCloseable(IO(MongoClient(settings.mongodb.getConnectionString)))
    yield mongodb.getDatabase(settings.mongodb.getDatabase)

  private def uri(port: Int, path: String) = Uri.unsafeFromString(s"http://127.0.0.1:$port$path")

  /** The first line of a response, and its body, up to the end of the connection. */
  private def raw(port: Int, path: String): IO[(String, String)] = IO.blocking {
    Using.resource(Socket("127.0.0.1", port)) { socket =>
      socket.setSoTimeout(10000)
      socket.getOutputStream.write(s"GET $path HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".getBytes)
      val bytes = Iterator.continually(Try(socket.getInputStream.read()).getOrElse(-1)) // it may be reset
      val response = bytes.takeWhile(_ >= 0).map(_.toChar).mkString.split("\r\n\r\n", 2)
      (response(0).takeWhile(_ != '\r'), response.lift(1).getOrElse(""))
    }
  }

  test("ends with all bad settings named, and no password") {
    List("me:secret@host:99999/", "me:secret@host", "me:secret/@host/x", "me:1/secret@host/x").traverse_ { address =>
      val bad = List(
        "PORT" -> "70000",
        "MONGODB_URL" -> "mongodb://me:secret@host:99999/",
        "MONGODB_POOL_SIZE" -> "12abc",
        "DATABASE_URL" -> s"postgresql://$address",
        "DATABASE_POOL_SIZE" -> "3.5",
        "FILES_DIR" -> "build.sbt",
        "SLOW_API_URL" -> "nonsense"
      )
      start(Path.of("."), bad*).use { running =>
        running.status.map { status =>
          assertEquals(status, 1)
          for ((name, _) <- bad) assert(running.output.contains(name), running.output)
          assert(!running.output.contains("secret"))
        }
      }
    }
  }

  test("reads .env, whole URLs included, where the environment has nothing") {
    val folder = Files.createTempDirectory("http4s")
    val file = Seq("PORT=0", "DATABASE_POOL_SIZE=0", "FILES_DIR=", "SLOW_API_URL=http://x/?a=b&c=^", "OTHER=1")
    Files.write(folder.resolve(".env"), file.asJava)
    val environment = Seq("PORT" -> "", "DATABASE_POOL_SIZE" -> "5", "FILES_DIR" -> "", "SLOW_API_URL" -> "")
    start(folder, environment*).use { running =>
      running.status.map { status =>
        assertEquals(status, 1)
        assert(running.output.contains("PORT"), running.output)
        assert(running.output.contains("a folder"), running.output)
        assert(running.output.contains("c=^"), running.output)
        assert(!running.output.contains("DATABASE_POOL_SIZE"), running.output)
      }
    }
  }

  test("tells of what stays silent, and logs why once") {
    (listen, client)
      .flatMapN { (silent, client) =>
        val address = s"127.0.0.1:${silent.getLocalPort}"
        serve("DATABASE_URL" -> s"postgresql://me:secret@$address/x", "SLOW_API_URL" -> s"http://$address/")
          .map(running => (client, running))
      }
      .use { case (client, (running, port)) =>
        for
          took <- client.statusFromUri(uri(port, "/agents")).assertEquals(Status.ServiceUnavailable).timed
          _ = assert(took._1 < 15.seconds)
          late = client.statusFromUri(uri(port, "/slow_api?calls=3&ms=0"))
          _ <- late.assertEquals(Status.GatewayTimeout)
          _ = assertEquals(running.errors, 2, running.output)
          _ = assert(!running.output.contains("secret"))
        yield ()
      }
  }

  test("serves no paths that leave the folder, stores notes, cuts files, and ends at SIGTERM") {
    (serve(), client, database).tupled.use { case ((running, port), client, database) =>
      val paths = List("../build.sbt", "..%2f..%2fbuild.sbt", "/etc/passwd", "%2fetc%2fpasswd", "..%5cbuild.sbt") :+
        "%00%0Aforged"
      for
        _ <- paths.traverse_(name => raw(port, s"/files/$name").map { (line, _) => assert(line.contains(" 40"), line) })
        _ <- storesNotes(port, client, database)
        _ <- List(0, 1, 3).traverse_(cuts(port, database, _))
        _ = assertEquals(running.errors, 3, running.output)
        _ = assert(!running.output.contains("\n\tat "), running.output)
        inFlight <- client.statusFromUri(uri(port, "/sleep?ms=4000")).start
        _ <- IO.sleep(1500.millis) *> IO(running.process.destroy())
        _ <- inFlight.joinWithNever.assertEquals(Status.Ok)
        _ <- running.status.assertEquals(143) // a JVM's, whatever its shutdown hooks do
      yield ()
    }
  }

  private def storesNotes(port: Int, client: Client[IO], database: MongoDatabase): IO[Unit] =
    val title = ObjectId().toHexString
    def post(body: String) = Request[IO](Method.POST, uri(port, "/notes"))
      .withBodyStream(Stream.emits(body.getBytes)) // chunked
      .withContentType(`Content-Type`(MediaType.application.json))
    for
      created <- client.run(post(s"""{"title":"$title","text":"é"}""")).use { response =>
        response.as[String].tupleRight(response.headers.get[Location].get.uri)
      }
      _ <- client.expect[String](uri(port, created._2.renderString)).assertEquals(created._1)
      _ <- client.status(post(s"""{"title":"$title"}""")).assertEquals(Status.UnprocessableContent)
      deletion = database.getCollection("notes").deleteMany(Document("title" -> title))
      _ <- IO.fromFuture(IO(deletion.head())).map(_.getDeletedCount).assertEquals(1L)
    yield ()

  /** A file from GridFS that lacks a chunk ends before its length. */
  private def cuts(port: Int, database: MongoDatabase, missing: Int): IO[Unit] =
    val id = ObjectId()
    val (files, chunks) = (database.getCollection("fs.files"), database.getCollection("fs.chunks"))
    val file = Document("_id" -> id, "filename" -> id.toHexString, "length" -> 4000L, "chunkSize" -> 1000)
    val found = List(0, 1, 2, 3).filter(_ != missing).map { n =>
      Document("files_id" -> id, "n" -> n, "data" -> Array.fill(1000)(('a' + n).toByte))
    }
    val store = IO.fromFuture(IO(files.insertOne(file).head())) *> IO.fromFuture(IO(chunks.insertMany(found).head()))
    val delete = IO.fromFuture(IO(files.deleteMany(Document("_id" -> id)).head())) *>
      IO.fromFuture(IO(chunks.deleteMany(Document("files_id" -> id)).head()))
    val all = "a" * 1000 + "b" * 1000 + "c" * 1000
    (store *> raw(port, s"/gridfs/${id.toHexString}")).guarantee(delete.void).map { (line, body) =>
      if line.contains(" 200 ") then assert(all.take(missing * 1000).startsWith(body), body)
      else assert(line.contains(" 500 "), line)
    }
