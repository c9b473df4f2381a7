package com.example.server;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.example.server.DatabaseController.Note;
import com.mongodb.MongoServerUnavailableException;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.webmvc.test.autoconfigure.AutoConfigureMockMvc;
import org.springframework.data.mongodb.core.MongoOperations;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.mock.web.MockHttpServletResponse;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;
import org.springframework.test.web.servlet.assertj.MockMvcTester;
import org.springframework.test.web.servlet.assertj.MvcTestResult;
import tools.jackson.databind.json.JsonMapper;

@SpringBootTest
@AutoConfigureMockMvc
class ServerTest {

  private static final HttpServer UPSTREAM = listen();

  @Autowired private MockMvcTester server;
  @Autowired private MongoOperations mongodb;
  @Autowired private Settings settings;
  @Autowired private JsonMapper json;

  private static HttpServer listen() {
    try {
      return HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  @DynamicPropertySource
  static void useUpstream(DynamicPropertyRegistry settings) {
    settings.add(
        "app.slow-api-url",
        () -> "http://127.0.0.1:%d/".formatted(UPSTREAM.getAddress().getPort()));
  }

  @BeforeAll
  static void startUpstream() {
    UPSTREAM.createContext("/", ServerTest::answerCall);
    UPSTREAM.start();
  }

  @AfterAll
  static void stopUpstream() {
    UPSTREAM.stop(0);
  }

  /** Answers with the ID of the request; its length of time says which fault is meant. */
  private static void answerCall(HttpExchange call) throws IOException {
    Map<String, String> faults = Map.of("1", "[]", "2", "{", "3", "", "4", "{}");
    String ms = call.getRequestURI().getQuery().replaceAll(".*ms=", "");
    String id = call.getRequestHeaders().getFirst("X-Request-Id");
    byte[] body = faults.getOrDefault(ms, "{\"id\":\"%s\"}".formatted(id)).getBytes(UTF_8);
    call.getResponseHeaders().add("Content-Type", "application/json");
    call.sendResponseHeaders(ms.equals("4") ? 201 : 200, body.length == 0 ? -1 : body.length);
    call.getResponseBody().write(body);
    call.close();
  }

  private MvcTestResult get(String path) {
    return server.get().uri(path).header("X-Request-Id", "mine").exchange();
  }

  private MvcTestResult post(String body) {
    return server
        .post()
        .uri("/notes")
        .contentType(MediaType.APPLICATION_JSON)
        .content(body)
        .exchange();
  }

  private static void assertProblem(MvcTestResult result, HttpStatus status) {
    assertThat(result)
        .hasStatus(status)
        .hasContentType(MediaType.APPLICATION_PROBLEM_JSON)
        .bodyText()
        .startsWith(
            "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d"
                .formatted(status.getReasonPhrase(), status.value()));
  }

  @Test
  void text() {
    assertThat(get("/index"))
        .hasStatusOk()
        .hasContentType("text/plain;charset=utf-8")
        .hasBodyTextEqualTo("Hello, World!");
  }

  @Test
  void message() {
    assertThat(get("/json"))
        .hasContentType(MediaType.APPLICATION_JSON)
        .hasBodyTextEqualTo("{\"message\":\"Hello, World!\"}");
  }

  @Test
  void article() {
    assertThat(get("/mongo?doc=big"))
        .hasStatusOk()
        .bodyText()
        .matches("\\{\"_id\":\"[0-9a-f]{24}\",\"slug\":\"big\",\"title\".*");
  }

  @Test
  void aNoteIsStoredOnceAndComesBackAsItWas() {
    var note = Map.of("title", "😀a".repeat(100), "text", "café\n\u0000</script>".repeat(500));
    MvcTestResult created = post(json.writeValueAsString(note));
    assertThat(created).hasStatus(HttpStatus.CREATED);
    String location = created.getResponse().getHeader(HttpHeaders.LOCATION);
    Note stored = mongodb.findById(location.replace("/notes/", ""), Note.class, "notes");
    try {
      assertThat(Map.of("title", stored.title(), "text", stored.text())).isEqualTo(note);
      assertThat(get(location).getResponse().getContentAsByteArray())
          .isEqualTo(created.getResponse().getContentAsByteArray());
    } finally {
      assertThat(mongodb.remove(stored, "notes").getDeletedCount()).isEqualTo(1);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "{",
        "null",
        "[]",
        "{\"title\":\"a\"}",
        "{\"title\":\"\",\"text\":\"\"}",
        "{\"title\":\"\\ud800\",\"text\":\"\"}",
        "{\"title\":1,\"text\":\"\"}",
        "{\"title\":\"a\",\"text\":null}",
        "{\"title\":\"a\",\"text\":\"\"} {}",
        "{\"title\":\"a\",\"text\":\"LONG\"}",
        "{\"title\":\"a\",\"text\":\"\",\"more\":\"LARGE\"}"
      })
  void whatIsNoNoteIsRefusedAndNotStored(String body) {
    long before = mongodb.estimatedCount("notes");
    String sent = body.replace("LONG", "a".repeat(10_001)).replace("LARGE", "a".repeat(1 << 20));
    assertProblem(post(sent), HttpStatus.BAD_REQUEST);
    assertThat(mongodb.estimatedCount("notes")).isEqualTo(before);
  }

  @Test
  void agents() {
    assertThat(get("/agents"))
        .hasStatusOk()
        .bodyJson()
        .satisfies(
            agents -> {
              agents.assertThat().extractingPath("$.length()").isEqualTo(50);
              agents.assertThat().extractingPath("$[0].number").isEqualTo("300");
              agents.assertThat().extractingPath("$[0].extension_status").isEqualTo("-1");
            });
  }

  @ParameterizedTest
  @ValueSource(strings = {"/files/photo.jpg", "/gridfs/photo.jpg"})
  void file(String path) throws IOException {
    byte[] photo = Files.readAllBytes(settings.filesDir().resolve("photo.jpg"));
    MvcTestResult result = get(path);
    assertThat(result).hasStatusOk().hasContentType(MediaType.IMAGE_JPEG);
    assertThat(result.getResponse().getContentLength()).isEqualTo(photo.length);
    assertThat(result.getResponse().getContentAsByteArray()).isEqualTo(photo);
  }

  @Test
  void sleep() {
    long start = System.nanoTime();
    assertThat(get("/sleep?ms=50")).hasBodyTextEqualTo("{\"slept_ms\":50}");
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(Duration.ofMillis(50));
  }

  @Test
  void slowApi() {
    assertThat(get("/slow_api?calls=2&ms=0"))
        .hasStatusOk()
        .hasBodyTextEqualTo("{\"results\":[{\"id\":\"mine\"},{\"id\":\"mine\"}]}");
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4})
  void anUpstreamThatAnswersWithoutAnObjectFails(int ms) {
    assertProblem(get("/slow_api?calls=2&ms=" + ms), HttpStatus.BAD_GATEWAY);
  }

  @Test
  void aDatabaseThatIsNotAvailableIsAway() throws Exception {
    var error = new MongoServerUnavailableException("away");
    assertThat(new Problems().fault(error, new MockHttpServletResponse()).getStatus())
        .isEqualTo(503);
  }

  @ParameterizedTest
  @CsvSource({
    "/nothing, NOT_FOUND",
    "/error, NOT_FOUND",
    "/files/nothing.txt, NOT_FOUND",
    "/gridfs/nothing.txt, NOT_FOUND",
    "/notes/1, NOT_FOUND",
    "/notes/ffffffffffffffffffffffff, NOT_FOUND",
    "/mongo?doc=huge, BAD_REQUEST",
    "/sleep?ms=, BAD_REQUEST",
    "/sleep?ms=soon, BAD_REQUEST",
    "/sleep?ms=30001, BAD_REQUEST",
    "/slow_api?calls=51, BAD_REQUEST",
    "/slow_api?calls=1&ms=-1, BAD_REQUEST"
  })
  void problems(String path, HttpStatus status) {
    assertProblem(get(path), status);
  }

  @Test
  void anotherMethodIsRefused() {
    MvcTestResult result = server.post().uri("/json").exchange();
    assertProblem(result, HttpStatus.METHOD_NOT_ALLOWED);
    assertThat(result).hasHeader(HttpHeaders.ALLOW, "GET");
  }

  @ParameterizedTest
  @CsvSource({
    "postgresql://h/d, jdbc:postgresql://h/d",
    "postgres://me@a:1/d, jdbc:postgresql://a:1/d?user=me&",
    "postgresql://me:p%40%2F+@a:1/d?ssl=true, "
        + "jdbc:postgresql://a:1/d?user=me&password=p%40%2F%2B&ssl=true",
  })
  void postgresqlUrls(String url, String jdbcUrl) {
    assertThat(new Settings(1, 1, null, 1, url, 1, null, null).jdbcUrl()).isEqualTo(jdbcUrl);
  }
}
