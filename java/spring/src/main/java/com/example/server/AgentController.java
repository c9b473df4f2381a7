package com.example.server;

import java.util.List;
import java.util.Map;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

@RestController
class AgentController {

  private static final String AGENTS =
      """
      SELECT f.number, s.extension, s.context, s.state_interface,
             'offline' AS status, '-1' AS extension_status, '0' AS paused
        FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id ORDER BY f.number
      """;

  private final JdbcClient jdbc;

  AgentController(JdbcClient jdbc) {
    this.jdbc = jdbc;
  }

  @GetMapping("/agents")
  List<Map<String, Object>> agents() {
    return jdbc.sql(AGENTS).query().listOfRows();
  }
}
