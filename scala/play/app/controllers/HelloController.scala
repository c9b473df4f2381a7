package controllers

import play.api.libs.json.Json
import play.api.mvc._

final class HelloController(cc: ControllerComponents) extends AbstractController(cc) {

  def text: Action[AnyContent] = Action {
    Ok("Hello, World!")
  }

  def json: Action[AnyContent] = Action {
    Ok(Json.obj("message" -> "Hello, World!"))
  }
}
