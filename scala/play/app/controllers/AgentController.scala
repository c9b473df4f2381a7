package controllers

import scala.concurrent.ExecutionContext

import play.api.libs.json.Json
import play.api.mvc._
import repositories.AgentRepository

final class AgentController(agents: AgentRepository, cc: ControllerComponents)(implicit
    ec: ExecutionContext
) extends AbstractController(cc) {

  def list: Action[AnyContent] = Action.async {
    agents.list().map(agents => Ok(Json.toJson(agents)))
  }
}
