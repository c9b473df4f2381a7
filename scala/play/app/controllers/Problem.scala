package controllers

import org.apache.pekko.http.scaladsl.model.StatusCode
import play.api.libs.json.{JsObject, Json}
import play.api.mvc.{Result, Results}

/** Problem details (RFC 9457). */
object Problem {
  def apply(status: Int): Result = result(status, Json.obj())

  def apply(status: Int, detail: String): Result = result(status, Json.obj("detail" -> detail))

  private def result(status: Int, more: JsObject) = {
    val title = StatusCode.int2StatusCode(status).reason
    val problem = Json.obj("type" -> "about:blank", "title" -> title, "status" -> status)
    Results.Status(status)(problem ++ more).as("application/problem+json")
  }
}
