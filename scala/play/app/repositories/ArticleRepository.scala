package repositories

import scala.concurrent.ExecutionContext
import scala.concurrent.Future

import play.api.libs.json.JsObject
import play.modules.reactivemongo.ReactiveMongoApi
import reactivemongo.api.bson.BSONDocument
import reactivemongo.api.bson.collection.BSONCollection
import reactivemongo.play.json.compat.lax._

trait ArticleRepository {
  def find(slug: String): Future[Option[JsObject]]
}

final class MongoArticleRepository(mongo: ReactiveMongoApi, breaker: Breaker)(implicit
    ec: ExecutionContext
) extends ArticleRepository {

  def find(slug: String): Future[Option[JsObject]] = breaker {
    for {
      database <- mongo.database
      articles = database.collection[BSONCollection]("articles")
      article <- articles.find(BSONDocument("slug" -> slug)).one[BSONDocument]
    } yield article.map(fromDocument(_))
  }
}
