package controllers

import javax.inject.Inject

import play.api.libs.json.Json
import play.api.mvc._

class HelloController @Inject() (cc: ControllerComponents) extends AbstractController(cc) {

  def index: Action[AnyContent] = Action { Ok("Hello, World!") }

  def hello: Action[AnyContent] = Action { Ok(Json.obj("message" -> "Hello, World!")) }
}
