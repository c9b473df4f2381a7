package app

import java.util.concurrent.TimeUnit.SECONDS

import scala.concurrent.duration.*

import cats.effect.{IO, Resource}
import cats.syntax.all.*
import fs2.{Chunk, Stream}
import fs2.interop.reactivestreams.*
import io.circe.{Json, jawn}
import org.bson.json.JsonWriterSettings
import org.bson.types.ObjectId
import org.mongodb.scala.*
import org.mongodb.scala.gridfs.{GridFSBucket, GridFSFile}
import org.mongodb.scala.model.Filters.equal

final class Mongo(database: MongoDatabase):

  // The driver's timeout is for an operation with all that it waits for, and for the whole download of a file
  private val timed = database.withTimeout(4.seconds)
  private val notes = timed.getCollection("notes")
  private val bucket = GridFSBucket(database)

  def article(slug: String): IO[Option[Json]] = first(timed.getCollection("articles").find(equal("slug", slug)))

  def note(id: ObjectId): IO[Option[Json]] = first(notes.find(equal("_id", id)))

  def insert(note: Note): IO[Unit] =
    val document = Document("_id" -> ObjectId(note._id), "title" -> note.title, "text" -> note.text)
    IO.fromFuture(IO(notes.insertOne(document).head())).void

  def file(name: String): IO[Option[Mongo.File]] =
    val download = bucket.downloadToObservable(name)
    val content = download.toStreamBuffered[IO](1).map(Chunk.byteBuffer).unchunks
    IO.fromFuture(IO(download.gridFSFile().headOption())).map(_.map(Mongo.File(_, content)))

  private def first(found: FindObservable[Document]): IO[Option[Json]] =
    IO.fromFuture(IO(found.first().headOption()))
      .flatMap(_.traverse(document => IO.fromEither(jawn.parse(document.toJson(Mongo.json)))))

object Mongo:

  final case class File(info: GridFSFile, content: Stream[IO, Byte])

  def resource(settings: Settings): Resource[IO, Mongo] =
    val options = MongoClientSettings
      .builder()
      .applyConnectionString(settings.mongodb)
      .applyToClusterSettings(_.serverSelectionTimeout(3, SECONDS))
      .applyToConnectionPoolSettings(_.maxSize(settings.mongodbPoolSize).maxWaitTime(3, SECONDS))
      .applyToSocketSettings(_.connectTimeout(3, SECONDS).readTimeout(4, SECONDS))
      .build()
    Resource
      .fromAutoCloseable(IO(MongoClient(options)))
      .map(client => Mongo(client.getDatabase(Option(settings.mongodb.getDatabase).getOrElse("refservers"))))

  private val json = JsonWriterSettings.builder().objectIdConverter((id, json) => json.writeString(id.toString)).build()
