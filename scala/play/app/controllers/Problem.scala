package controllers

import io.netty.handler.codec.http.HttpResponseStatus
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
        "title" -> HttpResponseStatus.valueOf(status).reasonPhrase,
        "status" -> status
      ) ++ more
    ).as("application/problem+json")
}
