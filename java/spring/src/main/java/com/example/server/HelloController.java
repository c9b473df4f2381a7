package com.example.server;

import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

@RestController
class HelloController {

  record Message(String message) {}

  @GetMapping(path = "/index", produces = "text/plain; charset=utf-8")
  String index() {
    return "Hello, World!";
  }

  @GetMapping("/json")
  Message json() {
    return new Message("Hello, World!");
  }
}
