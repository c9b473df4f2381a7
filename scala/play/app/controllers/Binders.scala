package controllers

import play.api.mvc.QueryStringBindable

object Binders {

  /** Play's own binder would use the default for an empty value. */
  implicit val integer: QueryStringBindable[Int] = new QueryStringBindable[Int] {
    private val play = QueryStringBindable.bindableInt

    def bind(key: String, params: Map[String, Seq[String]]): Option[Either[String, Int]] =
      play.bind(key, params).orElse(params.get(key).map(_ => Left(s"$key is empty")))

    def unbind(key: String, value: Int): String = play.unbind(key, value)
  }
}
