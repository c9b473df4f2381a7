package controllers

import play.api.mvc.QueryStringBindable.Parsing

object Binders {

  /** Play's own binder would use the default for an empty value. */
  implicit object integer extends Parsing[Int](_.toInt, _.toString, (key, _) => s"$key is not an integer") {
    override def bind(key: String, params: Map[String, Seq[String]]): Option[Either[String, Int]] =
      super.bind(key, params).orElse(params.get(key).map(_ => Left(s"$key is empty")))
  }
}
