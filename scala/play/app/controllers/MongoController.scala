package controllers

import javax.inject.{Inject, Singleton}

import scala.concurrent.{ExecutionContext, Future}

import org.apache.pekko.stream.Materializer
import play.api.mvc._
import play.modules.reactivemongo.ReactiveMongoApi
import reactivemongo.api.bson.BSONDocument
import reactivemongo.api.bson.collection.BSONCollection
import reactivemongo.pekkostream.GridFSStreams
import reactivemongo.play.json.compat.lax._

@Singleton
class MongoController @Inject() (cc: ControllerComponents, api: ReactiveMongoApi)(implicit
    ec: ExecutionContext,
    materializer: Materializer
) extends AbstractController(cc) {

  api.connection // connects at the start, not at the first request

  def mongo(doc: String): Action[AnyContent] = Action.async {
    if (doc == "small" || doc == "big")
      for {
        database <- api.database
        articles = database.collection[BSONCollection]("articles")
        article <- articles.find(BSONDocument("slug" -> doc)).one[BSONDocument]
      } yield article.fold(Problem(NOT_FOUND))(article => Ok(fromDocument(article)))
    else Future.successful(Problem(BAD_REQUEST, "doc must be small or big"))
  }

  def gridfs(name: String): Action[AnyContent] = Action.async {
    for {
      bucket <- api.asyncGridFS
      revisions <- bucket.find(BSONDocument("filename" -> name)).collect[List]()
    } yield revisions.maxByOption(_.uploadDate).fold(Problem(NOT_FOUND)) { file =>
      val chunks = GridFSStreams(bucket).source(file)
      Ok.streamed(chunks, Some(file.length), file.metadata.string("contentType"))
    }
  }
}
