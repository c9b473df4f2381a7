package com.example.server;

import org.springframework.data.repository.CrudRepository;

interface NoteRepository extends CrudRepository<Note, String> {}
