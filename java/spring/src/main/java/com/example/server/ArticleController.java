package com.example.server;

import static org.springframework.data.mongodb.core.query.Criteria.where;
import static org.springframework.data.mongodb.core.query.Query.query;

import jakarta.validation.Valid;
import jakarta.validation.constraints.Pattern;
import org.bson.Document;
import org.springframework.data.mongodb.core.MongoOperations;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

@RestController
class ArticleController {

  record Parameters(@Pattern(regexp = "small|big") String doc) {
    Parameters {
      doc = doc == null ? "small" : doc;
    }
  }

  private final MongoOperations mongodb;

  ArticleController(MongoOperations mongodb) {
    this.mongodb = mongodb;
  }

  @GetMapping("/mongo")
  Document article(@Valid Parameters parameters) {
    Document article =
        mongodb.findOne(query(where("slug").is(parameters.doc())), Document.class, "articles");
    if (article == null) {
      throw new ResponseStatusException(HttpStatus.NOT_FOUND);
    }
    article.put("_id", article.getObjectId("_id").toHexString());
    return article;
  }
}
