import java.nio.file.Path

import scala.concurrent.ExecutionContext.Implicits.global

import models.{Mongo, Settings}
import org.scalatestplus.play.PlaySpec
import org.scalatestplus.play.guice.GuiceOneAppPerSuite
import play.api.{Application, Environment}
import play.api.ApplicationLoader.Context
import play.api.test.Helpers._
import reactivemongo.api.bson.BSONDocument

/** The application, and what it finds in its databases and its folder. */
trait Loaded extends PlaySpec with GuiceOneAppPerSuite {

  override def fakeApplication(): Application = load()

  protected def load(settings: (String, String)*): Application = {
    Main.readDotenv()
    new Loader().load(Context.create(Environment.simple(), settings.toMap))
  }

  protected def folder: Path = app.injector.instanceOf[Settings].filesDir
  protected def mongo: Mongo = app.injector.instanceOf[Mongo]

  protected def insert(collection: String, documents: BSONDocument*): Unit =
    await(mongo.ask(collection)(_.insert.many(documents)))

  protected def delete(collection: String, selector: BSONDocument): Unit =
    await(mongo.ask(collection)(_.delete.one(selector)))

  protected def count(collection: String, selector: BSONDocument): Long =
    await(mongo.ask(collection)(_.count(Some(selector))))
}
