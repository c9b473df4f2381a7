package com.example.server;

import static org.springframework.data.mongodb.core.query.Query.query;
import static org.springframework.data.mongodb.gridfs.GridFsCriteria.whereFilename;

import com.mongodb.client.gridfs.model.GridFSFile;
import java.util.Optional;
import org.springframework.core.io.InputStreamResource;
import org.springframework.core.io.Resource;
import org.springframework.data.domain.Sort;
import org.springframework.data.mongodb.gridfs.GridFsOperations;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

@RestController
class GridFsController {

  private final GridFsOperations gridFs;

  GridFsController(GridFsOperations gridFs) {
    this.gridFs = gridFs;
  }

  @GetMapping("/gridfs/{name}")
  ResponseEntity<Resource> file(@PathVariable String name) {
    Sort newest = Sort.by(Sort.Direction.DESC, "uploadDate");
    GridFSFile file = gridFs.findOne(query(whereFilename().is(name)).with(newest));
    if (file == null) {
      throw new ResponseStatusException(HttpStatus.NOT_FOUND);
    }
    String contentType =
        Optional.ofNullable(file.getMetadata())
            .map(metadata -> metadata.getString("contentType"))
            .orElse(MediaType.APPLICATION_OCTET_STREAM_VALUE);
    return ResponseEntity.ok()
        .header(HttpHeaders.CONTENT_TYPE, contentType)
        .contentLength(file.getLength())
        .body(new InputStreamResource(gridFs.getResource(file), name));
  }
}
