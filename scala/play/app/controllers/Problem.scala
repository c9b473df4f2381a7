package controllers

import org.apache.pekko.http.scaladsl.model.StatusCodes
import play.api.libs.json.Json
import play.api.libs.json.Json.JsValueWrapper
import play.api.mvc.{Result, Results}

/** Problem details (RFC 9457). */
object Problem {
  def apply(status: Int, more: (String, JsValueWrapper)*): Result = {
    val title = StatusCodes.getForKey(status).fold("")(_.reason)
    val problem = Json.obj("type" -> "about:blank", "title" -> title, "status" -> status)
    Results.Status(status)(problem ++ Json.obj(more: _*)).as("application/problem+json")
  }
}
