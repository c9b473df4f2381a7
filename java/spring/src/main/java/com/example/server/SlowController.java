package com.example.server;

import jakarta.validation.Valid;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.springframework.beans.propertyeditors.CustomNumberEditor;
import org.springframework.core.codec.DecodingException;
import org.springframework.web.bind.WebDataBinder;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.InitBinder;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.service.annotation.GetExchange;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

@RestController
class SlowController {

  record Sleep(@Min(0) @Max(30_000) Integer ms) {
    Sleep {
      ms = ms == null ? 1000 : ms;
    }
  }

  record SlowApi(@Min(1) @Max(50) Integer calls, @Min(0) @Max(5000) Integer ms) {
    SlowApi {
      calls = calls == null ? 10 : calls;
      ms = ms == null ? 1000 : ms;
    }
  }

  record Slept(int sleptMs) {}

  record Results(List<Map<String, Object>> results) {}

  interface Upstream {

    @GetExchange
    Mono<Map<String, Object>> call(
        @RequestParam int call,
        @RequestParam int ms,
        @RequestHeader(name = "X-Request-Id", required = false) String requestId);
  }

  private final Upstream upstream;

  SlowController(Upstream upstream) {
    this.upstream = upstream;
  }

  /** Refuses an empty number, which would be none by default. */
  @InitBinder
  void bind(WebDataBinder binder) {
    binder.registerCustomEditor(Integer.class, new CustomNumberEditor(Integer.class, false));
  }

  @GetMapping("/sleep")
  Mono<Slept> sleep(@Valid Sleep sleep) {
    return Mono.delay(Duration.ofMillis(sleep.ms())).thenReturn(new Slept(sleep.ms()));
  }

  @GetMapping("/slow_api")
  Mono<Results> slowApi(
      @Valid SlowApi api,
      @RequestHeader(name = "X-Request-Id", required = false) String requestId) {
    return Flux.range(0, api.calls())
        .flatMapSequential(call -> call(call, api.ms(), requestId), api.calls())
        .collectList()
        .timeout(Duration.ofMillis(api.ms() + 5000))
        .map(Results::new);
  }

  private Mono<Map<String, Object>> call(int call, int ms, String requestId) {
    var nothing = Mono.<Map<String, Object>>error(() -> new DecodingException("no JSON object"));
    return upstream.call(call, ms, requestId).switchIfEmpty(nothing);
  }
}
