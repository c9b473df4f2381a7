package controllers

import org.apache.pekko.http.scaladsl.model.StatusCode
import play.api.libs.json.JsObject
import play.api.libs.json.Json
import play.api.mvc.Result
import play.api.mvc.Results

/** Problem details: https://www.rfc-editor.org/rfc/rfc9457 */
object Problem extends Results {

  def apply(status: Int): Result = result(status, Json.obj())

  def apply(status: Int, detail: String): Result = result(status, Json.obj("detail" -> detail))

  private def result(status: Int, more: JsObject) =
    Status(status)(
      Json.obj(
        "type" -> "about:blank",
        "title" -> StatusCode.int2StatusCode(status).reason,
        "status" -> status
      ) ++ more
    ).as("application/problem+json")
}
