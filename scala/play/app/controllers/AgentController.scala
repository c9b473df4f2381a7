package controllers

import javax.inject.Inject

import scala.concurrent.ExecutionContext

import models.AgentRepository
import play.api.libs.json.Json
import play.api.mvc._

class AgentController @Inject() (repository: AgentRepository)(implicit ec: ExecutionContext)
    extends InjectedController {

  def agents: Action[AnyContent] = Action.async(repository.list().map(agents => Ok(Json.toJson(agents))))
}
