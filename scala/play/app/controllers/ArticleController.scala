package controllers

import scala.concurrent.ExecutionContext

import models.Slug
import play.api.libs.json.Json
import play.api.mvc._
import repositories.ArticleRepository

final class ArticleController(articles: ArticleRepository, cc: ControllerComponents)(implicit
    ec: ExecutionContext
) extends AbstractController(cc) {

  def show(doc: Slug): Action[AnyContent] = Action.async {
    articles.find(doc.value).map {
      case None          => Problem(NOT_FOUND)
      case Some(article) =>
        // Ok(article) writes bytes at once, and Jackson then escapes what is beyond the BMP
        Ok(Json.stringify(article)).as(JSON)
    }
  }
}
