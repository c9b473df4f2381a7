package repositories

import scala.concurrent.ExecutionContext
import scala.concurrent.Future

import models.StoredFile
import org.apache.pekko.stream.Materializer
import org.apache.pekko.stream.scaladsl.Source
import org.apache.pekko.util.ByteString
import play.modules.reactivemongo.ReactiveMongoApi
import reactivemongo.api.DB
import reactivemongo.api.bson._
import reactivemongo.api.bson.collection.BSONCollection
import reactivemongo.pekkostream.cursorProducer

trait StoredFileRepository {

  /** The newest revision. */
  def find(name: String): Future[Option[StoredFile]]
}

final class GridFsStoredFileRepository(mongo: ReactiveMongoApi, breaker: Breaker)(implicit
    ec: ExecutionContext,
    materializer: Materializer
) extends StoredFileRepository {

  def find(name: String): Future[Option[StoredFile]] = breaker {
    for {
      database <- mongo.database
      files = database.collection[BSONCollection]("fs.files")
      file <- files
        .find(BSONDocument("filename" -> name))
        .sort(BSONDocument("uploadDate" -> -1))
        .one[BSONDocument]
    } yield
      for {
        file <- file
        id <- file.getAsOpt[BSONObjectID]("_id")
        length <- file.long("length")
        metadata <- file.child("metadata")
        contentType <- metadata.string("contentType")
      } yield StoredFile(id.stringify, length, contentType, content(database, id))
  }

  // GridFS.chunks reads 16 MB at a time
  private def content(database: DB, id: BSONObjectID): Source[ByteString, _] =
    database
      .collection[BSONCollection]("fs.chunks")
      .find(BSONDocument("files_id" -> id))
      .sort(BSONDocument("n" -> 1))
      .batchSize(4)
      .cursor[BSONDocument]()
      .documentSource()
      .map(chunk => ByteString.fromArrayUnsafe(chunk.getAsTry[BSONBinary]("data").get.byteArray))
}
