package com.example.server;

import jakarta.validation.Valid;
import jakarta.validation.constraints.NotNull;
import java.net.URI;
import org.hibernate.validator.constraints.CodePointLength;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

@RestController
class NoteController {

  record NewNote(
      @NotNull @CodePointLength(min = 1, max = 200) String title,
      @NotNull @CodePointLength(max = 10_000) String text) {}

  private final NoteRepository notes;

  NoteController(NoteRepository notes) {
    this.notes = notes;
  }

  @PostMapping("/notes")
  ResponseEntity<Note> create(@Valid @RequestBody NewNote note) {
    Note created = notes.save(new Note(null, note.title(), note.text()));
    return ResponseEntity.created(URI.create("/notes/" + created.id())).body(created);
  }

  @GetMapping("/notes/{id}")
  Note read(@PathVariable String id) {
    return notes.findById(id).orElseThrow(() -> new ResponseStatusException(HttpStatus.NOT_FOUND));
  }
}
