package controllers

import scala.concurrent.ExecutionContext

import models.Slug
import play.api.mvc.*
import repositories.ArticleRepository

final class ArticleController(articles: ArticleRepository, cc: ControllerComponents)(implicit
    ec: ExecutionContext
) extends AbstractController(cc) {

  def show(doc: Slug): Action[AnyContent] = Action.async {
    articles.find(doc.value).map(_.fold(Problem(NOT_FOUND))(Ok(_)))
  }
}
