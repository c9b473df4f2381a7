package models

import play.api.libs.json._

final case class Agent(
    number: String,
    extension: Option[String],
    context: Option[String],
    stateInterface: Option[String],
    status: String,
    extensionStatus: String,
    paused: String
)

object Agent {
  private implicit val configuration: JsonConfiguration = JsonConfiguration(
    naming = JsonNaming.SnakeCase,
    optionHandlers = OptionHandlers.WritesNull
  )

  implicit val writes: OWrites[Agent] = Json.writes[Agent]
}
