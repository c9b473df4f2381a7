package controllers

import javax.inject.Inject

import scala.concurrent.{ExecutionContext, Future}

import models.Mongo
import org.apache.pekko.stream.Materializer
import org.apache.pekko.stream.scaladsl.Source
import org.apache.pekko.util.ByteString
import play.api.libs.json.Json
import play.api.mvc._
import reactivemongo.api.bson.BSONDocument
import reactivemongo.pekkostream.cursorProducer
import reactivemongo.play.json.compat.lax._

class MongoController @Inject() (mongo: Mongo)(implicit ec: ExecutionContext, materializer: Materializer)
    extends InjectedController {

  def mongo(doc: String): Action[AnyContent] = Action.async {
    if (doc == "small" || doc == "big")
      mongo
        .ask("articles")(_.find(BSONDocument("slug" -> doc)).one[BSONDocument])
        .map(_.fold(Problem(NOT_FOUND))(article => Ok(Json.stringify(fromDocument(article))).as(JSON)))
    else Future.successful(Problem(BAD_REQUEST, "detail" -> "doc must be small or big"))
  }

  def gridfs(name: String): Action[AnyContent] = Action.async {
    val newest = BSONDocument("uploadDate" -> -1)
    mongo
      .ask("fs.files")(_.find(BSONDocument("filename" -> name)).sort(newest).one[BSONDocument])
      .map(_.fold(Problem(NOT_FOUND)) { file =>
        val contentType = file.child("metadata").flatMap(_.string("contentType"))
        Ok.streamed(chunks(file), file.long("length"), contentType.orElse(Some(BINARY)))
      })
  }

  /** ReactiveMongo's own GridFS would send on what follows a missing chunk. */
  private def chunks(file: BSONDocument) = Source
    .futureSource(mongo.collection("fs.chunks").map { chunks =>
      val ofFile = chunks.find(BSONDocument("files_id" -> file.get("_id")))
      ofFile.sort(BSONDocument("n" -> 1)).cursor[BSONDocument]().documentSource()
    })
    .zipWithIndex
    .map { case (chunk, number) =>
      require(chunk.long("n").contains(number), s"chunk $number is missing")
      ByteString(chunk.binary("data").get)
    }
}
