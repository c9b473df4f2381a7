package com.example.server;

import static java.util.Objects.requireNonNullElse;

import java.net.http.HttpClient;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.hibernate.validator.constraints.Range;
import org.springframework.beans.propertyeditors.CustomNumberEditor;
import org.springframework.core.ParameterizedTypeReference;
import org.springframework.core.codec.DecodingException;
import org.springframework.http.client.reactive.JdkClientHttpConnector;
import org.springframework.web.bind.WebDataBinder;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.InitBinder;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.publisher.Mono;

@RestController
class WebController {

  record Message(String message) {}

  record Slept(int sleptMs) {}

  record Results(List<Object> results) {}

  private final WebClient upstream;

  WebController(WebClient.Builder client, Settings settings) {
    HttpClient http =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(Duration.ofSeconds(3))
            .build();
    this.upstream =
        client
            .baseUrl(settings.slowApiUrl())
            .clientConnector(new JdkClientHttpConnector(http))
            .build();
  }

  /** Refuses an empty number, which would be none by default. */
  @InitBinder
  void bind(WebDataBinder binder) {
    binder.registerCustomEditor(Integer.class, new CustomNumberEditor(Integer.class, false));
  }

  @GetMapping(path = "/index", produces = "text/plain; charset=utf-8")
  String index() {
    return "Hello, World!";
  }

  @GetMapping("/json")
  Message json() {
    return new Message("Hello, World!");
  }

  @GetMapping("/sleep")
  Mono<Slept> sleep(@RequestParam(required = false) @Range(min = 0, max = 30_000) Integer ms) {
    int wait = requireNonNullElse(ms, 1000);
    return Mono.delay(Duration.ofMillis(wait)).thenReturn(new Slept(wait));
  }

  @GetMapping("/slow_api")
  Mono<Results> slowApi(
      @RequestParam(required = false) @Range(min = 1, max = 50) Integer calls,
      @RequestParam(required = false) @Range(min = 0, max = 5000) Integer ms,
      @RequestHeader("X-Request-Id") Optional<String> requestId) {
    int wait = requireNonNullElse(ms, 1000);
    var answers =
        IntStream.range(0, requireNonNullElse(calls, 10))
            .mapToObj(call -> call(call, wait, requestId))
            .toList();
    return Mono.zip(answers, results -> new Results(List.of(results)))
        .timeout(Duration.ofMillis(wait + 5000));
  }

  private Mono<Map<String, Object>> call(int call, int ms, Optional<String> requestId) {
    return upstream
        .get()
        .uri(uri -> uri.queryParam("call", call).queryParam("ms", ms).build())
        .headers(headers -> requestId.ifPresent(id -> headers.set("X-Request-Id", id)))
        .retrieve()
        .onStatus(status -> status.value() != 200, ClientResponse::createException)
        .bodyToMono(new ParameterizedTypeReference<Map<String, Object>>() {})
        .switchIfEmpty(Mono.error(() -> new DecodingException("no JSON object")));
  }
}
