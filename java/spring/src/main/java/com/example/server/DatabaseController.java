package com.example.server;

import static java.util.Objects.requireNonNullElse;
import static org.springframework.data.mongodb.core.query.Criteria.where;
import static org.springframework.data.mongodb.core.query.Query.query;
import static org.springframework.data.mongodb.gridfs.GridFsCriteria.whereFilename;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.mongodb.client.gridfs.model.GridFSFile;
import jakarta.validation.Valid;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Pattern;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.bson.Document;
import org.springframework.core.io.InputStreamResource;
import org.springframework.core.io.Resource;
import org.springframework.data.domain.Sort;
import org.springframework.data.mongodb.core.MongoOperations;
import org.springframework.data.mongodb.gridfs.GridFsOperations;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

@RestController
class DatabaseController {

  record NewNote(
      @NotNull @Pattern(regexp = "\\P{Cs}{1,200}+") String title,
      @NotNull @Pattern(regexp = "\\P{Cs}{0,10000}+") String text) {}

  record Note(@JsonProperty("_id") String id, String title, String text) {}

  private static final String AGENTS =
      """
      SELECT f.number, s.extension, s.context, s.state_interface,
             'offline' AS status, '-1' AS extension_status, '0' AS paused
        FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id ORDER BY f.number
      """;

  private final MongoOperations mongodb;
  private final GridFsOperations gridFs;
  private final JdbcClient postgresql;

  DatabaseController(MongoOperations mongodb, GridFsOperations gridFs, JdbcClient postgresql) {
    this.mongodb = mongodb;
    this.gridFs = gridFs;
    this.postgresql = postgresql;
  }

  @GetMapping("/mongo")
  Document article(@RequestParam Optional<@Pattern(regexp = "small|big") String> doc) {
    String slug = doc.orElse("small");
    Document article =
        found(mongodb.findOne(query(where("slug").is(slug)), Document.class, "articles"));
    article.put("_id", article.getObjectId("_id").toHexString());
    return article;
  }

  @PostMapping("/notes")
  ResponseEntity<Note> createNote(@Valid @RequestBody NewNote note) {
    Note created = mongodb.insert(new Note(null, note.title(), note.text()), "notes");
    return ResponseEntity.created(URI.create("/notes/" + created.id())).body(created);
  }

  @GetMapping("/notes/{id}")
  Note note(@PathVariable String id) {
    return found(mongodb.findById(id, Note.class, "notes"));
  }

  @GetMapping("/agents")
  List<Map<String, Object>> agents() {
    return postgresql.sql(AGENTS).query().listOfRows();
  }

  @GetMapping("/gridfs/{name}")
  ResponseEntity<Resource> file(@PathVariable String name) {
    Sort newest = Sort.by("uploadDate").descending();
    GridFSFile file = found(gridFs.findOne(query(whereFilename().is(name)).with(newest)));
    String type =
        requireNonNullElse(file.getMetadata(), new Document())
            .get("contentType", MediaType.APPLICATION_OCTET_STREAM_VALUE);
    return ResponseEntity.ok()
        .header(HttpHeaders.CONTENT_TYPE, type)
        .contentLength(file.getLength())
        .body(new InputStreamResource(gridFs.getResource(file), name));
  }

  private static <T> T found(T one) {
    if (one == null) {
      throw new ResponseStatusException(HttpStatus.NOT_FOUND);
    }
    return one;
  }
}
