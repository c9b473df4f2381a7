package controllers

import javax.inject.Inject

import scala.concurrent.{ExecutionContext, Future}

import models.{Mongo, Note}
import play.api.libs.json.{JsError, Json}
import play.api.mvc._
import reactivemongo.api.bson.{BSONDocument, BSONObjectID}
import reactivemongo.play.json.compat.lax._

class NoteController @Inject() (mongo: Mongo)(implicit ec: ExecutionContext) extends InjectedController {

  private def note = parse.json.validate(
    _.validate[Note].asEither.left.map(errors => Problem(BAD_REQUEST, "errors" -> JsError.toJson(errors)))
  )

  def create: Action[Note] = Action.async(note) { request =>
    val id = BSONObjectID.generate()
    val document = BSONDocument("_id" -> id, "title" -> request.body.title, "text" -> request.body.text)
    val location = routes.NoteController.read(id.stringify).url
    mongo
      .ask("notes")(_.insert.one(document))
      .map(_ => Created(json(document)).as(JSON).withHeaders(LOCATION -> location))
  }

  def read(id: String): Action[AnyContent] = Action.async {
    BSONObjectID.parse(id).toOption.fold(Future.successful(Problem(NOT_FOUND))) { id =>
      mongo
        .ask("notes")(_.find(BSONDocument("_id" -> id)).one[BSONDocument])
        .map(_.fold(Problem(NOT_FOUND))(note => Ok(json(note)).as(JSON)))
    }
  }

  /** As text, which has each character as it is. */
  private def json(note: BSONDocument) = Json.stringify(fromDocument(note))
}
