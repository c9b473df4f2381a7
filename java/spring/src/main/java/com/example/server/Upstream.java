package com.example.server;

import java.util.Map;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.service.annotation.GetExchange;
import reactor.core.publisher.Mono;

interface Upstream {

  @GetExchange
  Mono<Map<String, Object>> call(
      @RequestParam int call,
      @RequestParam int ms,
      @RequestHeader(name = "X-Request-Id", required = false) String requestId);
}
