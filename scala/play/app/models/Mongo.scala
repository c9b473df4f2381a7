package models

import javax.inject.{Inject, Singleton}

import scala.concurrent.{ExecutionContext, Future}
import scala.concurrent.duration._

import play.api.libs.concurrent.Futures
import play.modules.reactivemongo.ReactiveMongoApi
import reactivemongo.api.bson.collection.BSONCollection

@Singleton
class Mongo @Inject() (api: ReactiveMongoApi, futures: Futures)(implicit ec: ExecutionContext) {

  api.connection // connects at the start, not at the first request

  def collection(name: String): Future[BSONCollection] = api.database.map(_.collection(name))

  /** Asks a collection, and waits for its answer no longer than 4 s, which the driver would. */
  def ask[A](name: String)(question: BSONCollection => Future[A]): Future[A] =
    futures.timeout(4.seconds)(collection(name).flatMap(question))
}
