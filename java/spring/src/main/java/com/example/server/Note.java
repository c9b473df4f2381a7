package com.example.server;

import com.fasterxml.jackson.annotation.JsonProperty;
import org.springframework.data.annotation.Id;
import org.springframework.data.mongodb.core.mapping.Document;

@Document("notes")
record Note(@Id @JsonProperty("_id") String id, String title, String text) {}
