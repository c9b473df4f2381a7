package controllers

import play.api.libs.json.Json
import play.api.mvc._

class HelloController extends InjectedController {

  def index: Action[AnyContent] = Action(Ok("Hello, World!"))

  def hello: Action[AnyContent] = Action(Ok(Json.obj("message" -> "Hello, World!")))
}
